import { describe, expect, it, jest } from '@jest/globals';
import { beyond, concerns, type Hold, LONGEST_URI, MOST_HOLDS, MOST_PER_AGENT } from './held-subscriptions.js';

const hold = (at: number, uri = `test://${at}`): Hold => ({ id: `${at}`, holder: `holder-${at}`, uri });
const many = (count: number, uri: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => hold(at, uri(at)));

describe('what an agent holds too many', () => {
  it('are its oldest resources, with every hold of each', () => {
    const most = many(MOST_PER_AGENT, (at) => `test://${at}`);
    expect(beyond(most)).toEqual([]);
    const again = hold(500, 'test://0');
    expect(beyond([...most, again])).toEqual([]);
    expect(beyond([...most, again, hold(501)])).toEqual([most[0], again]);
  });

  it('are the oldest holds, where clients that never end their sessions leave the same ones', () => {
    const most = many(MOST_HOLDS, (at) => `test://${at % 10}`);
    expect(beyond(most)).toEqual([]);
    expect(beyond([...most, hold(MOST_HOLDS, 'test://0')])).toEqual([most[0]]);
  });
});

describe('what an upstream says of a resource', () => {
  it.each([
    ['test://a', 'test://a'],
    ['test://a/b', 'test://a'],
    ['test://a#line-3', 'test://a'],
    ['file:///home/a', 'file:///home/'],
    ['http://example.com/', 'http://Example.com'],
    ['http://example.com/a', 'http://example.com:80/a'],
    ['no uri', 'no uri'],
  ])('%s concerns who subscribed to %s', (updated, subscribed) => {
    expect(concerns(updated, ['test://other', subscribed])).toBe(true);
  });

  it.each([
    ['test://ab', 'test://a'],
    ['test://a', 'test://a/b'],
    ['test://b', 'test://a'],
    ['file:///home/a', 'file:///homes/'],
  ])('%s does not concern who subscribed to %s', (updated, subscribed) => {
    expect(concerns(updated, ['test://other', subscribed])).toBe(false);
  });

  it('is none where its address is longer than any that is held', () => {
    const held = `test://${'a'.repeat(LONGEST_URI - 7)}`;
    expect([concerns(held, [held]), concerns(`${held}/`, [held])]).toEqual([true, false]);
  });

  it('is read once, and each address that is held once, however often it is said', () => {
    const held = Array.from({ length: 100 }, (_, at) => `http://held-${at}.example/`);
    const read = jest.spyOn(URL, 'canParse');
    try {
      for (let said = 0; said < 50; said += 1) {
        expect(concerns('http://said.example/a', held)).toBe(false);
        // No host has such a name: it is compared as it is.
        expect(concerns(`http://${'\u00e9'.repeat(2_000)}/`, held)).toBe(false);
      }
      expect(read).toHaveBeenCalledTimes(101);
    } finally {
      read.mockRestore();
    }
  });
});
