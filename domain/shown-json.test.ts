import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { shownJson } from './shown-json.js';

const whole = (value: unknown) => JSON.stringify(value, null, 2);

describe('JSON for a person to read', () => {
  it('is what JSON.stringify writes, where it fits', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(shownJson(value, 1_000_000)).toEqual({ text: whole(value), isWhole: true });
      }),
    );
  });

  it('is its beginning where it does not, and says so', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(200), (value, limit) => {
        const text = whole(value);
        expect(shownJson(value, limit)).toEqual({ text: text.slice(0, limit), isWhole: text.length <= limit });
      }),
    );
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
