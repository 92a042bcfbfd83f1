/** Characters by country, as the registry of ISO 13616 has them. */
export const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
  (
    'no15 be16 dk18 fi18 fk18 fo18 gl18 nl18 sd18 mk19 si19 at20 ba20 ee20 kz20 lt20 lu20 mn20 xk20 ch21 hr21 li21 lv21 bg22 bh22 cr22 de22 gb22 ' +
    'ge22 ie22 me22 rs22 va22 ae23 gi23 il23 iq23 om23 so23 tl23 ad24 cz24 es24 md24 pk24 ro24 sa24 se24 sk24 tn24 vg24 ly25 pt25 st25 is26 tr26 ' +
    'bi27 dj27 fr27 gr27 it27 mc27 mr27 sm27 al28 az28 by28 cy28 do28 gt28 hn28 hu28 lb28 ni28 pl28 sv28 br29 eg29 ps29 qa29 ua29 jo30 kw30 mu30 ' +
    'ye30 mt31 sc31 lc32 ru33'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

export const SHORTEST_IBAN = 15;
const LONGEST_IBAN = 34;
/** ISO 7064, MOD 97-10, over a number in small letters with its first four characters at its end. */
export function hasCheckDigits(compact: string): boolean {
  if (compact.length < SHORTEST_IBAN || compact.length > LONGEST_IBAN || !/^[a-z]{2}\d{2}[a-z\d]{11,30}$/.test(compact))
    return false;
  let rest = 0;
  for (const sign of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(sign, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** With no-break spaces, as pages and documents have them. */
const WRITTEN = /[A-Za-z0-9 \u00a0\u202f-]/;
const BEGINS = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}/g;
/** With a blank or a dash between any two characters, as much as is looked at before a number. */
const LONGEST_WRITTEN = 2 * LONGEST_IBAN;

/** Whether this part of a text lies within an account number (ISO 13616) whose check digits are right: `DE23 4805 0161 6167 2352 33`. */
export function isWithinIban(text: string, start: number, end: number): boolean {
  let from = start;
  while (from > 0 && start - from < LONGEST_WRITTEN && WRITTEN.test(text[from - 1] as string)) from -= 1;
  for (const { index } of text.slice(from, start).matchAll(BEGINS)) {
    const length = IBAN_LENGTHS.get(text.slice(from + index, from + index + 2).toLowerCase());
    if (
      length !== undefined &&
      holdsUpTo(text.slice(from + index, from + index + LONGEST_WRITTEN), length, end - from - index)
    )
      return true;
  }
  return false;
}

/** Whether a text begins with an account number of so many characters that goes at least so far. */
const holdsUpTo = (text: string, length: number, end: number): boolean => endOf(text, length) >= Math.max(end, 1);

/** Where an account number of so many characters ends that a text begins with; -1 where it begins with none. */
function endOf(text: string, length: number): number {
  let compact = '';
  let at = 0;
  for (; at < text.length && compact.length < length && WRITTEN.test(text[at] as string); at += 1)
    if (/[A-Za-z0-9]/.test(text[at] as string)) compact += text[at];
  return compact.length === length && hasCheckDigits(compact.toLowerCase()) ? at : -1;
}

/** Account numbers (ISO 13616) whose check digits are right, by their place: whole words, in groups or not. In order, in time linear in the text. */
export function* ibansIn(text: string): Generator<readonly [start: number, end: number]> {
  let from = 0;
  for (const { index } of text.matchAll(BEGINS)) {
    const length = IBAN_LENGTHS.get(text.slice(index, index + 2).toLowerCase());
    if (index < from || length === undefined) continue;
    const end = index + endOf(text.slice(index, index + LONGEST_WRITTEN), length);
    if (end < index || /[A-Za-z0-9]/.test(text[end] ?? '')) continue;
    from = end;
    yield [index, end];
  }
}
