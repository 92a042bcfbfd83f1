import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { exactly } from '../mcp/exact-numbers.js';
import { ownNameOf } from '../mcp/prefixed-names.js';
import { itemsOf, membersOf, objectText } from '../mcp/reply.js';
import { togetherSaid, type UpstreamInstructions } from '../upstream/upstream.js';
import type { DefinitionJudge, ToldPart } from './judged.js';
import type { PinnedTools } from './ports.js';
import { LOOKALIKE, readAs, storable } from './tool-names.js';

/** One page of a `tools/list` answer. */
export interface ToolPage {
  readonly tools: readonly ToolDefinition[];
  readonly nextCursor: string | null;
}
export interface ToolDefinition {
  readonly name: string;
  /** Covers everything that the list says about the tool. */
  readonly sha256: string;
  /** Covers only description and input schema, as pinned by an older Gate. */
  readonly narrow: string;
  /** The definition whose digest it is. */
  readonly text: string;
  /** What the tool says of itself; empty when it says nothing. */
  readonly description: string;
}

/** Reads the answer to `tools/list`; `null` when it is not one. */
export function toolPageOf(answer: string): ToolPage | null {
  const result = resultOf(answer);
  const list = result?.['tools'];
  if (!result || !Array.isArray(list)) return null;
  const { nextCursor } = result;
  return {
    tools: list.flatMap((tool) => definitionOf(tool) ?? []),
    nextCursor: typeof nextCursor === 'string' ? nextCursor : null,
  };
}

function definitionOf(value: Json): ToolDefinition | null {
  const tool = objectOf(value);
  const name = tool?.['name'];
  if (!tool || typeof name !== 'string') return null;
  const { description } = tool;
  return {
    name: storable(name),
    sha256: definitionDigest(tool),
    text: definitionText(tool),
    narrow: narrowDigest(tool),
    description: typeof description === 'string' ? description : '',
  };
}

/** Other text that a model reads: a server's instructions, or a prompt or resource of its lists. */
export interface ToldText {
  readonly name: string;
  readonly sha256: string;
  readonly injected: readonly string[];
}
/** What an answer other than a list of tools says to a model. */
export interface Told {
  /** Its parts that contain instructions to a model. */
  readonly texts: readonly ToldText[];
  /** The answer without these parts; `null` where they cannot be left out. */
  readonly rest: string | null;
}

/** Lists other than that of tools, and where they stand in an answer. */
export const OTHER_LISTS: Readonly<Record<string, string>> = {
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

/** What an answer other than a list of tools says to a model; of several upstreams, their introductions one by one. */
export async function toldIn(
  judge: DefinitionJudge['texts'],
  method: string,
  answer: string,
  said: readonly UpstreamInstructions[] = [],
): Promise<Told> {
  const result = resultOf(answer);
  if (!result) return NOTHING_TOLD;
  const list = OTHER_LISTS[method];
  if (list !== undefined) return toldInList(judge, list, answer, result[list]);
  const each = said.map(({ prefix, text }) => ({ name: `${method}/${prefix}`, told: { instructions: text } }));
  const [whole, ...bad] = await toldTexts(judge, [{ name: method, told: result }, ...each]);
  if (!whole) return NOTHING_TOLD;
  const harmless = said.filter((_, index) => !bad[index]);
  const poisoned = bad.filter((text) => text !== null);
  const rest = withInstructions(answer, poisoned.length > 0 ? togetherSaid(harmless) : '');
  const left = resultOf(rest);
  const isClean = left !== null && (await toldTexts(judge, [{ name: method, told: left }]))[0] === null;
  return { texts: isClean && poisoned.length > 0 ? poisoned : [whole], rest: isClean ? rest : null };
}

/** Where a list stands in the answer to its method. */
export const listIn = (method: string): string | undefined => (method === 'tools/list' ? 'tools' : OTHER_LISTS[method]);

/**
 * What contains instructions to a model in an answer beside what was asked for: in an error, of any method, and in a list's answer beside its
 * entries, or in the whole of one that has no list.
 */
export async function toldBeside(
  judge: DefinitionJudge['texts'],
  method: string,
  answer: string,
): Promise<readonly ToldText[]> {
  const parts = partsOf(answer);
  const [error, result] = [objectOf(parts?.['error']), objectOf(parts?.['result'])];
  const list = listIn(method);
  const isListed = list !== undefined && Array.isArray(result?.[list]);
  const rest = Object.entries(result ?? {}).filter(([name]) => name !== 'nextCursor' && !(isListed && name === list));
  const told = [
    ...(error ? [{ name: `${method}/error`, told: error }] : []),
    ...(list !== undefined && rest.length > 0 ? [{ name: `${method}/beside`, told: Object.fromEntries(rest) }] : []),
  ];
  return (await toldTexts(judge, told)).filter((text) => text !== null);
}

const NOTHING_TOLD: Told = { texts: [], rest: null };

/** Each of these parts that instructs a model; `null` for the others. */
async function toldTexts(
  judge: DefinitionJudge['texts'],
  parts: readonly ToldPart[],
): Promise<readonly (ToldText | null)[]> {
  const found = await judge(parts);
  return parts.map(({ name, told }, index) => {
    const injected = found[index] ?? [];
    return injected.length === 0 ? null : { name, sha256: definitionDigest(told), injected };
  });
}

async function toldInList(
  judge: DefinitionJudge['texts'],
  list: string,
  answer: string,
  items: Json | undefined,
): Promise<Told> {
  if (!Array.isArray(items)) return NOTHING_TOLD;
  const parts = items.flatMap((item, index): (ToldPart & { readonly index: number })[] => {
    const told = objectOf(item);
    const name = told?.['name'];
    return told ? [{ name: `${list}/${typeof name === 'string' ? storable(name) : index}`, told, index }] : [];
  });
  const texts = await toldTexts(judge, parts);
  const bad = new Set(parts.filter((_, at) => texts[at]).map(({ index }) => index));
  return {
    texts: texts.filter((text) => text !== null),
    rest: withoutItems(answer, list, (_item, index) => bad.has(index)),
  };
}

/** An introduction with these instructions, or with none. */
export function withInstructions(answer: string, instructions: string): string {
  const members = new Map(membersOf(answer, 'last') ?? []);
  const result = new Map(membersOf(members.get('result') ?? '', 'last') ?? []);
  result.delete('instructions');
  if (instructions !== '') result.set('instructions', JSON.stringify(instructions));
  return objectText(members.set('result', objectText(result)));
}

/**
 * Digest of everything a list says about a tool, whatever the order of keys: title, description, both schemas, annotations, icons, `_meta`,
 * and members not known yet.
 */
export const definitionDigest = (tool: JsonObject): string => digestOf(tool);

/** What an older Gate pinned of a tool (docs/architecture/requests-and-answers.md#tool-definitions). */
export const narrowDigest = (tool: JsonObject): string =>
  digestOf({ description: tool['description'] ?? null, inputSchema: tool['inputSchema'] ?? null });

const digestOf = (told: JsonObject): string => sha256Hex(definitionText(told));

function definitionText(told: JsonObject): string {
  try {
    return canonicalJson(told);
  } catch {
    // A lone surrogate has no canonical form, but JSON's own text escapes it.
    return JSON.stringify(told);
  }
}

/**
 * Why a tool is held back until an operator accepts its definition, where definitions are quarantined; `null` where it is as pinned. With
 * quarantine nothing is pinned by itself that instructs a model, so what is pinned is what an agent saw first, or an operator accepted.
 */
export function heldBack(pinned: PinnedTools, tool: string, seen: string | undefined): string | null {
  if (seen === undefined) return null;
  if (pinned.tampered) return 'its pins were changed in the store';
  const known = pinned.digests.get(tool);
  if (known === seen || pinned.narrow.has(tool)) return null;
  return known === undefined
    ? 'it was added, instructs a model or has a name that misleads, and nobody accepted it'
    : 'its definition is not the pinned one, and nobody accepted it';
}

/** The answer to `tools/list` without these tools; the rest stays as the upstream wrote it. */
export const withoutTools = (answer: string, names: ReadonlySet<string>): string =>
  withoutItems(answer, 'tools', (item) => {
    const { name } = JSON.parse(exactly(item)) as { name?: unknown };
    return typeof name === 'string' && names.has(storable(name));
  }) ?? answer;

/** The answer without some items of its list; `null` where its text is not read as one. */
function withoutItems(
  answer: string,
  list: string,
  isLeftOut: (item: string, index: number) => boolean,
): string | null {
  const members = membersOf(answer, 'last');
  const result = membersOf(members?.get('result') ?? '', 'last');
  const items = itemsOf(result?.get(list) ?? '');
  if (!members || !result || !items) return null;
  const kept = items.filter((item, index) => !isLeftOut(item, index));
  return objectText(new Map(members).set('result', objectText(new Map(result).set(list, `[${kept.join(',')}]`))));
}

/** How a list differs from the pins; all sorted. */
export interface ToolDrift {
  readonly changed: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Whether a whole list was seen of what this tool belongs to, so that one which is not pinned came later. */
export const isJudged = ({ complete, parts }: PinnedTools, tool: string): boolean =>
  complete || parts.has(ownNameOf(tool)?.prefix ?? '');

/**
 * Compares a list, complete or not, with the pins. A name with two different definitions counts as changed. If the pins are not Gate's own,
 * every name does.
 */
export function driftOf(pinned: PinnedTools, seen: SeenTools, whole: boolean): ToolDrift {
  const names = [...seen.digests.keys()];
  if (pinned.tampered) return { changed: names.toSorted(), added: [], removed: [] };
  return {
    changed: names
      .filter(
        (name) =>
          seen.twice.has(name) || (pinned.digests.get(name) ?? seen.digests.get(name)) !== seen.digests.get(name),
      )
      .toSorted(),
    added: names.filter((name) => !pinned.digests.has(name) && isJudged(pinned, name)).toSorted(),
    removed:
      whole && pinned.complete ? [...pinned.digests.keys()].filter((name) => !seen.digests.has(name)).toSorted() : [],
  };
}

/** What was found of one name. */
export interface Finding {
  readonly found: Set<string>;
  readonly sha256: Set<string>;
  /** The name of the same list that it is taken for. */
  readonly like?: string;
}

/** The collected pages of one list. */
export interface SeenTools {
  /** The first definition of each name. */
  readonly digests: Map<string, string>;
  readonly narrow: Map<string, string>;
  /** All definitions of names that came with more than one. */
  readonly twice: Map<string, Set<string>>;
  readonly injected: Map<string, Finding>;
  /** The first name of each that read alike: look-alike letters, case and separators undone. */
  readonly alike: Map<string, string>;
}
export const nothingSeen = (): SeenTools => ({
  digests: new Map(),
  narrow: new Map(),
  twice: new Map(),
  injected: new Map(),
  alike: new Map(),
});

/** Adds a page; `found` is what was found of each of its tools, where they were judged. */
export function addPage(seen: SeenTools, { tools }: ToolPage, found: readonly (readonly string[])[] = []): void {
  for (const [at, { name, sha256, narrow }] of tools.entries()) {
    const instructs = found[at] ?? [];
    const read = readAs(name);
    const first = seen.alike.get(read) ?? name;
    seen.alike.set(read, first);
    const injected = first === name ? instructs : [...instructs, LOOKALIKE];
    if (!seen.narrow.has(name)) seen.narrow.set(name, narrow);
    const known = seen.digests.get(name) ?? sha256;
    seen.digests.set(name, known);
    if (known !== sha256) seen.twice.set(name, (seen.twice.get(name) ?? new Set([known])).add(sha256));
    if (injected.length === 0) continue;
    const finding = seen.injected.get(name) ?? {
      found: new Set(),
      sha256: new Set(),
      ...(first !== name && { like: first }),
    };
    for (const rule of injected) finding.found.add(rule);
    finding.sha256.add(sha256);
    seen.injected.set(name, finding);
  }
}

/** All digests of a name, sorted; empty for an unknown name. */
export function digestsOf({ digests, twice }: SeenTools, name: string): string[] {
  const first = digests.get(name);
  return first === undefined ? [] : [...(twice.get(name) ?? [first])].toSorted();
}

const partsOf = (answer: string): JsonObject | null => objectOf(JSON.parse(exactly(answer)) as Json);
const resultOf = (answer: string): JsonObject | null => objectOf(partsOf(answer)?.['result']);

const objectOf = (value: Json | undefined): JsonObject | null =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null;
