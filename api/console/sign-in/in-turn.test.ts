import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/waiting.js';
import { inFairTurn, inTurnFor, oneAfterTheOther } from './in-turn.js';

/** Work that ends when the test says so, and a list of what began. */
function works() {
  const began: string[] = [];
  const ends = new Map<string, (failed?: Error) => void>();
  const work = (name: string) => (): Promise<string> => {
    began.push(name);
    return new Promise((done, fail) => ends.set(name, (failed) => (failed ? fail(failed) : done(name))));
  };
  return { began, work, end: (name: string, failed?: Error) => ends.get(name)?.(failed) };
}
const PATIENT = { turnMs: 3_600_000, waitMs: 3_600_000 };
const HASTY = { turnMs: 100, waitMs: 150 };

describe('work that is done one after the other', () => {
  it('begins when the one before it ended, also where that one failed', async () => {
    const { began, work, end } = works();
    const inTurn = oneAfterTheOther(PATIENT);
    const [one, two] = [inTurn(work('one')), inTurn(work('two'))];
    await new Promise(setImmediate);
    expect(began).toEqual(['one']);
    end('one', new Error('broken'));
    await expect(one).rejects.toThrow('broken');
    await new Promise(setImmediate);
    expect(began).toEqual(['one', 'two']);
    end('two');
    expect(await two).toBe('two');
  });

  it('gives its turn up when it does not end, goes on by itself, and the next one begins', async () => {
    const { began, work, end } = works();
    const inTurn = oneAfterTheOther(HASTY);
    const hung = inTurn(work('hung'));
    const next = inTurn(work('next'));
    await eventually('the next one begins', () => began.includes('next'));
    end('next');
    expect(await next).toBe('next');
    end('hung');
    expect(await hung).toBe('hung');
  });

  it('is refused, and never begun, where no turn comes in time', async () => {
    const { began, work, end } = works();
    const inTurn = oneAfterTheOther(HASTY);
    const hung = inTurn(work('hung'));
    const [first, second] = [inTurn(work('first')), inTurn(work('second'))];
    await expect(second).rejects.toMatchObject({ code: 'sign_in_busy', status: 503 });
    await eventually('the first one begins', () => began.includes('first'));
    // Whoever comes now waits for that one, and not for the one that was refused.
    const later = inTurn(work('later'));
    end('first');
    expect(await first).toBe('first');
    await eventually('the later one begins', () => began.includes('later'));
    end('later');
    expect(await later).toBe('later');
    end('hung');
    await hung;
    expect(began).toEqual(['hung', 'first', 'later']);
  });

  it('waits for its own key alone', async () => {
    const { began, work, end } = works();
    const inTurn = inTurnFor(PATIENT);
    const [one, two, other] = [inTurn('a', work('one')), inTurn('a', work('two')), inTurn('b', work('other'))];
    await new Promise(setImmediate);
    expect(began.sort()).toEqual(['one', 'other']);
    for (const name of ['one', 'other']) end(name);
    await Promise.all([one, other]);
    await new Promise(setImmediate);
    end('two');
    expect(await two).toBe('two');
  });

  it('waits for one turn of another key, whatever that one wants', async () => {
    const { began, work, end } = works();
    const inTurn = inFairTurn(PATIENT);
    const names = ['a1', 'a2', 'a3', 'b1'] as const;
    const done = names.map((name) => inTurn(name.slice(0, 1), work(name)));
    for (const [over, next] of [
      ['a1', 'b1'],
      ['b1', 'a2'],
      ['a2', 'a3'],
    ] as const) {
      await eventually('the one before it began', () => began.at(-1) === over);
      end(over);
      await eventually('it begins', () => began.at(-1) === next);
    }
    end('a3');
    expect(await Promise.all(done)).toEqual(names);
  });
});
