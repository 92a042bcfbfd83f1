import { describe, expect, it } from '@jest/globals';
import { faultIn, readingNoFact } from './validation.js';

const check = async (body: string) => {
  const { fault } = await faultIn(
    { name: 'a.json', content_type: 'json', body },
    { check: () => Promise.reject(new Error('a document needs no compiler')) },
    {},
    { parametersOf: async () => null },
  );
  return fault?.message ?? null;
};
const lists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

describe('a policy that Gate would not take', () => {
  const faultOf = async (name: string, body: string) => {
    const { fault } = await faultIn(
      { name, content_type: 'json', body },
      { check: () => Promise.reject(new Error('a document needs no compiler')) },
      {},
      { parametersOf: async () => null },
    );
    return fault?.message ?? null;
  };
  const ofLength = (length: number): string => `"${'x'.repeat(length - 2)}"`;

  it('is one with a name that is too long, or with two dots in it', async () => {
    expect(await faultOf(`${'a'.repeat(123)}.json`, '{}')).toBeNull();
    expect(await faultOf(`${'a'.repeat(124)}.json`, '{}')).toMatch(/^the name a+\.json: .*128/);
    expect(await faultOf('a..b.json', '{}')).toBe('the name a..b.json: has no /, \\ or .. and is not empty');
  });

  it('is one with a text of more than a mebibyte', async () => {
    expect(await faultOf('a.json', `[${ofLength(1_048_574)}]`)).toBeNull();
    expect(await faultOf('a.json', `[${ofLength(1_048_575)}]`)).toMatch(/^the text: .*1048576/);
  });
});

describe('a document', () => {
  it('has a hundred levels at most, of lists and of objects', async () => {
    for (const nested of [lists, objects]) {
      expect(await check(nested(100))).toBeNull();
      for (const levels of [101, 2_500, 150_000])
        expect(await check(nested(levels))).toBe('a document has 100 levels at most');
    }
    expect(await check(`{"a": ${lists(99)}, "b": ${lists(100)}}`)).toBe('a document has 100 levels at most');
  });

  it.each(['{"most": 1e400}', '[[-1e309]]', '{"a": {"b": [1, 2e999]}}'])(
    'holds no number beyond what numbers hold: %s',
    async (body) => {
      expect(await check(body)).toBe('a number is beyond what numbers hold');
    },
  );

  it.each([
    ['{"most": 100, "most": 1000000000}', 'duplicate'],
    ['{"most": 9007199254740993}', 'double'],
    [String.raw`{"a": "\u0000"}`, 'U+0000'],
  ])('says what people read of it otherwise than rules do: %s', async (body, why) => {
    expect(await check(body)).toMatch(
      new RegExp(`^people may read it otherwise than rules: .*${why.replace('+', '.')}`),
    );
  });

  it.each([
    ['a text', String.raw`{"a": "\ud800"}`],
    ['the other half', String.raw`{"a": "\udc00 x"}`],
    ['a text in a list', String.raw`{"a": [1, ["x\ud83d"]]}`],
    ['a name', String.raw`{"a": {"\ud800": 1}}`],
  ])('holds no half of a surrogate pair: %s', async (_where, body) => {
    expect(await check(body)).toBe('it holds half of a surrogate pair, which no rule can read');
  });

  it('may hold a whole one, and every other character', async () => {
    expect(await check(String.raw`{"a": "\ud83d\ude00 \u0001", "\ud83d\ude00": null}`)).toBeNull();
  });
});

describe('a rule that reads of a call', () => {
  it('what every call has, or what the engine finds in it, is told nothing', () => {
    expect(
      readingNoFact([
        { name: 'tool_type', line: 3 },
        { name: 'sql', line: 4 },
      ]),
    ).toEqual([]);
  });

  it('what no call has is told where, and what may be meant', () => {
    expect(
      readingNoFact([
        { name: 'tool', line: 3 },
        { name: 'zzz', line: 9 },
      ]),
    ).toEqual([
      'line 3 reads input.tool, which no call has (input.tool_type, input.tool_classes?): what needs it never holds',
      'line 9 reads input.zzz, which no call has: what needs it never holds',
    ]);
  });
});
