import { describe, expect, it } from '@jest/globals';
import { startSweep } from './sweep.js';
import { eventually, timePasses } from '../test/support/waiting.js';

const nothingMore = () => timePasses(5, 'another run would come');

describe('a sweep', () => {
  it('runs at once and again after each end, also after a failure, which is told', async () => {
    let runs = 0;
    const faults: unknown[] = [];
    const sweep = startSweep(
      1,
      async () => {
        runs += 1;
        if (runs === 2) throw new Error('once');
      },
      (error) => faults.push(error),
    );
    await eventually('four runs', () => runs >= 4);
    await sweep.stop();
    expect(faults).toEqual([new Error('once')]);
    const before = runs;
    await nothingMore();
    expect(runs).toBe(before);
  });

  it('waits for the run under way when it is stopped, and never runs two', async () => {
    let running = 0;
    let most = 0;
    let finish: (() => void) | undefined;
    const sweep = startSweep(
      1,
      async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => (finish = resolve));
        running -= 1;
      },
      () => {},
    );
    await eventually('a run', () => finish);
    const stopped = sweep.stop();
    finish?.();
    await stopped;
    expect([running, most]).toEqual([0, 1]);
  });

  it('does not run with an interval of 0', async () => {
    let runs = 0;
    const sweep = startSweep(
      0,
      async () => void (runs += 1),
      () => {},
    );
    await nothingMore();
    await sweep.stop();
    expect(runs).toBe(0);
  });
});
