import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { ENGINE_START_LIMIT_MS } from '../support/engine.js';
import { type FaultBench, type HostKind, openBench, pooled } from '../support/kill-host-driver.js';
import { batchesOf, playTogether } from './kill-case.js';
import { type KillCase, killPointsOf, nameOf } from './kill-points.js';

/** Longer than each wait in a case. */
const CASE_LIMIT_MS = 600_000;

/**
 * The kill-point table of one host. A process plays several cases and dies once, when each call is at its point; `width` of them run at a
 * time, because they mostly wait for time-outs. Cases whose calls were still on their way then are played again.
 */
export function describeKillPoints(what: string, kind: HostKind, width: number, program?: 'lite-process'): void {
  const cases = killPointsOf(kind);
  const batches = batchesOf(cases);
  let bench: FaultBench;
  let outcomes: Map<readonly KillCase[], Promise<ReadonlyMap<KillCase, Error | null>>>;

  beforeAll(async () => {
    bench = await openBench(kind, program);
    outcomes = pooled(batches, width, (batch) => played(bench, batch));
  }, ENGINE_START_LIMIT_MS);
  afterAll(() => bench.end(), 60_000);

  describe(what, () => {
    it.each(batches.flatMap((batch) => batch.map((point) => [nameOf(point), point, batch] as const)))(
      '%s',
      async (_name, point, batch) => {
        const fault = (await outcomes.get(batch))?.get(point);
        if (fault !== null) throw fault ?? new Error('the case was not played');
      },
      CASE_LIMIT_MS,
    );
  });
}

/** What is wrong with each case, or null. At least one call reaches its point each time. */
async function played(bench: FaultBench, cases: readonly KillCase[]): Promise<ReadonlyMap<KillCase, Error | null>> {
  const faults = new Map<KillCase, Error | null>();
  for (let left = cases; left.length > 0; ) {
    const ends = await playTogether(bench, left);
    for (const [point, end] of ends) if (end !== 'missed') faults.set(point, end === 'held' ? null : end);
    left = left.filter((point) => ends.get(point) === 'missed');
  }
  return faults;
}
