import { endOfString } from './json-text.js';

/**
 * Replaces every number that a double cannot hold exactly by a string, so that two texts that differ only in such a number still differ
 * after parsing. For digests; the text must be valid JSON.
 */
export function exactly(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; ) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (character !== MINUS && !isDigit(character)) {
      at += 1;
      continue;
    }
    const start = at;
    while (at < text.length && isOfNumber(text.charCodeAt(at))) at += 1;
    const literal = text.slice(start, at);
    if (isExact(literal)) continue;
    parts.push(text.slice(from, start), JSON.stringify(`number ${literal}`));
    from = at;
  }
  return from === 0 ? text : parts.join('') + text.slice(from);
}

const QUOTE = 0x22;
const MINUS = 0x2d;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isOfNumber = (code: number): boolean => isDigit(code) || '+-.eE'.includes(String.fromCharCode(code));
/** Up to fifteen significant digits survive conversion to a double and back (IEEE 754). */
const isExact = (literal: string): boolean =>
  literal.length <= 15 &&
  Number.isFinite(Number(literal)) &&
  (Number(literal) !== 0 || !/[1-9]/.test(literal.split(/e/i)[0] ?? ''));
