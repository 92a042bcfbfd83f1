import { describe, expect, it } from '@jest/globals';
import { keptAnswers } from './kept.js';

describe('an answer that costs much', () => {
  const opened = () => {
    const state = { now: 0, asked: 0 };
    const kept = keptAnswers(30_000, () => state.now);
    const ask = (key: readonly unknown[], answer: () => Promise<number> = () => Promise.resolve(state.asked)) =>
      kept(key, () => {
        state.asked += 1;
        return answer();
      });
    return { state, ask };
  };

  it('is asked for once by many, at once and soon after, and anew later', async () => {
    const { state, ask } = opened();
    expect(await Promise.all([ask(['acme', 1]), ask(['acme', 1])])).toEqual([1, 1]);
    state.now = 29_999;
    expect(await ask(['acme', 1])).toBe(1);
    state.now = 30_000;
    expect(await ask(['acme', 1])).toBe(2);
  });

  it('is asked for anew after a clock was set back', async () => {
    const { state, ask } = opened();
    state.now = 3_600_000;
    expect(await ask(['acme'])).toBe(1);
    state.now = 0;
    expect(await ask(['acme'])).toBe(2);
  });

  it('is nobody else’s: another tenant and another question are asked by themselves', async () => {
    const { ask } = opened();
    expect(await ask(['acme', 1])).toBe(1);
    expect(await ask(['globex', 1])).toBe(2);
    expect(await ask(['acme', 2])).toBe(3);
  });

  it('is asked for again where there was none', async () => {
    const { state, ask } = opened();
    await expect(ask(['acme'], () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await ask(['acme'])).toBe(2);
    expect(state.asked).toBe(2);
  });
});
