import { latinDigit } from './digits.js';

/** How a sign stands behind the one before it: beside it, with what separates groups between them, or behind something else. */
export const BESIDE = 0;
export const JOINED = 1;
export const APART = 2;

/**
 * The letters and digits of a text as its reader takes them, in ASCII, each with its place in the text in UTF-16 units. Letters and digits
 * of other forms are those that they look like (`４`, `٤`, `𝟒`, `Ｄ`); what nobody sees is left out. What separates groups may be written in
 * JSON, in a URL or in HTML: `\n`, `\u00a0`, `%20`, `+`, `&nbsp;`.
 */
export interface Signs {
  readonly count: number;
  /** 0 to 9 of a digit, 10 to 35 of a letter in either case. */
  readonly codes: Uint8Array;
  readonly gaps: Uint8Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** What is not a sign. */
const UNSEEN = -1;
const JOINS = -2;
const PARTS = -3;
/** Two groups stand within so many units. */
const LONGEST_GAP = 32;
const ASCII = 0x80;
const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const AMPERSAND = 0x26;

const OTHER_DIGIT = /\p{Nd}/u;
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}]/u;
/** Blanks, dashes, the sign for minus, the end of a line, control characters, the point in the middle, and a point and a slash in other forms. */
const JOINING = /[\p{Z}\p{Pd}\p{Cc}\u2212\u00b7\u2800\u2024\u2044\u2215]/u;

const OF_ASCII = Int8Array.from({ length: ASCII }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 36);
  if (!Number.isNaN(value)) return value;
  return code <= 0x20 || code === 0x7f || '-./+_\\'.includes(String.fromCharCode(code)) ? JOINS : PARTS;
});

function readingOf(character: string): number {
  if (character.charCodeAt(0) < ASCII) return OF_ASCII[character.charCodeAt(0)] as number;
  if (OTHER_DIGIT.test(character)) return Number(latinDigit(character));
  if (INVISIBLE.test(character)) return UNSEEN;
  if (JOINING.test(character)) return JOINS;
  const plain = character.normalize('NFKC');
  return plain.length === 1 && plain.charCodeAt(0) < ASCII ? (OF_ASCII[plain.charCodeAt(0)] as number) : PARTS;
}

/** The signs of a text, in time linear in it. */
export function signsOf(text: string): Signs {
  const codes = new Uint8Array(text.length);
  const gaps = new Uint8Array(text.length);
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  const known = new Map<number, number>();
  let count = 0;
  let gap = APART;
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    let length = 1;
    let read: number;
    const escaped = unit === BACKSLASH || unit === PERCENT || unit === AMPERSAND ? escapeAt(text, at, unit) : null;
    if (escaped !== null) {
      length = escaped.length;
      read = readingOf(escaped.character);
    } else if (unit < ASCII) read = OF_ASCII[unit] as number;
    else {
      const point = text.codePointAt(at) as number;
      length = point > 0xffff ? 2 : 1;
      const before = known.get(point);
      read = before ?? readingOf(String.fromCodePoint(point));
      if (before === undefined) known.set(point, read);
    }
    if (read >= 0) {
      codes[count] = read;
      starts[count] = at;
      ends[count] = at + length;
      gaps[count] = gap === JOINED && at - (ends[count - 1] as number) > LONGEST_GAP ? APART : gap;
      count += 1;
      gap = BESIDE;
    } else if (read === PARTS) gap = APART;
    else if (read === JOINS && gap === BESIDE) gap = JOINED;
    at += length;
  }
  return { count, codes, gaps, starts, ends };
}

interface Escape {
  readonly character: string;
  readonly length: number;
}

const IN_JSON: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
const ENTITY = /^&(?:(?:nbsp|ensp|emsp|thinsp|ndash|mdash)|(shy|zwn?j)|#(\d{2,5})|#x([\da-f]{2,4}));/i;
const ENTITY_LENGTH = 9;
const HEX4 = /^u[\da-f]{4}$/i;
const HEX2 = /^x[\da-f]{2}$/i;
/** One byte, also of what was encoded more than once, or the bytes of one character of UTF-8. */
const ENCODED = /^%(?:25){0,2}(?:[0-7][\da-f]|[c-f][\da-f](?:%(?:25){0,2}[89ab][\da-f]){1,3})/i;
const ENCODED_LENGTH = 28;

/** What an escape that begins here stands for; `null` where none does, as in `LIKE '%DE89…'`. */
function escapeAt(text: string, at: number, unit: number): Escape | null {
  if (unit === BACKSLASH) {
    // Of a JSON in a JSON, of however many: the last backslash says what follows.
    const next = text[at + 1] ?? '';
    const simple = IN_JSON[next];
    if (simple !== undefined) return { character: simple, length: 2 };
    const four = next === 'u' && text.slice(at + 1, at + 6);
    if (four && HEX4.test(four)) return { character: characterOf(four.slice(1), 16), length: 6 };
    const two = next === 'x' && text.slice(at + 1, at + 4);
    if (two && HEX2.test(two)) return { character: characterOf(two.slice(1), 16), length: 4 };
    return null;
  }
  if (unit === PERCENT) {
    const found = ENCODED.exec(text.slice(at, at + ENCODED_LENGTH))?.[0];
    if (found === undefined) return null;
    const character = decoded(found.replaceAll(/%(?:25){1,2}/g, '%'));
    // Letters and digits of ASCII are written as they are.
    return character === null || (OF_ASCII[character.charCodeAt(0)] ?? PARTS) >= 0
      ? null
      : { character, length: found.length };
  }
  const entity = ENTITY.exec(text.slice(at, at + ENTITY_LENGTH));
  if (entity === null) return null;
  const [whole, unseen, decimal, hexadecimal] = entity;
  const length = whole.length;
  if (decimal !== undefined) return { character: characterOf(decimal, 10), length };
  if (hexadecimal !== undefined) return { character: characterOf(hexadecimal, 16), length };
  return { character: unseen === undefined ? ' ' : '\u00ad', length };
}

const characterOf = (digits: string, base: number): string => String.fromCodePoint(Number.parseInt(digits, base));

function decoded(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}
