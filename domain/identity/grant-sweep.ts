import { errorText } from '../errors.js';
import type { GrantStore } from './grants.js';

const EVERY_MS = 30_000;

/** Takes back, again and again, the grants that are used up, and those that nobody used in time (docs/architecture/identity.md#grants). */
export function createGrantSweep({
  store,
  clock,
  onFault,
  onSwept,
  everyMs = EVERY_MS,
}: {
  readonly store: Pick<GrantStore, 'sweepGrants'>;
  readonly clock: () => number;
  /** Told once per fault, and null when it is over. */
  readonly onFault: (reason: string | null) => void;
  /** Called when rows wait for the ledger. */
  readonly onSwept: () => void;
  readonly everyMs?: number;
}) {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let fault: string | null = null;
  let sweeping: Promise<void> = Promise.resolve();

  async function once(): Promise<void> {
    try {
      if ((await store.sweepGrants(clock())) > 0) onSwept();
      if (fault !== null) onFault(null);
      fault = null;
    } catch (error) {
      const reason = errorText(error);
      if (reason !== fault) onFault(reason);
      fault = reason;
    }
  }
  const next = (): void => {
    if (closed) return;
    timer = setTimeout(() => {
      sweeping = once().finally(next);
    }, everyMs).unref();
  };
  return {
    begin: next,
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      await sweeping;
    },
  };
}
