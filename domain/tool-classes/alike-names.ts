import { LRUCache } from 'lru-cache';
import type { ToolClass } from '../../contracts/policy.js';
import type { ClassedTool } from '../../contracts/tools.js';
import { plainReading } from '../plain-name.js';
import type { ClassSet } from './class-sets.js';

/** Classes that hold a call, from the strictest on. Only they count for names that are spelt otherwise: no spelling lets a call run. */
const HOLDING: readonly ToolClass[] = ['deny', 'strict', 'review'];

/** Longer names are compared as they are. */
const LONGEST = 512;
const NAMES_KEPT = 4_096;
const plainNames = new LRUCache<string, PlainName>({ max: NAMES_KEPT });

interface PlainName {
  /** The name decoded, without case, blanks and separators: `Get_User`, `get-user`, ` getUser` and `get%5Fuser` are one. */
  readonly whole: string;
  /** The same behind its last namespace: `x/get_user`, `mcp__x__get_user`. */
  readonly bare: string;
}

function plainNameOf(name: string): PlainName {
  const known = plainNames.get(name);
  if (known) return known;
  if (name.length > LONGEST) return { whole: name, bare: name };
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  const seen = plainReading(name).normalize('NFKC').trim();
  const parts = seen.split(/[/.:\\#@]|__/).filter((part) => plain(part) !== '');
  const made = { whole: plain(seen), bare: plain(parts.at(-1) ?? '') };
  plainNames.set(name, made);
  return made;
}

/** Whether an upstream may take one name for the other: by its case or separators, or because it strips a namespace of one of them. */
export function areAlike(one: string, other: string): boolean {
  const [a, b] = [plainNameOf(one), plainNameOf(other)];
  return a.whole !== '' && (a.whole === b.whole || a.bare === b.whole || a.whole === b.bare);
}

/** The classed tools whose names are spelt like this one. */
export const alikeIn = (tool: string, classed: ClassSet['tools']): readonly (readonly [string, ClassedTool])[] =>
  [...classed].filter(([name]) => name !== tool && areAlike(tool, name));

/** The strictest class that holds calls; undefined where none does. */
export const strictestOf = (classes: readonly ToolClass[]): ToolClass | undefined =>
  HOLDING.find((holding) => classes.includes(holding));
