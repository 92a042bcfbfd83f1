import { describe, expect, it } from '@jest/globals';
import { oneAtATime, placesFor } from './one-at-a-time.js';

describe('work of which one runs at a time', () => {
  it('says to the next one for how long it goes on, and lets it in afterwards, also after a fault', async () => {
    let now = 0;
    const inTurn = oneAtATime(
      (secs) => `for ${secs} s`,
      () => now,
    );
    let fail: (error: Error) => void = () => undefined;
    const first = inTurn('acme', () => new Promise((_, reject) => (fail = reject)));
    now = 42_300;
    const again = inTurn('acme', () => Promise.resolve('again'));
    await expect(again).rejects.toMatchObject({ code: 'rate_limited', message: 'for 42 s' });
    expect(await inTurn('globex', () => Promise.resolve('theirs'))).toBe('theirs');
    fail(new Error('lost'));
    await expect(first).rejects.toThrow('lost');
    expect(await inTurn('acme', () => Promise.resolve('again'))).toBe('again');
  });
});

describe('places of each name', () => {
  it('are so many; one that is given back twice is one', () => {
    const take = placesFor(2, 'full');
    const [first] = [take('ana'), take('ana')];
    expect(() => take('ana')).toThrow('full');
    take('ben');
    first?.();
    first?.();
    take('ana');
    expect(() => take('ana')).toThrow('full');
  });
});
