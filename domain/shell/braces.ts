import type { Allowance } from './allowance.js';

/** Elements of a list of numbers that are read: of a longer one, as many from each end. */
const NUMBERS = 32;
/** The deepest nesting of braces that is read. */
const DEEPEST = 32;
const SEQUENCE = /^(?:(-?\d{1,9})\.\.(-?\d{1,9})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,9}))?$/;
const LONGEST_SEQUENCE = 40;

interface Group {
  readonly from: number;
  /** The place of the closing brace. */
  readonly to: number;
  readonly commas: readonly number[];
  readonly sequence: readonly string[] | null;
}

export interface Braced {
  readonly words: readonly string[];
  /** False where there are more words than are read: then only the first of them is there, and the word as written. */
  readonly isWhole: boolean;
}

/**
 * The words that a shell makes of one: `{rm,-rf}`, `-{a,b}x`, `{1..3}`. `marks` are the places of the braces and commas that are not quoted,
 * in their order. Null where there is nothing to expand. As many characters as the word has are free, more of them the allowance pays for.
 */
export function expandBraces(text: string, marks: readonly number[], allowance: Allowance): Braced | null {
  const groups = groupsOf(text, marks);
  if (groups.length === 0) return null;
  let free = text.length;
  const may = (length: number): boolean => {
    free -= length + 1;
    return free >= 0 || allowance.mayMultiply(length + 1);
  };
  let at = 0;
  /** From `groups[at]` on, which are in the order of their beginnings: those within a part stand right behind each other. */
  function part(from: number, to: number, depth: number): string[] | null {
    if (depth > DEEPEST) return null;
    let made = [''];
    let place = from;
    const join = (ends: readonly string[]): boolean => {
      const [only = ''] = made;
      if (made.length === 1 && only === '') {
        made = [...ends];
        return true;
      }
      const all: string[] = [];
      for (const one of made)
        for (const end of ends) {
          if (!may(one.length + end.length)) return false;
          all.push(one + end);
        }
      made = all;
      return true;
    };
    for (let group = groups[at]; group !== undefined && group.from < to; group = groups[at]) {
      at += 1;
      const ends: string[] = [];
      if (group.sequence !== null) ends.push(...group.sequence);
      else {
        let begin = group.from + 1;
        for (const end of [...group.commas, group.to]) {
          const inner = part(begin, end, depth + 1);
          if (inner === null) return null;
          for (const one of inner) ends.push(one);
          begin = end + 1;
        }
      }
      if (!ends.every(({ length }) => may(length))) return null;
      if (!join([text.slice(place, group.from)]) || !join(ends)) return null;
      place = group.to + 1;
    }
    return join([text.slice(place, to)]) ? made : null;
  }
  const all = part(0, text.length, 0);
  return all === null
    ? { words: [firstOf(text, groups), text], isWhole: false }
    : { words: all.filter((one) => one !== ''), isWhole: true };
}

/** The pairs of braces that a shell expands, by their beginnings: with a comma of their own, or two dots. */
function groupsOf(text: string, marks: readonly number[]): readonly Group[] {
  const open: { from: number; commas: number[] }[] = [];
  const groups: Group[] = [];
  for (const mark of marks) {
    if (text[mark] === '{') open.push({ from: mark, commas: [] });
    else if (text[mark] === ',') open.at(-1)?.commas.push(mark);
    else {
      const group = open.pop();
      if (group === undefined) continue;
      const sequence = group.commas.length > 0 ? null : sequenceOf(text, group.from + 1, mark);
      if (group.commas.length > 0 || sequence !== null) groups.push({ ...group, to: mark, sequence });
    }
  }
  return groups.toSorted((one, other) => one.from - other.from);
}

function sequenceOf(text: string, from: number, to: number): readonly string[] | null {
  if (to - from > LONGEST_SEQUENCE) return null;
  const found = SEQUENCE.exec(text.slice(from, to));
  if (found === null) return null;
  const [, first, last, letter, other, by = '1'] = found;
  const isNumbers = first !== undefined;
  const [begin, end] = isNumbers
    ? [Number(first), Number(last)]
    : [(letter as string).charCodeAt(0), (other as string).charCodeAt(0)];
  const step = (Math.abs(Number(by)) || 1) * (end < begin ? -1 : 1);
  const count = Math.floor((end - begin) / step) + 1;
  const width = isNumbers && /^-?0\d/.test(`${first}`) ? first.length : 0;
  const made: string[] = [];
  for (let index = 0; index < count; index += 1) {
    if (isNumbers && index === NUMBERS && count > 2 * NUMBERS) index = count - NUMBERS;
    const value = begin + index * step;
    made.push(isNumbers ? String(value).padStart(width, '0') : String.fromCharCode(value));
  }
  return made;
}

/** The first of the words: of each pair of braces what stands first in it. */
function firstOf(text: string, groups: readonly Group[]): string {
  let first = '';
  let place = 0;
  const ends: { readonly comma: number; readonly to: number }[] = [];
  const until = (from: number): void => {
    for (let end = ends.at(-1); end !== undefined && end.comma <= from; end = ends.at(-1)) {
      first += text.slice(place, end.comma);
      place = Math.max(place, end.to + 1);
      ends.pop();
    }
  };
  for (const { from, to, commas, sequence } of groups) {
    until(from);
    if (from < place) continue;
    first += text.slice(place, from) + (sequence?.[0] ?? '');
    place = sequence === null ? from + 1 : to + 1;
    if (sequence === null) ends.push({ comma: commas[0] ?? to, to });
  }
  until(text.length);
  return first + text.slice(place);
}
