import { describe, expect, it } from '@jest/globals';
import { eventually } from '../test/support/waiting.js';
import { GateError } from './errors.js';
import { createRepeated } from './repeated.js';

function repeated(works: readonly (Error | null)[], { everyMs = 1, longestPauseMs = 1 } = {}) {
  const told: (string | null)[] = [];
  const began: number[] = [];
  const it = createRepeated({
    work: async () => {
      const fault = works[began.length];
      began.push(performance.now());
      if (fault) throw fault;
    },
    everyMs,
    longestPauseMs,
    onFault: (reason) => void told.push(reason),
  });
  return { ...it, told, began };
}
async function toldOf(...works: (Error | null)[]) {
  const { once, told } = repeated(works);
  for (const _ of works) await once();
  return told;
}

describe('work that is done again and again', () => {
  it('is told of once per fault, and once when it is over', async () => {
    const away = new Error('nobody answers');
    expect(await toldOf(null, away, away, null, null, away)).toEqual(['nobody answers', null, 'nobody answers']);
  });

  it('is told of once where only numbers in the text differ', async () => {
    expect(await toldOf(new Error('no answer within 17 ms'), new Error('no answer within 2031 ms'), null)).toEqual([
      'no answer within 17 ms',
      null,
    ]);
  });

  it('is told of again where another fault takes the place of the first', async () => {
    expect(await toldOf(new Error('nobody answers'), new Error('it refuses this certificate'), null)).toEqual([
      'nobody answers',
      'it refuses this certificate',
      null,
    ]);
  });

  it('is told of again where another fault has the same code, or the same text another code', async () => {
    const away = (text: string) => new GateError('control_state_unavailable', text);
    expect(
      await toldOf(away('no answer within 17 ms'), away('no answer within 2031 ms'), away('it answered 503'), null),
    ).toEqual(['no answer within 17 ms', 'it answered 503', null]);
    expect(await toldOf(away('a'), new GateError('not_found', 'a'), new Error('a'))).toEqual(['a', 'a', 'a']);
  });

  it('goes on where whoever is told throws, and tells it again', async () => {
    const told: (string | null)[] = [];
    const away = new Error('nobody answers');
    const works = [away, away, null, null, away];
    let runs = 0;
    const { begin, stop } = createRepeated({
      work: async () => {
        const fault = works[runs++];
        if (fault) throw fault;
      },
      everyMs: 1,
      onFault(reason) {
        told.push(reason);
        if (told.length % 2 === 1) throw new Error('the log is full');
      },
    });
    begin();
    await eventually('it ran six times', () => runs >= 6);
    await stop();
    expect(told.slice(0, 5)).toEqual(['nobody answers', 'nobody answers', null, null, 'nobody answers']);
  });

  it('goes on after a failure, with a longer pause after each in a row', async () => {
    const away = new Error('nobody answers');
    const { begin, stop, began } = repeated([away, away, away, null, null], { everyMs: 20, longestPauseMs: 80 });
    begin();
    await eventually('it ran five times', () => began.length >= 5);
    await stop();
    const pauses = began.slice(1).map((at, n) => at - (began[n] as number));
    // A timer may be late, and never early by more than a millisecond.
    for (const [n, least] of [40, 80, 80, 20].entries()) expect(pauses[n]).toBeGreaterThanOrEqual(least - 1);
  });

  it('never runs twice at once, and not after it was stopped, when nothing is told either', async () => {
    const told: (string | null)[] = [];
    let [running, most, runs] = [0, 0, 0];
    let fail: () => void = () => undefined;
    const { begin, once, stop } = createRepeated({
      work: () => {
        running += 1;
        runs += 1;
        most = Math.max(most, running);
        return new Promise((_, reject) => {
          fail = () => {
            running -= 1;
            reject(new Error(`end ${'x'.repeat(runs)}`));
          };
        });
      },
      everyMs: 1,
      onFault: (reason) => void told.push(reason),
    });
    const both = [once(), once()];
    await eventually('the first runs', () => runs === 1);
    fail();
    await eventually('the second runs', () => runs === 2);
    const stopped = stop();
    fail();
    await Promise.all([...both, stopped]);
    begin();
    await once();
    expect([most, runs, told]).toEqual([1, 2, ['end x']]);
  });
});
