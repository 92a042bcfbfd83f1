import { errorText } from '../errors.js';
import type { StopReportStore } from './stop-reports.js';

const LOOK_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Takes back the certificates of the agents of stopped tenants, one agent after the other, for as long as it takes: of many agents that lasts longer
 * than whoever stops their tenant waits, and what an ended process left is done by the next one (docs/architecture/identity.md#stops).
 */
export function createTakingBack({
  store,
  clock,
  onFault,
  onTaken,
  lookMs = LOOK_MS,
}: {
  readonly store: Pick<StopReportStore, 'takeBackOne'>;
  readonly clock: () => number;
  /** Told once per fault, and null when it is over. */
  readonly onFault: (reason: string | null) => void;
  /** Called when rows wait for the ledger. */
  readonly onTaken: () => void;
  readonly lookMs?: number;
}) {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let pauseMs = lookMs;
  let fault: string | null = null;
  let taking: Promise<void> = Promise.resolve();

  async function all(): Promise<void> {
    try {
      while (!closed && (await store.takeBackOne(clock()))) onTaken();
      if (fault !== null) onFault(null);
      [fault, pauseMs] = [null, lookMs];
    } catch (error) {
      const reason = errorText(error);
      if (reason !== fault) onFault(reason);
      [fault, pauseMs] = [reason, Math.min(LONGEST_PAUSE_MS, pauseMs * 2)];
    }
  }
  /** All that is known now is taken back when this resolves, or said to fail. */
  const now = (): Promise<void> => (taking = taking.then(all));
  const look = (): void => {
    if (closed) return;
    timer = setTimeout(() => void now().finally(look), pauseMs).unref();
  };
  return {
    begin: look,
    now,
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      await taking;
    },
  };
}
