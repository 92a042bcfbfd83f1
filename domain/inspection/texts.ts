import type { Json, JsonObject } from '../../contracts/json.js';
import { errorText } from '../errors.js';
import { type DecodingBounds, deciphered } from './ciphers.js';
import { decodeEscapes, reversed } from './escapes.js';
import { type Skeletons, skeletonsOf, type Span } from '../skeleton.js';

/** `strict` decodes base64, hex and ROT13 twice and sixteen times as much of them. */
export type HeuristicLevel = 'standard' | 'strict';

/** One text of a request: a string value or an object key, or text decoded from one. */
export interface RequestText {
  readonly text: string;
  readonly role: 'key' | 'value';
  /** The nearest object key above it, as written; items of a list have the key of the list. */
  readonly key: string;
  /** Decoded from another text (escapes, percent-encoding, JSON in a string, hidden characters, base64, hex, ROT13). */
  readonly decoded: boolean;
  /** Decoded from something people cannot see or read: invisible characters, reversed text, base64, hex, ROT13. */
  readonly hidden?: boolean;
}

export interface InspectedTexts extends Skeletons {
  readonly texts: readonly RequestText[];
}

/**
 * Every string of `params`, including keys, at every level, together with the text hidden in it, and its plain form. Linear in the size of
 * `params`.
 */
export function inspectTexts(params: JsonObject, level: HeuristicLevel): InspectedTexts {
  const found = stringsOf(params, '');
  const texts: RequestText[] = [];
  const coded: RequestText[] = [];
  for (const text of found) {
    const inside = textsInside(text, level);
    texts.push(text);
    for (const hidden of inside.hidden) texts.push(hidden);
    for (const decoded of inside.coded) coded.push(decoded);
  }
  // Behind all others: what is written in code stands between no two texts that say something together.
  for (const decoded of coded) texts.push(decoded);
  return { texts, ...skeletonsOf(texts.map(({ text }) => text)) };
}

/** One text as it is written, and the texts hidden in it. */
export function readingsOf(text: string, level: HeuristicLevel): string[] {
  const source: RequestText = { text, role: 'value', key: '', decoded: false };
  const { hidden, coded } = textsInside(source, level);
  return [text, ...hidden.map((one) => one.text), ...coded.map((one) => one.text)];
}

/** The strings of a text that is JSON; none of any other. */
export const stringsWithin = (text: string): string[] =>
  looksLikeJson(text) ? jsonIn(text, '').map((inner) => inner.text) : [];

/** The text that a part of the plain words came from; null when the part spans two texts. */
export function textAt(inspected: InspectedTexts, part: Span): { text: RequestText; span: Span } | null {
  let low = 0;
  let high = inspected.spans.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const span = inspected.spans[middle] as Span;
    if (part.start < span.start) high = middle - 1;
    else if (part.start >= span.end - 1) low = middle + 1;
    else return part.end <= span.end ? { text: inspected.texts[middle] as RequestText, span } : null;
  }
  return null;
}

/**
 * Keys in RFC 8785 order, so that requests with one digest give the same text: a replay from the ledger is judged like the request. Not
 * recursive, so that a deep value cannot overflow the stack.
 */
function stringsOf(value: Json, key: string, decoded = false): RequestText[] {
  const found: RequestText[] = [];
  const stack: { value: Json; key: string; isKey?: boolean }[] = [{ value, key }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next.value === 'string') {
      if (next.value !== '')
        found.push({ text: next.value, role: next.isKey ? 'key' : 'value', key: next.key, decoded });
    } else if (Array.isArray(next.value)) {
      for (let index = next.value.length - 1; index >= 0; index -= 1)
        stack.push({ value: next.value[index] as Json, key: next.key });
    } else if (next.value !== null && typeof next.value === 'object') {
      const names = Object.keys(next.value).sort();
      for (let index = names.length - 1; index >= 0; index -= 1) {
        const name = names[index] as string;
        stack.push({ value: next.value[name] as Json, key: name }, { value: name, key: name, isKey: true });
      }
    }
  }
  return found;
}

const TAG = /<[^<>]{0,256}>/g;
const HIDES = /[\\%&<\u202e\u202d\u2067]|\udb40|[\ufe00-\ufe0f]/;
const REVERSED = /[\u202e\u202d\u2067]/;
const TAG_CHARACTER = /[\u{e0020}-\u{e007e}]/gu;
const VARIATION_SELECTOR = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Longer runs are pictures and archives. */
const MAX_BASE64 = 2_000_000;
const SPACE = 0x20;
/** What of one text is decoded; the rest of a longer one is data. */
const DECODED: Readonly<Record<HeuristicLevel, DecodingBounds>> = {
  standard: { most: 65_536, levels: 1 },
  strict: { most: 1_048_576, levels: 2 },
};

/** What is hidden in a text, and what is written in code in it or in the strings of its JSON. */
function textsInside(
  source: RequestText,
  level: HeuristicLevel,
): { readonly hidden: readonly RequestText[]; readonly coded: readonly RequestText[] } {
  const { text } = source;
  const hidden: RequestText[] = [];
  const coded: RequestText[] = [];
  const decode = (from: RequestText): void => {
    for (const said of deciphered(from.text, DECODED[level]))
      if (said !== '' && said !== from.text) coded.push({ ...from, text: said, decoded: true, hidden: true });
  };
  const add = (decodedText: string, unseen = false): void => {
    if (decodedText !== '' && decodedText !== text)
      hidden.push({ ...source, text: decodedText, decoded: true, ...(unseen && { hidden: true }) });
  };
  if (looksLikeJson(text)) {
    for (const inner of jsonIn(text, source.key)) {
      hidden.push(inner);
      if (inner.text !== text) decode(inner);
      if (HIDES.test(inner.text)) hidden.push({ ...inner, text: decodeEscapes(inner.text) });
    }
  }
  if (HIDES.test(text)) {
    const decoded = decodeEscapes(text);
    add(decoded);
    if (decoded.includes('<')) add(decoded.replace(TAG, ''));
    if (REVERSED.test(text)) add(reversed(text), true);
    add(
      smuggled(text, TAG_CHARACTER, (point) => point - 0xe0000),
      true,
    );
    add(
      smuggled(text, VARIATION_SELECTOR, (point) => (point >= 0xe0100 ? point - 0xe0100 + 16 : point - 0xfe00)),
      true,
    );
  }
  decode(source);
  return { hidden, coded };
}

const looksLikeJson = (text: string): boolean => {
  const first = text.charCodeAt(0);
  return first === 0x7b || first === 0x5b || first === 0x22 || (first <= SPACE && /^\s*[[{"]/.test(text));
};

/** The strings of JSON inside a string, one level deep. Text that only looks like JSON hides nothing. */
function jsonIn(text: string, key: string): RequestText[] {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    // Nesting too deep for the parser is no JSON either. The raw text is judged in any case.
    if (error instanceof SyntaxError || error instanceof RangeError) return [];
    throw new Error(`cannot read JSON in a string: ${errorText(error)}`, { cause: error });
  }
  return stringsOf(value, key, true);
}

/** Bytes written in invisible characters: tag characters carry ASCII, variation selectors carry bytes. */
function smuggled(text: string, pattern: RegExp, byteOf: (point: number) => number): string {
  const found = text.match(pattern);
  if (found === null || found.length < 4) return '';
  return Buffer.from(found.map((one) => byteOf(one.codePointAt(0) as number))).toString('utf8');
}

/** The text that base64 stands for; `null` where its bytes are none. */
export function textInBase64(base64: string): string | null {
  if (base64.length > MAX_BASE64) return null;
  try {
    const text = UTF8.decode(Buffer.from(base64, 'base64'));
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}
