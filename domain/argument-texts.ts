import { holdsName, holdsValue } from './argument-names.js';
import { type Packed, unpacked } from './packed-text.js';

const PATH_LENGTH = 16;
/** The outermost names and the innermost ones: no number of names between pushes out what an argument is called. */
const OUTERMOST = 4;
const shortPath = (path: readonly string[]): readonly string[] =>
  path.length > PATH_LENGTH ? [...path.slice(0, OUTERMOST), ...path.slice(OUTERMOST - PATH_LENGTH)] : path;

export interface TextVisitor {
  /** Called for every text, including argument names, with the argument names that lead to it. */
  text(text: string, path: readonly string[], isName: boolean): void;
  /**
   * Called for the texts, numbers and truth values of a list, in order: a tool may join them into one text. A column is what the objects of a
   * list have under one name. An object that is numbered is a list twice: as written, because its author chose that order, and by number.
   */
  list?(items: readonly string[], path: readonly string[], isColumn?: boolean): void;
  /** Called for an object that is no list by its names, and for one that a list of pairs says: a tool may make one text of several of its members. */
  members?(members: readonly Member[], path: readonly string[]): void;
}
export type Member = readonly [name: string, value: unknown];

interface Part {
  readonly value: unknown;
  readonly path: readonly string[];
}

/**
 * Opens the texts of one call. Where a text says several things at once, all of them hold what they have in common; so that is opened once at a
 * place, or each level of packing would double the work.
 */
export class Opener {
  readonly #opened = new Set<string>();

  /** What is packed in a text, each of it once. */
  open(text: string, path: readonly string[]): Packed | undefined {
    const inside = unpacked(text);
    if (inside === undefined || (inside.isJson && inside.documents.length === 1)) return inside;
    const place = `${path.join('\0')}\0${text}`;
    if (this.#opened.has(place)) return { ...inside, documents: [] };
    this.#opened.add(place);
    return inside;
  }
}

/**
 * Visits all texts in the arguments of a call, including those in a text that is JSON, however often it is packed: every level doubles the
 * escapes of its quotes, so the levels of a text are few for its length. What only some readers take for JSON is visited as it stands too. Not
 * recursive, so that a deeply nested value cannot overflow the
 * stack.
 */
export function eachText(value: unknown, { text, list, members }: TextVisitor): void {
  const open: Part[] = [{ value, path: [] }];
  const opener = new Opener();
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { value: here, path } = part;
    if (typeof here === 'string') {
      const inside = opener.open(here, path);
      if (inside?.isJson !== true) text(here, path, false);
      for (const document of inside?.documents ?? []) open.push({ value: document, path });
    } else if (Array.isArray(here)) {
      if (list && !here.every((item) => typeof item === 'number')) {
        const items = scalarsIn(here);
        if (items.length > 1) list(items, path);
        for (const [key, column] of columnsOf(here)) list(column, shortPath([...path, key]), true);
      }
      const named = members ? membersOfPairs(here) : [];
      if (named.length > 1) members?.(named, path);
      for (const item of here as unknown[]) open.push({ value: item, path });
    } else if (typeof here === 'object' && here !== null) {
      const entries = Object.entries(here);
      const isNumbered = entries.length > 1 && areNumbered(entries);
      // A single letter may be a number or the beginning of a name: "c" for a command.
      if (!isNumbered || entries[0]?.[0].length === 1) members?.(entries, path);
      if (list && isNumbered) {
        const items = scalarsIn(entries.map(([, item]) => item));
        const sorted = scalarsIn(entries.toSorted(byNumber).map(([, item]) => item));
        if (items.length > 1) list(items, path);
        if (items.length > 1 && sorted.some((item, at) => item !== items[at])) list(sorted, path);
      }
      const paired = pairedName(entries);
      for (const [key, item] of entries) {
        text(key, path, true);
        const names = paired !== undefined && holdsValue(key) ? [paired.trim(), key] : [key.trim()];
        open.push({ value: item, path: shortPath([...path, ...names]) });
      }
    }
  }
}

/** What a pair names its value: `method` of `{"name": "method", "value": "DELETE"}`. */
function pairedName(members: readonly Member[]): string | undefined {
  if (!members.some(([name]) => holdsValue(name))) return undefined;
  const named = members.find(([name, value]) => holdsName(name) && typeof value === 'string');
  return named?.[1] as string | undefined;
}

/** The object that a list of pairs says: `[{"name": "command", "value": "rm"}, {"name": "args", "value": ["-rf"]}]`. */
const membersOfPairs = (list: readonly unknown[]): readonly Member[] =>
  list.flatMap((item) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return [];
    const entries = Object.entries(item);
    const name = pairedName(entries)?.trim();
    return name === undefined
      ? []
      : entries.flatMap(([key, value]) => (holdsValue(key) ? [[name, value] as const] : []));
  });

/** How deep the lists in a list are looked through for its scalars. */
const DEEPEST_LIST = 3;

/** The texts, numbers and truth values of a list and of the lists in it, and the one member of an object that has no other: `{"arg": "-f"}`. */
export function scalarsIn(list: readonly unknown[], depth = 0, found: string[] = []): string[] {
  for (const item of list) {
    const here = soleMember(item);
    if (typeof here === 'string') found.push(here);
    else if (typeof here === 'number' || typeof here === 'boolean') found.push(String(here));
    else if (depth < DEEPEST_LIST && Array.isArray(here)) scalarsIn(here, depth + 1, found);
  }
  return found;
}
function soleMember(item: unknown): unknown {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
  const [first, ...others] = Object.values(item) as unknown[];
  return others.length === 0 ? first : undefined;
}

/** Names in a list of objects and words whose columns are put together with the words. */
const MIXED_COLUMNS = 8;

/** What the objects of a list hold under each of their names, with the words between them: `[{"type": "text", "value": "-f"}, …]`. */
export function columnsOf(list: readonly unknown[]): readonly (readonly [string, readonly string[]])[] {
  const columns = new Map<string, (readonly [at: number, text: string])[]>();
  const words: (readonly [at: number, text: string])[] = [];
  for (const [at, item] of list.entries()) {
    if (typeof item === 'string') words.push([at, item]);
    if (typeof item !== 'object' || item === null || Array.isArray(item)) continue;
    for (const [key, value] of Object.entries(item)) {
      if (typeof value !== 'string' && typeof value !== 'number') continue;
      const column = columns.get(key);
      if (column) column.push([at, String(value)]);
      else columns.set(key, [[at, String(value)]]);
    }
  }
  return [...columns].flatMap(([key, column], place) => {
    const items =
      words.length > 0 && place < MIXED_COLUMNS
        ? [...column, ...words].toSorted(([one], [other]) => one - other)
        : column;
    return items.length > 1 ? [[key, items.map(([, text]) => text)] as const] : [];
  });
}

/** The number of `a2`, the place of `b` in the alphabet. */
export function numberOf(name: string): number | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  const ordinal = ORDINALS.indexOf(name.toLowerCase());
  if (ordinal >= 0) return ordinal;
  if (/^[A-Za-z]$/.test(name)) return name.toLowerCase().charCodeAt(0);
  const digits = /[0-9]{1,8}$/.exec(name)?.[0];
  return digits === undefined ? undefined : Number(digits);
}
const ORDINALS = 'first second third fourth fifth sixth seventh eighth ninth tenth'.split(' ');
const byNumber = ([one]: Member, [other]: Member): number => (numberOf(one) ?? 0) - (numberOf(other) ?? 0);

/** `{"a0": …, "a1": …}`, `{"0": …, "1": …}`, `{"a": …, "b": …}`: a list that is written as an object. */
function areNumbered(entries: readonly Member[]): boolean {
  const stem = stemOf(entries[0]?.[0] ?? '');
  return stem !== undefined && entries.every(([name]) => stemOf(name) === stem);
}
/** A name without its number; empty for a single letter. */
function stemOf(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  if (/^[A-Za-z]$/.test(name) || ORDINALS.includes(name.toLowerCase())) return '';
  const stem = name.replace(/[0-9]{1,8}$/, '');
  return stem === name ? undefined : stem;
}

/** Meaningful argument names are never longer. */
export const LONGEST_NAME = 64;
/** The names of a path as the lists of names have them: in lower case, with names that are too long left empty. */
export const lowered = (path: readonly string[]): readonly string[] =>
  path.map((name) => (name.length > LONGEST_NAME ? '' : name.toLowerCase()));

/**
 * Returns a function that finds which of `names` occur in a path. Two paths give the same text when rules that know only these names cannot
 * tell them apart.
 */
export function namesAmong(names: readonly string[]): (path: readonly string[]) => string {
  const known = new Set(names);
  return (path) => [...new Set(lowered(path).filter((name) => known.has(name)))].toSorted().join('\n');
}
