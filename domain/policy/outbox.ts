import type { Ledger } from '../../contracts/ledger.js';
import { errorText } from '../errors.js';
import { isOfPolicyChange } from './library-rows.js';
import type { PolicyStore } from './library-ports.js';

const AT_ONCE = 20;
const LOOK_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Brings the rows of changes into the ledger, in their order, for as long as it takes. Two processes may do it at once, and a row may be sent
 * again: its id is stored with it. A refused row waits with all behind it, since the chain must not tell of them in another order.
 */
export function createPolicyOutbox({
  store,
  ledger,
  onFault,
  lookMs = LOOK_MS,
}: {
  readonly store: Pick<PolicyStore, 'undelivered' | 'delivered'>;
  readonly ledger: Ledger;
  /** Told once per fault, and null when it is over. */
  readonly onFault: (reason: string | null) => void;
  readonly lookMs?: number;
}) {
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  let pauseMs = lookMs;
  let fault: string | null = null;
  let delivering: Promise<void> = Promise.resolve();

  async function deliver(): Promise<void> {
    for (;;) {
      const waiting = await store.undelivered(AT_ONCE);
      for (const one of waiting) {
        // The store may have been edited past Gate.
        if (!isOfPolicyChange(one.row)) throw new Error(`what waits for ${one.name} is no row of a policy change`);
        const [receipt] = await ledger.append([one.row]);
        if (!receipt) throw new Error('the ledger gave no receipt');
        await store.delivered(one, receipt.seq);
      }
      if (waiting.length < AT_ONCE || closed) return;
    }
  }
  const told = (reason: string | null): void => {
    if (reason !== fault) onFault(reason);
    fault = reason;
  };
  /** All that waits now is in the ledger when this resolves. */
  function flush(): Promise<void> {
    delivering = delivering
      .catch(() => undefined)
      .then(deliver)
      .then(
        () => told(null),
        (error: unknown) => {
          told(errorText(error));
          throw error;
        },
      );
    return delivering;
  }
  function look(): void {
    if (closed) return;
    timer = setTimeout(() => {
      void flush()
        .then(
          () => (pauseMs = lookMs),
          () => (pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)),
        )
        .finally(look);
    }, pauseMs);
    timer.unref();
  }
  return {
    begin: look,
    flush,
    ready(): void {
      if (fault !== null) throw new Error(`rows of policy changes wait for the ledger: ${fault}`);
    },
    async close(): Promise<void> {
      closed = true;
      if (timer) clearTimeout(timer);
      await delivering.catch(() => undefined);
    },
  };
}
export type PolicyOutbox = ReturnType<typeof createPolicyOutbox>;
