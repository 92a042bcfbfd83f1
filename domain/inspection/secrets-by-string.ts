import type { ResponseEntity } from '../../contracts/response-scan.js';
import { isPart, type JsonString } from './json-strings.js';
import { type Occurrence, sensitiveDataIn } from '../masking/sensitive-data.js';

/** Secrets, which are worth as much in two pieces. What people write of each other has gaps of its own and would be found by accident. */
const SECRETS: ReadonlySet<ResponseEntity> = new Set(['AWS_ACCESS_KEY', 'PRIVATE_KEY', 'API_TOKEN', 'DB_URI']);
/** No secret but a private key is longer. */
const REACH = 1_024;
const KEY_IS_OVER = '-----';

/**
 * What is found in each string, and the pieces of secrets that go on from one part of an answer to the next: whoever reads the parts one after
 * the other has the whole. Parts are read alone, each with the next one, and all together.
 */
export function secretsByString(strings: readonly JsonString[]): ReadonlyMap<JsonString, readonly Occurrence[]> {
  const found = new Map<JsonString, Occurrence[]>();
  const add = (string: JsonString, occurrence: Occurrence): void => {
    const known = found.get(string);
    if (known) known.push(occurrence);
    else found.set(string, [occurrence]);
  };
  for (const string of strings) for (const occurrence of sensitiveDataIn(string.value)) add(string, occurrence);
  const alone = new Map([...found].map(([string, occurrences]) => [string, [...occurrences]]));
  const parts = strings.filter(isPart);
  for (let at = 0; at + 1 < parts.length; at += 1) {
    const [one, next] = [parts[at], parts[at + 1]] as [JsonString, JsonString];
    const from = Math.max(0, one.value.length - REACH);
    const pieces = [
      { string: one, from, text: one.value.slice(from) },
      { string: next, from: 0, text: next.value.slice(0, REACH) },
    ];
    for (const { string, ...piece } of acrossBorders(pieces, alone)) add(string, piece);
  }
  const whole = parts.map((string) => ({ string, from: 0, text: string.value }));
  if (parts.length > 1) for (const { string, ...piece } of acrossBorders(whole, alone)) add(string, piece);
  return found;
}

interface Piece {
  readonly string: JsonString;
  /** Where in the string the text begins. */
  readonly from: number;
  readonly text: string;
}

/** The parts of secrets that are in more than one of these texts. */
function* acrossBorders(
  pieces: readonly Piece[],
  alone: ReadonlyMap<JsonString, readonly Occurrence[]>,
): Generator<Occurrence & { readonly string: JsonString }> {
  const begins: number[] = [];
  let length = 0;
  for (const { text } of pieces) {
    begins.push(length);
    length += text.length;
  }
  const joined = pieces.map(({ text }) => text).join('');
  for (const { type, start, end } of sensitiveDataIn(joined)) {
    if (!SECRETS.has(type)) continue;
    let at = lastAtMost(begins, start);
    if (end <= (begins[at + 1] ?? length)) continue;
    const { string: first, from } = pieces[at] as Piece;
    const place = from + start - (begins[at] as number);
    // A token that is whole in its part does not go on in the words of the next one; a private key begins in one part and may end in another.
    const isKnown = alone.get(first)?.some((one) => one.type === type && one.start === place);
    if (isKnown && !(type === 'PRIVATE_KEY' && joined.slice(start, end).endsWith(KEY_IS_OVER))) continue;
    for (; at < pieces.length && (begins[at] as number) < end; at += 1) {
      const { string, from: offset, text } = pieces[at] as Piece;
      const begin = begins[at] as number;
      const [left, right] = [Math.max(0, start - begin), Math.min(text.length, end - begin)];
      if (left < right) yield { type, string, start: offset + left, end: offset + right };
    }
  }
}

/** The index of the last of these ascending numbers that is no greater. */
function lastAtMost(ascending: readonly number[], most: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((ascending[middle] as number) <= most) low = middle;
    else high = middle - 1;
  }
  return low;
}
