import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { detectInjection } from '../inspection/injection.js';
import { inspectTexts } from '../inspection/texts.js';
import type { PinnedTools } from './pin-store.js';

/** One page of a `tools/list` answer. */
export interface ToolPage {
  readonly tools: readonly ToolDefinition[];
  readonly nextCursor: string | null;
}
export interface ToolDefinition {
  readonly name: string;
  readonly sha256: string;
  /** Instructions to a model that stand in the definition, by the name of the rule that found them. */
  readonly injected: readonly string[];
}

/** Reads the answer to `tools/list`; `null` where it is none. */
export function toolPageOf(answer: string): ToolPage | null {
  const result = objectOf(objectOf(JSON.parse(answer) as Json)?.['result']);
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
  const { detected, found } = detectInjection(name, inspectTexts(tool, 'standard'));
  const shown = storable(name);
  const injected = [...(detected ? found : []), ...(shown === name ? [] : ['unstorable_name'])];
  return { name: shown, sha256: definitionDigest(tool), injected };
}

/** A name that no store holds as it is must not hide its list: it stands for itself in a form that every store holds. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\\0');

/** What an agent is told about a tool (lite sheet 13): same description and schema, same digest, in any key order. */
export function definitionDigest(tool: JsonObject): string {
  const told = { description: tool['description'] ?? null, inputSchema: tool['inputSchema'] ?? null };
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

/** Compares what was seen of a list, whole or not, with the pins. A name that came twice with two meanings is changed. */
export function driftOf(pinned: PinnedTools, seen: SeenTools, whole: boolean): ToolDrift {
  const names = [...seen.digests.keys()];
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
  /** Every meaning of the names that came with more than one. */
  readonly twice: Map<string, Set<string>>;
  readonly injected: Map<string, { readonly found: Set<string>; readonly sha256: Set<string> }>;
}
export const nothingSeen = (): SeenTools => ({ digests: new Map(), twice: new Map(), injected: new Map() });

export function addPage(seen: SeenTools, { tools }: ToolPage): void {
  for (const { name, sha256, injected } of tools) {
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

const objectOf = (value: Json | undefined): JsonObject | null =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null;
