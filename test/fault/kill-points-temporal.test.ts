import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ENGINE_START_LIMIT_MS } from '../support/engine.js';
import { type FaultBench, openBench, pooled } from '../support/kill-host-driver.js';
import { runKillCase } from './kill-case.js';
import { type KillCase, killPointsOf, nameOf } from './kill-points.js';

/** Longer than each wait in a case. */
const CASE_LIMIT_MS = 600_000;
const CASES = killPointsOf('temporal');
let bench: FaultBench;
let outcomes: Map<KillCase, Promise<void>>;

beforeAll(async () => {
  bench = await openBench('temporal');
  // Cases mostly wait for time-outs of the host: several run at a time, each is awaited by its own test.
  outcomes = pooled(CASES, 6, (point) => runKillCase(bench, point));
}, ENGINE_START_LIMIT_MS);
afterAll(() => bench.end(), 60_000);

describe('the kill-point table on the Temporal host', () => {
  it.each(CASES.map((point) => [nameOf(point), point] as const))(
    '%s',
    async (_name, point) => {
      await outcomes.get(point);
    },
    CASE_LIMIT_MS,
  );
});
