import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Json } from '../contracts/json.js';
import { at } from './json-pointer.js';
import { orderedJson, shownJson, sizeTold } from './shown-json.js';

/** As JSON has it: -0 is written as 0. */
const written = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Json);

describe('JSON for a person to read', () => {
  it('is in canonical order, where it fits', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(shownJson(value, 1_000_000)).toEqual({ text: orderedJson(value), isWhole: true });
      }),
    );
  });

  it('is its beginning where it does not, and says so', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(200), (value, limit) => {
        const text = orderedJson(value);
        expect(shownJson(value, limit)).toEqual({ text: text.slice(0, limit), isWhole: text.length <= limit });
      }),
    );
  });

  it('tells where each value stands, by its pointer, and of what is cut nothing', () => {
    fc.assert(
      fc.property(written, fc.nat(400), (value, limit) => {
        const places = new Map<string, string>();
        const ranges: [string, number, number][] = [];
        const { text } = shownJson(value, limit, (...range) => void ranges.push(range));
        for (const [pointer, from, to] of ranges) {
          expect(to).toBeLessThanOrEqual(text.length);
          places.set(pointer, text.slice(from, to));
        }
        for (const [pointer, shown] of places) expect(JSON.parse(shown)).toEqual(at(value as Json, pointer));
      }),
    );
    const whole: string[] = [];
    shownJson({ 'a/b': ['x', { '~': 1 }], c: null }, 1_000, (pointer) => void whole.push(pointer));
    expect(whole).toEqual(['/a~1b/0', '/a~1b/1/~0', '/a~1b/1', '/a~1b', '/c', '']);
  });

  it.each([
    ['lists in lists', `${'['.repeat(56)}${'[],'.repeat(300_000)}0${']'.repeat(56)}`],
    ['one long text', JSON.stringify({ a: 'x'.repeat(1_000_000) })],
    ['one long name', JSON.stringify({ ['x'.repeat(1_000_000)]: 1 })],
    ['many members', JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, [at]])))],
  ])('costs what is shown of it: %s', (_, json) => {
    const value: unknown = JSON.parse(json);
    let read = 0;
    const counting = (part: unknown): unknown =>
      typeof part === 'object' && part !== null
        ? new Proxy(part, {
            get(target, name) {
              if (name !== 'length') read += 1;
              return counting(Reflect.get(target, name));
            },
          })
        : part;
    expect(shownJson(counting(value), 1_000)).toMatchObject({ isWhole: false });
    expect(read).toBeLessThan(1_100);
    expect(shownJson(value, 1_000).text).toHaveLength(1_000);
  });
});

describe('JSON in canonical order', () => {
  it('has the members of every object sorted, also names that are numbers, and is the same value', () => {
    expect(orderedJson({ b: [{ d: 1, c: null }], 9: {}, 10: [], B: 'x' })).toBe(
      '{\n  "10": [],\n  "9": {},\n  "B": "x",\n  "b": [\n    {\n      "c": null,\n      "d": 1\n    }\n  ]\n}',
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(orderedJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('shows of a long text the beginning, its length and its digest, and a shorter one whole', () => {
    const long = 'x'.repeat(4_001);
    expect(orderedJson({ a: long, b: 'y' }, 4_000)).toBe(
      `{\n  "a": "${'x'.repeat(200)}…" (4,001 characters, sha256 ba07fa666a8a8206d9f000ae3da00c6572e9116bc3ce8b840b5d415ff94113a7),\n  "b": "y"\n}`,
    );
    expect(orderedJson(long.slice(1), 4_000)).toBe(JSON.stringify(long.slice(1)));
    expect(sizeTold('é')).toBe('1 characters, sha256 4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
  });
});
