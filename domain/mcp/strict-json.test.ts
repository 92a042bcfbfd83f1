import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseStrictJson, StrictJsonError } from './strict-json.js';

/** A JSON value with the freedom that JSON text has: objects keep every pair, and strings may be escaped unnecessarily. */
type Written =
  | { readonly kind: 'leaf'; readonly text: string }
  | { readonly kind: 'array'; readonly items: readonly Written[] }
  | { readonly kind: 'object'; readonly pairs: readonly (readonly [key: string, escaped: boolean, value: Written])[] };

const escapedString = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')}"`;
const textOf = (value: Written, blank: string): string => {
  if (value.kind === 'leaf') return value.text;
  if (value.kind === 'array')
    return `[${blank}${value.items.map((item) => textOf(item, blank)).join(`,${blank}`)}${blank}]`;
  const pairs = value.pairs.map(
    ([key, escaped, item]) => `${escaped ? escapedString(key) : JSON.stringify(key)}${blank}:${textOf(item, blank)}`,
  );
  return `{${pairs.join(`${blank},`)}${blank}}`;
};
const repeatsAKey = (value: Written): boolean =>
  value.kind === 'array'
    ? value.items.some(repeatsAKey)
    : value.kind === 'object' &&
      (new Set(value.pairs.map(([key]) => key)).size < value.pairs.length ||
        value.pairs.some(([, , item]) => repeatsAKey(item)));

const poisons = (value: Written): boolean =>
  value.kind === 'array'
    ? value.items.some(poisons)
    : value.kind === 'object' &&
      value.pairs.some(
        ([key, , item]) =>
          (key === 'constructor' && item.kind === 'object' && item.pairs.some(([inner]) => inner === 'prototype')) ||
          poisons(item),
      );

const key = fc.constantFrom('a', 'b', 'name', '', '"', '\\', '{', '}', ',', ':', 'é', '😀', 'constructor', 'prototype');
const written = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc
      .oneof(
        fc.constantFrom(
          'true',
          'false',
          'null',
          '0',
          '-1',
          '1.5',
          '2e3',
          '-0',
          '9007199254740991',
          '"{\\"a\\":1,"',
          '"\\\\"',
          '""',
        ),
        fc
          .string({ unit: 'grapheme' })
          .filter((text) => text.isWellFormed() && !text.includes('\u0000'))
          .map((text) => JSON.stringify(text)),
      )
      .map((text) => ({ kind: 'leaf' as const, text })),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => ({ kind: 'array' as const, items })),
    fc
      .array(fc.tuple(key, fc.boolean(), tie('value')), { maxLength: 4 })
      .map((pairs) => ({ kind: 'object' as const, pairs })),
  ),
})).value;

describe('strict JSON: what is judged must be what runs', () => {
  it('reads what JSON.parse reads, and refuses a text exactly when an object in it repeats a key or a constructor has a prototype', () => {
    fc.assert(
      fc.property(written, fc.constantFrom('', ' ', '\n\t '), (value, blank) => {
        const text = textOf(value, blank);
        if (repeatsAKey(value) || poisons(value))
          expect(() => parseStrictJson(text)).toThrow(/duplicate key|not taken/);
        else expect(parseStrictJson(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('takes no text that JSON.parse does not take', () => {
    const almost = fc.string({ unit: fc.constantFrom(...'{}[]":,\\u0019eE+-. \ntrue'.split('')) });
    fc.assert(
      fc.property(almost, (text) => {
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          expect(() => parseStrictJson(text)).toThrow(StrictJsonError);
          return;
        }
        try {
          expect(parseStrictJson(text)).toEqual(expected);
        } catch (error) {
          expect(error).toBeInstanceOf(StrictJsonError);
        }
      }),
      { numRuns: 1_500 },
    );
  });

  it('gives back every value that JSON can hold exactly', () => {
    const exact = fc.jsonValue().filter((value) => {
      const text = JSON.stringify(value);
      return (
        !text.includes('"__proto__":') &&
        text.isWellFormed() &&
        !/\\u0000|\\ud[89a-f]/.test(text) &&
        !hasUnsafeInteger(value)
      );
    });
    fc.assert(
      fc.property(exact, (value) => {
        expect(parseStrictJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['9007199254740992', /9007199254740992 is not exact/],
    ['-9007199254740992', /not exact/],
    ['[1, {"a": 12345678901234567890}]', /not exact/],
    ['1e400', /out of range/],
    ['-1e999', /out of range/],
    ['1e22', /not exact/],
    ['1.5e300', /not exact/],
    ['9007199254740993.0', /not exact/],
    [String.raw`"\u0000"`, /U\+0000/],
    [String.raw`{"a\u0000b": 1}`, /U\+0000/],
    [String.raw`"\ud800"`, /lone surrogate/],
    [String.raw`"\udc00\ud800"`, /lone surrogate/],
    ['"\ud800"', /lone surrogate/],
    [String.raw`{"\udfff": 1}`, /lone surrogate/],
    [String.raw`{"a": 1, "\u0061": 2}`, /duplicate key "a"/],
    ['{"a": {"b": 1, "b": 1}}', /duplicate key "b"/],
    ['[{"a": 1}, {"a": 1, "a": 2}]', /duplicate key/],
    ['{"": 1, "": 2}', /duplicate key ""/],
    ['{"__proto__": 1}', /"__proto__" is not taken/],
    [String.raw`[{"a":{"\u005f_proto__":{}}}]`, /"__proto__" is not taken/],
    ['{"constructor":{"x":1,"prototype":{}}}', /"prototype" is not taken/],
    ['[{"constructor" : {"prototype" : 1}}]', /"prototype" is not taken/],
    ['', /not JSON/],
    ['{"a":1}}', /not JSON/],
    ["{'a':1}", /not JSON/],
    ['{"a":1,}', /not JSON/],
    ['01', /not JSON/],
    ['NaN', /not JSON/],
    ['\u00a0{}', /not JSON/],
  ])('refuses %s', (text, why) => {
    expect(() => parseStrictJson(text)).toThrow(why);
    expect(() => parseStrictJson(text)).toThrow(StrictJsonError);
  });

  it.each([
    '9007199254740991',
    '-9007199254740991',
    '0.1',
    '1e3',
    '-0',
    String.raw`"\ud83d\ude00"`,
    '"😀"',
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
    String.raw`{"a":"\"b\":1,\"b\":2"}`,
    String.raw`{"\\":1,"\"":2}`,
    '{"constructor":1,"prototype":{"constructor":{}}}',
    '{"constructor":[{"prototype":1}]}',
    '{"constructor":{"a":{"prototype":1}}}',
    '["__proto__",{"a":"__proto__"}]',
  ])('takes %s', (text) => {
    expect(parseStrictJson(text)).toEqual(JSON.parse(text));
  });

  it('takes 64 levels and refuses one more', () => {
    const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    expect(parseStrictJson(nested(64))).toBeDefined();
    expect(() => parseStrictJson(`[${nested(64)}]`)).toThrow(/64 levels/);
  });

  it('says which key, cut to a length that fits an answer', () => {
    const long = 'k'.repeat(10_000);
    const refused = () => parseStrictJson(`{"${long}":1,"${long}":2}`);
    expect(refused).toThrow(`duplicate key "${'k'.repeat(64)}"`);
  });

  it('is linear: a megabyte of quotes, escapes or brackets is judged at once', () => {
    const megabyte = 1_000_000;
    const texts = [
      `"${'\\\\'.repeat(megabyte / 2)}"`,
      `[${'""'.repeat(1)}${',""'.repeat(megabyte / 3)}]`,
      `{${Array.from({ length: megabyte / 12 }, (_, index) => `"k${index}":1`).join(',')}}`,
      `"${'a'.repeat(megabyte)}"`,
    ];
    for (const text of texts) expect(parseStrictJson(text)).toEqual(JSON.parse(text));
  });
});

function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeInteger);
}
