import { LRUCache } from 'lru-cache';
import { endsOf, plain } from './argument-names.js';
import { LONGEST_NAME, lowered, Opener } from './argument-texts.js';
import { unlimited, type Checkpoint } from './in-place.js';

/** A name of an argument. It is read once, however many values stand below it. */
export interface ArgumentName {
  /** In lower case, without separators: `targetpath`. */
  readonly plain: string;
  /** Its words in lower case, without accents: `transfer`, `to` of `transferTo`. */
  readonly words: readonly string[];
}

/** One value of the arguments, with the names that lead to it. */
export interface Leaf {
  /** Its own name as `ArgumentName.plain`. A value of a list has the name of the list. */
  readonly name: string;
  readonly words: readonly string[];
  /** The names as the policy's lists have them. */
  readonly path: readonly string[];
  /** The same names, its own last. */
  readonly names: readonly ArgumentName[];
  /** The object it stands in, directly or in a list. */
  readonly group: Group | null;
  readonly value: string | number | boolean;
}

/** One object of the arguments. */
export interface Group {
  readonly path: readonly string[];
  readonly members: readonly (readonly [name: string, value: unknown])[];
  readonly outer: Group | null;
}

export interface ReadArguments {
  /** In the order in which they stand. */
  readonly leaves: readonly Leaf[];
  readonly groups: readonly Group[];
}

interface Part {
  readonly value: unknown;
  readonly names: readonly ArgumentName[];
  readonly path: readonly string[];
  readonly group: Group | null;
}

const PATH_LENGTH = 16;
const PARTS_PER_CHECKPOINT = 512;

/** Takes linear time, also for arguments that are packed as JSON in a text, and does not recurse. Throws only what `checkpoint` throws. */
export function readArguments(args: unknown, checkpoint: Checkpoint = unlimited): ReadArguments {
  const leaves: Leaf[] = [];
  const groups: Group[] = [];
  const open: Part[] = [{ value: args, names: [], path: [], group: null }];
  const opener = new Opener();
  let seen = 0;
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    seen += 1;
    if (seen % PARTS_PER_CHECKPOINT === 0) checkpoint();
    const { names, path, group } = part;
    const inside = typeof part.value === 'string' ? opener.open(part.value, path) : undefined;
    for (const document of inside?.documents.toReversed() ?? []) open.push({ ...part, value: document });
    if (inside?.isJson) continue;
    const { value } = part;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      const own = names.at(-1) ?? NAMELESS;
      leaves.push({ name: own.plain, words: own.words, path, names, group, value });
    } else if (Array.isArray(value)) {
      for (const item of value.toReversed() as unknown[]) open.push({ ...part, value: item });
    } else if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value);
      const inner: Group = { path, members, outer: group };
      groups.push(inner);
      for (const [name, item] of members.toReversed())
        open.push({
          value: item,
          names: [...names, nameOf(name)].slice(-PATH_LENGTH),
          path: [...path, ...lowered([name])].slice(-PATH_LENGTH),
          group: inner,
        });
    }
  }
  return { leaves, groups };
}

const NAMELESS: ArgumentName = { plain: '', words: [] };
/** Callers choose the names, and most choose the same ones. */
const namesKept = new LRUCache<string, ArgumentName>({ max: 4_096 });
export function nameOf(name: string): ArgumentName {
  if (name.length > LONGEST_NAME) return readName(name);
  const read = namesKept.get(name) ?? readName(name);
  namesKept.set(name, read);
  return read;
}

function readName(name: string): ArgumentName {
  const bare = withoutAccents(endsOf(name));
  return {
    plain: plain(bare),
    words: bare
      .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .split(/[^\p{L}\d]/u)
      .filter((word) => word !== ''),
  };
}

/** `Empfänger` and `ＰＡＹＥＥ` in plain letters: compatibility forms decomposed (Unicode UAX 15), marks removed. */
export const withoutAccents = (text: string): string =>
  /[^\0-\x7f]/.test(text)
    ? text
        .normalize('NFKD')
        .replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')
        .replaceAll(/[ßæøłđðı]/gi, (letter) => LETTERS[letter.toLowerCase()] ?? letter)
    : text;
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', æ: 'ae', ø: 'o', ł: 'l', đ: 'd', ð: 'd', ı: 'i' };

/** The text of an argument, or of its list of words; undefined for anything else. */
export function wordsOf(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : [value];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const words = value.filter((item): item is string | number => typeof item === 'string' || typeof item === 'number');
  return words.length === value.length ? words.map(String) : undefined;
}
