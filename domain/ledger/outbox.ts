import type { Ledger, NewLedgerRow } from '../../contracts/ledger.js';
import { errorText } from '../errors.js';

const AT_ONCE = 20;
const LOOK_MS = 1_000;
/** A ledger that is back has what waits within this time. */
const LONGEST_PAUSE_MS = 10_000;

/**
 * Brings rows that a store keeps for it into the ledger, in their order, for as long as it takes. Two processes may do it at once, and a row may be sent
 * again: its id is stored with it. A refused row waits with all behind it, since the chain must not tell of them in another order. One that somebody else
 * wrote into the store is never sent, holds up none, and is named until it is gone.
 */
export function createLedgerOutbox<One extends { readonly row: NewLedgerRow }>({
  store,
  ledger,
  onFault,
  lookMs = LOOK_MS,
  what,
  named = (tampered) => tampered,
}: {
  readonly store: {
    /** The first of what waits, in its order; what somebody else wrote is named instead. */
    undelivered(most: number): Promise<{ readonly waiting: readonly One[]; readonly tampered: readonly string[] }>;
    delivered(one: One, seq: number): Promise<void>;
  };
  readonly ledger: Ledger;
  /** Told once per fault, also of rows that somebody else wrote, and null when it is over. */
  readonly onFault: (reason: string | null) => void;
  readonly lookMs?: number;
  /** What waits, in words. */
  readonly what: string;
  /** How one is named that somebody else wrote. */
  readonly named?: (tampered: string) => string;
}) {
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  let pauseMs = lookMs;
  let fault: string | null = null;
  /** Rows that are not sent; null where there are none. */
  let left: string | null = null;
  let delivering: Promise<void> = Promise.resolve();

  /** What was left since Gate did not write it. */
  async function deliver(): Promise<string | null> {
    for (;;) {
      const { waiting, tampered } = await store.undelivered(AT_ONCE);
      for (const one of waiting) {
        const [receipt] = await ledger.append([one.row]);
        if (!receipt) throw new Error('the ledger gave no receipt');
        await store.delivered(one, receipt.seq);
      }
      if (waiting.length < AT_ONCE || closed) return tampered.length === 0 ? null : tampered.map(named).join('; ');
    }
  }
  function told(reason: string | null, rows: string | null): void {
    const now = reason ?? rows;
    if (now !== (fault ?? left)) onFault(now);
    [fault, left] = [reason, rows];
  }
  /** All that waits now is in the ledger when this resolves. */
  function flush(): Promise<void> {
    delivering = delivering
      .catch(() => undefined)
      .then(deliver)
      .then(
        (rows) => told(null, rows),
        (error: unknown) => {
          told(errorText(error), left);
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
    /** Fails where rows wait. Of those that somebody else wrote it says so: all others are in the ledger. */
    ready(): string | undefined {
      if (fault !== null) throw new Error(`${what} wait for the ledger: ${fault}`);
      return left ?? undefined;
    },
    async close(): Promise<void> {
      closed = true;
      if (timer) clearTimeout(timer);
      await delivering.catch(() => undefined);
    },
  };
}
export type LedgerOutbox = ReturnType<typeof createLedgerOutbox>;
