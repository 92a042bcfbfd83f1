import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { detectInjection } from '../inspection/injection.js';
import { inspectTexts } from '../inspection/texts.js';
import { exactly } from '../mcp/exact-numbers.js';
import type { PinnedTools } from './pin-store.js';

/** One page of a `tools/list` answer. */
export interface ToolPage {
  readonly tools: readonly ToolDefinition[];
  readonly nextCursor: string | null;
}
export interface ToolDefinition {
  readonly name: string;
  /** Over everything that the list says of the tool. */
  readonly sha256: string;
  /** Over description and input schema alone, as an older Gate pinned it. */
  readonly narrow: string;
  /** Instructions to a model that stand in the definition, by the name of the rule that found them. */
  readonly injected: readonly string[];
}

/** Reads the answer to `tools/list`; `null` where it is not one. */
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
  return { name: shown, sha256: definitionDigest(tool), narrow: narrowDigest(tool), injected };
}

const injectedIn = (name: string, value: JsonObject): readonly string[] => {
  const { detected, found } = detectInjection(name, inspectTexts(value, 'standard'));
  return detected ? found : [];
};

/** Something else that a model reads: the instructions of a server, a prompt or a resource of its lists. */
export interface ToldText {
  readonly name: string;
  readonly sha256: string;
  readonly injected: readonly string[];
}

const LISTS: Readonly<Record<string, string>> = { 'prompts/list': 'prompts', 'resources/list': 'resources' };

/** What an answer tells a model beside tools, each part that holds instructions to it. */
export function toldIn(method: string, answer: string): readonly ToldText[] {
  const result = resultOf(answer);
  if (!result) return [];
  const list = LISTS[method];
  const parts: readonly (readonly [string, JsonObject])[] =
    method === 'initialize'
      ? [['initialize', result]]
      : list === undefined || !Array.isArray(result[list])
        ? []
        : result[list].flatMap((value, index) => {
            const part = objectOf(value);
            const name = part?.['name'];
            return part ? [[`${list}/${typeof name === 'string' ? storable(name) : index}`, part] as const] : [];
          });
  return parts.flatMap(([name, part]) => {
    const injected = injectedIn(name, part);
    return injected.length === 0 ? [] : [{ name, sha256: definitionDigest(part), injected }];
  });
}

/** A name that is not kept as it is must not hide its list: it stands for itself in a form that every store holds and operators can name. */
const storable = (text: string): string =>
  text === '__proto__' ? String.raw`\__proto__` : text.toWellFormed().replaceAll('\0', String.raw`\0`);

/** What a list says of a tool, all of it, in any order of keys: title, description, both schemas, annotations, icons, `_meta`, and what is not known yet. */
export const definitionDigest = (tool: JsonObject): string => digestOf(tool);

/** What an older Gate pinned of a tool (docs/architecture/requests-and-answers.md#tool-definitions). */
export const narrowDigest = (tool: JsonObject): string =>
  digestOf({ description: tool['description'] ?? null, inputSchema: tool['inputSchema'] ?? null });

function digestOf(told: JsonObject): string {
  try {
    return sha256Hex(canonicalJson(told));
  } catch {
    // A lone surrogate has no canonical form; JSON's own text escapes it.
    return sha256Hex(JSON.stringify(told));
  }
}

/** How a list differs from what was pinned; all sorted. */
export interface ToolDrift {
  readonly changed: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Compares what was seen of a list, whole or not, with the pins. A name that came twice with two meanings is changed, and so is every one
 * where the pins are not Gate's own.
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
    added: pinned.complete ? names.filter((name) => !pinned.digests.has(name)).toSorted() : [],
    removed:
      whole && pinned.complete ? [...pinned.digests.keys()].filter((name) => !seen.digests.has(name)).toSorted() : [],
  };
}

/** What the pages of one list add up to. */
export interface SeenTools {
  /** What each name stood for when it came first. */
  readonly digests: Map<string, string>;
  readonly narrow: Map<string, string>;
  /** Every meaning of the names that came with more than one. */
  readonly twice: Map<string, Set<string>>;
  readonly injected: Map<string, { readonly found: Set<string>; readonly sha256: Set<string> }>;
}
export const nothingSeen = (): SeenTools => ({
  digests: new Map(),
  narrow: new Map(),
  twice: new Map(),
  injected: new Map(),
});

export function addPage(seen: SeenTools, { tools }: ToolPage): void {
  for (const { name, sha256, narrow, injected } of tools) {
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

/** Every digest a name came with, sorted; none of a name that did not come. */
export function digestsOf({ digests, twice }: SeenTools, name: string): string[] {
  const first = digests.get(name);
  return first === undefined ? [] : [...(twice.get(name) ?? [first])].toSorted();
}

const resultOf = (answer: string): JsonObject | null =>
  objectOf(objectOf(JSON.parse(exactly(answer)) as Json)?.['result']);

const objectOf = (value: Json | undefined): JsonObject | null =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null;
