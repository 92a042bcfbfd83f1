import { plain } from '../argument-names.js';
import { lowered, unpacked } from '../argument-texts.js';

/** One value of the arguments, with the names that lead to it. */
export interface Leaf {
  /** Its own name in lower case, without separators: `targetpath`. A value of a list has the name of the list. */
  readonly name: string;
  /** The words of its own name: `transfer`, `to` of `transferTo`. */
  readonly words: readonly string[];
  /** The names as the policy's lists have them. */
  readonly path: readonly string[];
  readonly value: string | number | boolean;
}

/** One object of the arguments. */
export interface Group {
  readonly path: readonly string[];
  readonly members: readonly (readonly [name: string, value: unknown])[];
}

export interface ReadArguments {
  /** In the order in which they stand. */
  readonly leaves: readonly Leaf[];
  readonly groups: readonly Group[];
}

const PATH_LENGTH = 16;

/** Takes linear time, also for arguments that are packed as JSON in a text, and does not recurse. */
export function readArguments(args: unknown): ReadArguments {
  const leaves: Leaf[] = [];
  const groups: Group[] = [];
  const open: { readonly value: unknown; readonly path: readonly string[] }[] = [{ value: args, path: [] }];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { path } = part;
    const value = typeof part.value === 'string' ? (unpacked(part.value) ?? part.value) : part.value;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      leaves.push({ name: plain(path.at(-1) ?? ''), words: wordsIn(path.at(-1) ?? ''), path: lowered(path), value });
    else if (Array.isArray(value)) for (const item of value.toReversed() as unknown[]) open.push({ value: item, path });
    else if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value);
      groups.push({ path: lowered(path), members });
      for (const [name, inner] of members.toReversed())
        open.push({ value: inner, path: [...path, name].slice(-PATH_LENGTH) });
    }
  }
  return { leaves, groups };
}

const LONGEST_NAME = 64;
const wordsIn = (name: string): readonly string[] =>
  name
    .slice(0, LONGEST_NAME)
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]/u)
    .filter((word) => word !== '');

/** The text of an argument, or of its list of words; undefined for anything else. */
export function wordsOf(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : [value];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const words = value.filter((item): item is string | number => typeof item === 'string' || typeof item === 'number');
  return words.length === value.length ? words.map(String) : undefined;
}
