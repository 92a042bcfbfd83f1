import { expect, it } from '@jest/globals';
import { backOffMs } from './back-off.js';

it('waits the interval, then twice as long with each failure, five minutes at most unless the interval is longer', () => {
  expect([0, 1, 2, 3, 4, 5, 60, 5_000].map((failures) => backOffMs(30_000, failures))).toEqual([
    30_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000,
  ]);
  expect([0, 1, 5].map((failures) => backOffMs(600_000, failures))).toEqual([600_000, 600_000, 600_000]);
});
