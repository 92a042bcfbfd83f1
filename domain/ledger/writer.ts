import type { AppendReceipt } from '../../contracts/ledger.js';
import type { AppendCall } from './chain.js';
import type { ChainStore } from './chain-store.js';
import type { Log } from '../log.js';
import { type CommitObservation, createGroupCommit } from './group-commit.js';

/** The only place that appends. */
export interface LedgerWriter {
  /** Resolves when the rows are durable. Throws `ledger_entry_conflict` for this call alone, `ledger_store_unavailable` for all. */
  append(call: AppendCall): Promise<AppendReceipt[]>;
  /** From now on no row gets a commit time up to `ms`. Resolves when all rows that have one are stored. */
  sealThrough(ms: number): Promise<void>;
  /** `listener` is called after every commit. */
  observe(listener: (observation: CommitObservation) => void): void;
  /** Refuses new calls, and resolves when the waiting ones are answered. */
  close(): Promise<void>;
}

/** Appends calls to the chain in shared transactions. Commit times are always later than the sealed moment. */
export function createWriter(
  chain: Pick<ChainStore, 'commit'>,
  { clock, logger }: { readonly clock: () => number; readonly logger?: Pick<Log, 'error'> | undefined },
): LedgerWriter {
  /** No row is committed at or before this time, because an invoice was issued through it. */
  let sealedThrough = 0;
  let committing: Promise<unknown> = Promise.resolve();
  const listeners: ((observation: CommitObservation) => void)[] = [];
  const { append, close } = createGroupCommit(
    async (calls) => {
      try {
        const outcome = chain.commit(calls, Math.max(clock(), sealedThrough + 1));
        committing = outcome.catch(() => undefined);
        return await outcome;
      } catch (error) {
        logger?.error({ err: error, calls: calls.length }, 'ledger commit failed');
        throw error;
      }
    },
    (observation) => {
      if (observation.conflicts > 0)
        logger?.error({ conflicts: observation.conflicts }, 'ledger row id offered with other content');
      for (const listener of listeners) listener(observation);
    },
  );
  return {
    append,
    async sealThrough(ms) {
      sealedThrough = Math.max(sealedThrough, ms);
      await committing;
    },
    observe: (listener) => {
      listeners.push(listener);
    },
    close,
  };
}
