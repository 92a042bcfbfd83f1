import { createRepeated, type Repeated } from '../repeated.js';
import type { StopReportStore } from './stop-reports.js';

const LOOK_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Takes back the certificates of the agents of stopped tenants, one agent after the other, for as long as it takes: of many agents that lasts longer
 * than whoever stops their tenant waits, and what an ended process left is done by the next one (docs/architecture/identity.md#stops). All that is
 * known at `once` is taken back when it resolves, or said to fail.
 */
export const createTakingBack = ({
  store,
  clock,
  onFault,
  onTaken,
}: {
  readonly store: Pick<StopReportStore, 'takeBackOne'>;
  readonly clock: () => number;
  readonly onFault: (reason: string | null) => void;
  /** Called when rows wait for the ledger. */
  readonly onTaken: () => void;
}): Repeated =>
  createRepeated({
    async work(isStopped) {
      while (!isStopped() && (await store.takeBackOne(clock()))) onTaken();
    },
    everyMs: LOOK_MS,
    longestPauseMs: LONGEST_PAUSE_MS,
    onFault,
  });
