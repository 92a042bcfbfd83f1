import { describe, expect, it, jest } from '@jest/globals';
import { within } from './within.js';

const late = () => new Error('late');

describe('work within a time', () => {
  it('comes to what it comes to, also to its own fault', async () => {
    expect(await within(60_000, Promise.resolve(1), late)).toBe(1);
    await expect(within(60_000, Promise.reject(new Error('own fault')), late)).rejects.toThrow('own fault');
  });

  it('is given up when it is late, and what it comes to then troubles nobody', async () => {
    let fail: (error: Error) => void = () => undefined;
    const work = new Promise<never>((_, reject) => (fail = reject));
    await expect(within(1, work, late)).rejects.toThrow('late');
    fail(new Error('afterwards'));
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('sets no timer for work that is done within its turn', async () => {
    const set = jest.spyOn(globalThis, 'setTimeout');
    try {
      await within(
        60_000,
        Promise.resolve().then(() => 1),
        late,
      );
      await new Promise((resolve) => setImmediate(resolve));
      expect(set).not.toHaveBeenCalled();
    } finally {
      set.mockRestore();
    }
  });
});
