/** Digits of mathematics stand side by side, ten of each kind. */
const FIRST_OF_MATHEMATICS = 0x1d7ce;
const LAST_OF_MATHEMATICS = 0x1d7ff;
/** Of each digit that was asked for; Unicode has some hundred. */
const zeros = new Map<number, number>();
/** The zero of a digit's script: the digits of one stand in a row (Unicode, Numeric_Type=Decimal). Looked for once for each digit. */
export function zeroOf(digit: number): number {
  if (digit >= 0x30 && digit <= 0x39) return 0x30;
  let zero = zeros.get(digit);
  if (zero === undefined) {
    zero = zeroBefore(digit);
    zeros.set(digit, zero);
  }
  return zero;
}

function zeroBefore(digit: number): number {
  if (digit >= FIRST_OF_MATHEMATICS && digit <= LAST_OF_MATHEMATICS)
    return digit - ((digit - FIRST_OF_MATHEMATICS) % 10);
  let zero = digit;
  while (digit - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return zero;
}

/** A digit of any script as one of ASCII. */
export function latinDigit(digit: string): string {
  const point = digit.codePointAt(0) as number;
  return String(point - zeroOf(point));
}

/** A text whose numbers are written in ASCII, and where each part of it stands in the one that was given. */
export interface PlainNumbers {
  readonly text: string;
  placeOf(start: number, end: number): { readonly start: number; readonly end: number };
}

/** What makes a number look otherwise: digits, blanks and dashes outside ASCII, and characters that nobody sees. */
const OTHERWISE = /(?![\0-\x7f])[\p{Nd}\p{Zs}\p{Pd}\u2212\p{Default_Ignorable_Code_Point}]/u;
const DIGIT = /\p{Nd}/u;
const BLANK = /\p{Zs}/u;
/** The sign for minus is a dash to who reads it. */
const DASH = /[\p{Pd}\u2212]/u;

function inAscii(character: string): string {
  if (!OTHERWISE.test(character)) return character;
  if (DIGIT.test(character)) return latinDigit(character);
  if (BLANK.test(character)) return ' ';
  return DASH.test(character) ? '-' : '';
}

/** A text with its numbers as they are written in ASCII; `null` where they are so already. Linear. */
export function plainNumbers(text: string): PlainNumbers | null {
  if (!OTHERWISE.test(text)) return null;
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  let plain = '';
  let at = 0;
  const known = new Map<string, string>();
  for (const character of text) {
    let written = known.get(character);
    if (written === undefined) {
      written = inAscii(character);
      known.set(character, written);
    }
    for (let unit = 0; unit < written.length; unit += 1) {
      starts[plain.length + unit] = at;
      ends[plain.length + unit] = at + character.length;
    }
    plain += written;
    at += character.length;
  }
  return {
    text: plain,
    placeOf: (start, end) => ({ start: starts[start] as number, end: ends[end - 1] as number }),
  };
}
