import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { type FaultBench, openBench, pooled } from '../support/kill-host-driver.js';
import { runKillCase } from './kill-case.js';
import { type KillCase, killPointsOf, nameOf } from './kill-points.js';

/** Longer than each wait in a case. */
const CASE_LIMIT_MS = 600_000;
const CASES = killPointsOf('lite');
let bench: FaultBench;
let outcomes: Map<KillCase, Promise<void>>;

beforeAll(async () => {
  bench = await openBench('lite', 'lite-process');
  outcomes = pooled(CASES, 5, (point) => runKillCase(bench, point));
}, 60_000);
afterAll(() => bench.end(), 60_000);

describe("the kill-point table on lite's own process, behind its listener", () => {
  it.each(CASES.map((point) => [nameOf(point), point] as const))(
    '%s',
    async (_name, point) => {
      await outcomes.get(point);
    },
    CASE_LIMIT_MS,
  );
});
