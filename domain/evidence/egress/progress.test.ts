import { describe, expect, it } from '@jest/globals';
import { afterSweep, type StreamProgress } from './progress.js';

const at = (change: Partial<StreamProgress> = {}): StreamProgress => ({
  cursor: 10,
  failures: 0,
  limit: 100,
  last_error: null,
  ...change,
});
const failed = (rejected: boolean, rows: number) =>
  ({ delivered: false, rejected, rows, first_seq: rows > 0 ? 11 : null, error: 'no', lag: 50 }) as const;

describe('the progress of a stream', () => {
  it('moves behind what was confirmed and forgets earlier failures; more rows are sent at once', () => {
    const before = at({ failures: 3, limit: 25, last_error: 'no' });
    const sweep = { delivered: true, cursor: 35, rows: 25, lag: 7 } as const;
    expect(afterSweep(before, sweep, 100)).toEqual({ progress: at({ cursor: 35, limit: 50 }), atOnce: true });
    expect(afterSweep(before, { ...sweep, lag: 0 }, 30)).toEqual({
      progress: at({ cursor: 35, limit: 30 }),
      atOnce: false,
    });
  });

  it('stays where it is when the sink or the ledger failed', () => {
    expect(afterSweep(at(), failed(false, 100), 100)).toEqual({
      progress: at({ failures: 1, last_error: 'no' }),
      atOnce: false,
    });
    expect(afterSweep(at({ failures: 1 }), failed(false, 0), 100).progress.failures).toBe(2);
  });

  it('halves a batch that was rejected until one row stands alone, which then holds it', () => {
    let progress = at();
    const sizes: number[] = [];
    for (let turns = 0; turns < 20; turns += 1) {
      const next = afterSweep(progress, failed(true, progress.limit), 100);
      progress = next.progress;
      sizes.push(progress.limit);
      if (!next.atOnce) break;
    }
    expect(sizes).toEqual([50, 25, 12, 6, 3, 1, 1]);
    expect(progress).toMatchObject({ cursor: 10, failures: 1, last_error: 'no to entry 11' });
    // A batch may be smaller than its limit, because rows are filtered out or large.
    expect(afterSweep(at(), failed(true, 4), 100).progress.limit).toBe(2);
  });
});
