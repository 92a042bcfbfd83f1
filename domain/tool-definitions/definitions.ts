import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { detectInjection } from '../inspection/injection.js';
import { skeletonsOf } from '../inspection/skeleton.js';
import { inspectTexts } from '../inspection/texts.js';
import { exactly } from '../mcp/exact-numbers.js';
import { ownNameOf } from '../mcp/prefixed-names.js';
import { itemsOf, membersOf, objectText } from '../mcp/reply.js';
import { togetherSaid, type UpstreamInstructions } from '../pipeline/upstream.js';
import { poisonIn } from './poisoning.js';
import type { PinnedTools } from './ports.js';

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
  /** Names of the rules that found instructions to a model in the definition. */
  readonly injected: readonly string[];
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
  const shown = storable(name);
  const injected = [...injectedIn(name, tool), ...(shown === name ? [] : ['unstorable_name'])];
  const { description } = tool;
  return {
    name: shown,
    sha256: definitionDigest(tool),
    text: definitionText(tool),
    narrow: narrowDigest(tool),
    description: typeof description === 'string' ? description : '',
    injected,
  };
}

const injectedIn = (name: string, value: JsonObject): readonly string[] => {
  const texts = inspectTexts(value, 'standard');
  const { detected, found } = detectInjection(name, texts);
  return [...new Set([...(detected ? found : []), ...poisonIn(name, texts)])];
};

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

const LISTS: Readonly<Record<string, string>> = {
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

/** What an answer other than a list of tools says to a model; of several upstreams, their introductions one by one. */
export function toldIn(method: string, answer: string, said: readonly UpstreamInstructions[] = []): Told {
  const result = resultOf(answer);
  if (!result) return NOTHING_TOLD;
  const list = LISTS[method];
  if (list !== undefined) return toldInList(list, answer, result[list]);
  const whole = textIn(method, result);
  if (!whole) return NOTHING_TOLD;
  const bad = said.flatMap(({ prefix, text }) => textIn(`${method}/${prefix}`, { instructions: text }) ?? []);
  const harmless = said.filter(({ prefix }) => bad.every(({ name }) => name !== `${method}/${prefix}`));
  const rest = withInstructions(answer, bad.length > 0 ? togetherSaid(harmless) : '');
  const left = resultOf(rest);
  const isClean = left !== null && textIn(method, left) === null;
  return { texts: isClean && bad.length > 0 ? bad : [whole], rest: isClean ? rest : null };
}

const NOTHING_TOLD: Told = { texts: [], rest: null };

function textIn(name: string, part: JsonObject): ToldText | null {
  const injected = injectedIn(name, part);
  return injected.length === 0 ? null : { name, sha256: definitionDigest(part), injected };
}

function toldInList(list: string, answer: string, items: Json | undefined): Told {
  if (!Array.isArray(items)) return NOTHING_TOLD;
  const texts = items.map((item, index) => {
    const part = objectOf(item);
    const name = part?.['name'];
    return part && textIn(`${list}/${typeof name === 'string' ? storable(name) : index}`, part);
  });
  return {
    texts: texts.filter((text) => text !== null),
    rest: withoutItems(answer, list, (_item, index) => texts[index] !== null),
  };
}

/** An introduction with these instructions, or with none. */
function withInstructions(answer: string, instructions: string): string {
  const members = new Map(membersOf(answer, 'last') ?? []);
  const result = new Map(membersOf(members.get('result') ?? '', 'last') ?? []);
  result.delete('instructions');
  if (instructions !== '') result.set('instructions', JSON.stringify(instructions));
  return objectText(members.set('result', objectText(result)));
}

/** A name that stores would change must not hide its list, so it is replaced by a form that every store keeps and operators can type. */
const storable = (text: string): string =>
  text === '__proto__' ? String.raw`\__proto__` : text.toWellFormed().replaceAll('\0', String.raw`\0`);

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
    ? 'it was added, or instructs a model, and nobody accepted it'
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

/** The collected pages of one list. */
export interface SeenTools {
  /** The first definition of each name. */
  readonly digests: Map<string, string>;
  readonly narrow: Map<string, string>;
  /** All definitions of names that came with more than one. */
  readonly twice: Map<string, Set<string>>;
  readonly injected: Map<string, { readonly found: Set<string>; readonly sha256: Set<string> }>;
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

/** A name that a model or a person takes for another one of the same list. */
const LOOKALIKE = 'lookalike_name';
const SEPARATORS = /[\s._:/-]/g;

export function addPage(seen: SeenTools, { tools }: ToolPage): void {
  for (const { name, sha256, narrow, injected: instructs } of tools) {
    const read = skeletonsOf([name]).plain.replaceAll(SEPARATORS, '');
    const first = seen.alike.get(read) ?? name;
    seen.alike.set(read, first);
    const injected = first === name ? instructs : [...instructs, LOOKALIKE];
    if (!seen.narrow.has(name)) seen.narrow.set(name, narrow);
    const known = seen.digests.get(name) ?? sha256;
    seen.digests.set(name, known);
    if (known !== sha256) seen.twice.set(name, (seen.twice.get(name) ?? new Set([known])).add(sha256));
    if (injected.length === 0) continue;
    const finding = seen.injected.get(name) ?? { found: new Set(), sha256: new Set() };
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

const resultOf = (answer: string): JsonObject | null =>
  objectOf(objectOf(JSON.parse(exactly(answer)) as Json)?.['result']);

const objectOf = (value: Json | undefined): JsonObject | null =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null;
