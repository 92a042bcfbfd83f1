import { describe, expect, it } from '@jest/globals';
import { rowAppender } from './row-appender.js';

/** A ledger that takes rows at once or not, and a slow road that ends when the test says how. */
function ledger(takes = true) {
  const told: string[] = [];
  const ends: ((appended: boolean) => void)[] = [];
  const state = { takes };
  const rows = rowAppender({
    now() {
      told.push('now');
      return Promise.resolve(state.takes);
    },
    later() {
      told.push('later');
      return new Promise((resolve) => ends.push(resolve));
    },
  });
  const end = (appended = true) => {
    ends.shift()?.(appended);
    return new Promise((resolve) => setImmediate(resolve));
  };
  return { rows, told, state, end };
}

describe('the rows of a call, which both hosts bring to the ledger by this order', () => {
  it('go now where the ledger takes them', async () => {
    const { rows, told } = ledger();
    await rows.append({});
    await rows.append({});
    expect(told).toEqual(['now', 'now']);
    expect(rows.allTaken()).toBe(true);
    await rows.drained();
  });

  it('go later where it does not; the call waits for that at its end only', async () => {
    const { rows, told, end } = ledger(false);
    await rows.append({});
    expect(told).toEqual(['now', 'later']);
    expect(rows.allTaken()).toBe(false);
    let drained = false;
    const waiting = rows.drained().then(() => (drained = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(drained).toBe(false);
    await end();
    await waiting;
    expect(rows.allTaken()).toBe(true);
  });

  it('that came while the slow road was under way go by it once more, in one piece', async () => {
    const { rows, told, end } = ledger(false);
    await rows.append({});
    await rows.append({});
    await rows.append({});
    expect(told).toEqual(['now', 'later']);
    await end();
    expect(told).toEqual(['now', 'later', 'later']);
    await end();
    await rows.drained();
    expect(told).toEqual(['now', 'later', 'later']);
  });

  it('are tried anew after the slow road ended', async () => {
    const { rows, told, state, end } = ledger(false);
    await rows.append({});
    await end();
    state.takes = true;
    await rows.append({});
    expect(told).toEqual(['now', 'later', 'now']);
  });

  it('that a step has tried itself are not tried again: taken they are done, not taken they go later', async () => {
    const { rows, told, end } = ledger();
    rows.tried(true);
    await rows.append({});
    expect(told).toEqual([]);
    rows.tried(false);
    await rows.append({});
    expect(told).toEqual(['later']);
    await end();
    // A step speaks for the next append, and for no other.
    await rows.append({});
    expect(told).toEqual(['later', 'now']);
  });

  it('that were given up are still due, and the call ends all the same', async () => {
    const { rows, end } = ledger(false);
    await rows.append({});
    await end(false);
    await rows.drained();
    expect(rows.allTaken()).toBe(false);
  });
});
