import { BESIDE, JOINED, type Signs, signsOf } from './signs.js';

/**
 * What stands behind the check digits by country, as the registry of ISO 13616 has it: so many digits (`n`), letters (`a`), or either (`c`).
 * Neighbouring parts of one kind are one.
 */
const STRUCTURES =
  'ad8n12c ae19n al8n16c at16n az4a20c ba16n be12n bg4a6n8c bh4a14c bi23n br23n1a1c by4c4n16c ch5n12c cr18n cy8n16c cz20n de18n dj23n dk14n ' +
  'do4c20n ee16n eg25n es20n fi14n fk2a12n fo14n fr10n11c2n gb4a14n ge2a16n gi4a15c gl14n gr7n16c gt24c hn4a20n hr17n hu24n ie4a14n il19n ' +
  'iq4a15n is22n it1a10n12c jo4a4n18c kw4a22c kz3n13c lb4n20c lc4a24c li5n12c lt16n lu3n13c lv4a13c ly21n mc10n11c2n md20c me18n mk3n10c2n ' +
  'mn16n mr23n mt4a5n18c mu4a19n3a ni4a20n nl4a10n no11n om3n16c pk4a16c pl24n ps4a21c pt21n qa4a21c ro4a16c rs18n ru14n15c sa2n18c sc4a20n3a ' +
  'sd14n se20n si15n sk20n sm1a10n12c so19n st21n sv4a20n tl19n tn20n tr6n16c ua6n19c va18n vg4a16n xk16n ye4a4n18c';

/** The kinds of characters behind the check digits, one letter each. */
const KINDS: ReadonlyMap<string, string> = new Map(
  STRUCTURES.split(' ').map((entry) => [
    entry.slice(0, 2),
    Array.from(entry.slice(2).matchAll(/(\d{1,2})([nac])/g), ([, count, kind]) =>
      String(kind).repeat(Number(count)),
    ).join(''),
  ]),
);
const BEHIND = 4;
/** Characters by country. */
export const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
  [...KINDS].map(([country, kinds]) => [country, BEHIND + kinds.length]),
);

export const SHORTEST_IBAN = 15;
const LONGEST_IBAN = 34;
/** ISO 7064, MOD 97-10, over a number in small letters with its first four characters at its end. */
export function hasCheckDigits(compact: string): boolean {
  if (compact.length < SHORTEST_IBAN || compact.length > LONGEST_IBAN || !/^[a-z]{2}\d{2}[a-z\d]{11,30}$/.test(compact))
    return false;
  let rest = 0;
  for (const sign of compact.slice(4) + compact.slice(0, 4)) rest = restWith(rest, Number.parseInt(sign, 36));
  return rest === 1;
}
const restWith = (rest: number, value: number): number => (rest * (value > 9 ? 100 : 10) + value) % 97;

/** As much as is looked at around a number: a country's longest, with much between any two groups. */
const AROUND = 160;

/** Whether this part of a text lies within an account number (ISO 13616) whose check digits are right: `DE23 4805 0161 6167 2352 33`. */
export function isWithinIban(text: string, start: number, end: number): boolean {
  const from = Math.max(0, start - AROUND);
  for (const [begins, ends] of ibansIn(text.slice(from, end + AROUND)))
    if (from + begins <= start && from + ends >= end) return true;
  return false;
}

/** By the codes of two letters. */
const KINDS_BY_CODE: ReadonlyMap<number, string> = new Map(
  [...KINDS].map(([country, kinds]) => [Number.parseInt(country, 36), kinds]),
);
const isDigit = (code: number): boolean => code < 10;

/** The index of the sign behind an account number that begins at one, by country, kinds of characters and check digits; -1 where none does. */
function ibanFrom({ count, codes, gaps }: Signs, at: number): number {
  const kinds = KINDS_BY_CODE.get((codes[at] as number) * 36 + (codes[at + 1] as number));
  if (kinds === undefined || at + BEHIND + kinds.length > count) return -1;
  let rest = 0;
  let digits = 0;
  for (let next = 0; next < kinds.length; next += 1) {
    const index = at + BEHIND + next;
    const code = codes[index] as number;
    if ((gaps[index] as number) > JOINED || (kinds[next] !== 'c' && (kinds[next] === 'n') !== isDigit(code))) return -1;
    if (isDigit(code)) digits += 1;
    rest = restWith(rest, code);
  }
  // Words behind `KW12` have letters where a number has digits.
  if (2 * digits < kinds.length) return -1;
  for (let index = at; index < at + BEHIND; index += 1) rest = restWith(rest, codes[index] as number);
  return rest === 1 ? at + BEHIND + kinds.length : -1;
}

/** `DE89` and `DE 89 `, but not the word in `no 4500012345678`. */
function beginsAt({ count, codes, gaps }: Signs, at: number): boolean {
  if (at + BEHIND >= count || isDigit(codes[at] as number) || isDigit(codes[at + 1] as number)) return false;
  if (!isDigit(codes[at + 2] as number) || !isDigit(codes[at + 3] as number)) return false;
  if (gaps[at + 1] !== BESIDE || gaps[at + 3] !== BESIDE) return false;
  return gaps[at + 2] === BESIDE || (gaps[at + 2] === JOINED && gaps[at + 4] === JOINED);
}

const IBAN = Array.from('iban', (letter) => Number.parseInt(letter, 36));
const isBehindIts = ({ codes, gaps }: Signs, at: number): boolean =>
  at >= IBAN.length &&
  IBAN.every(
    (code, index) =>
      codes[at - IBAN.length + index] === code && (index === 0 || gaps[at - IBAN.length + index] === BESIDE),
  );

/** RFC 9562. */
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gi;
const UUID_LENGTH = 36;
/** Whether a part of a text is one of a UUID, or goes over one. */
export function touchesUuid(text: string, start: number, end: number): boolean {
  const from = Math.max(0, start - UUID_LENGTH);
  const around = text.slice(from, end + UUID_LENGTH);
  if (!around.includes('-')) return false;
  for (const { index } of around.matchAll(UUID))
    if (from + index < end && from + index + UUID_LENGTH > start) return true;
  return false;
}

/**
 * Account numbers (ISO 13616), by their place, in groups or not: of a country's length and kinds of characters, with check digits that are
 * right, no digit directly behind, and letters alone before in the same word. Written in groups they end with a word. In order, in time
 * linear in the text.
 */
export function* ibansIn(text: string): Generator<readonly [start: number, end: number]> {
  if (text.length < SHORTEST_IBAN) return;
  const signs = signsOf(text);
  const { count, codes, gaps, starts, ends } = signs;
  let hasDigitBefore = false;
  for (let at = 0; at < count; at += 1) {
    if (gaps[at] !== BESIDE) hasDigitBefore = false;
    if (beginsAt(signs, at) && (!hasDigitBefore || isBehindIts(signs, at))) {
      const behind = ibanFrom(signs, at);
      const start = starts[at] as number;
      const end = ends[behind - 1] as number;
      if (behind !== -1 && endsAt(signs, at, behind) && !touchesUuid(text, start, end)) {
        yield [start, end];
        at = behind - 1;
        hasDigitBefore = false;
        continue;
      }
    }
    hasDigitBefore ||= isDigit(codes[at] as number);
  }
}

function endsAt({ count, codes, gaps }: Signs, at: number, behind: number): boolean {
  if (behind === count || gaps[behind] !== BESIDE) return true;
  return !isDigit(codes[behind] as number) && gaps.subarray(at + 1, behind).every((gap) => gap === BESIDE);
}
