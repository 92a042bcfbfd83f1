import { createRepeated, type Repeated } from '../repeated.js';
import type { GrantStore } from './grants.js';

const EVERY_MS = 30_000;

/** Takes back, again and again, the grants that are used up, and those that nobody used in time (docs/architecture/identity.md#grants). */
export const createGrantSweep = ({
  store,
  clock,
  onFault,
  onSwept,
  everyMs = EVERY_MS,
}: {
  readonly store: Pick<GrantStore, 'sweepGrants'>;
  readonly clock: () => number;
  readonly onFault: (reason: string | null) => void;
  /** Called when rows wait for the ledger. */
  readonly onSwept: () => void;
  readonly everyMs?: number;
}): Repeated =>
  createRepeated({
    async work() {
      if ((await store.sweepGrants(clock())) > 0) onSwept();
    },
    everyMs,
    onFault,
  });
