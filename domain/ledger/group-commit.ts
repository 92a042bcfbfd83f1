import type { AppendReceipt } from '../../contracts/ledger.js';
import { GateError } from '../errors.js';
import type { AppendCall } from './chain.js';
import { asUnavailable, type CommitOutcome } from './chain-store.js';

/** Most rows of one transaction. More do not commit faster, and every caller waits for all of them. */
const MAX_BATCH_ROWS = 512;
/** Most rows waiting while the store is slow or away. Beyond it calls are refused at once, and callers keep their rows. */
const MAX_QUEUED_ROWS = 20_000;

export interface GroupCommit {
  /** Resolves when the rows are durable. Throws `ledger_entry_conflict` for this call alone, `ledger_store_unavailable` for all. */
  append(call: AppendCall): Promise<AppendReceipt[]>;
  /** Refuses new calls, and resolves when the waiting ones are answered. */
  close(): Promise<void>;
}

export interface CommitObservation {
  readonly rows: number;
  readonly conflicts: number;
  readonly seconds: number;
}

interface Waiting {
  readonly call: AppendCall;
  resolve(receipts: AppendReceipt[]): void;
  reject(error: GateError): void;
}

/**
 * One writer with shared transactions: while a commit runs, calls gather for the next one, so that one sync to disk serves all of them.
 * Calls keep their order and are never split.
 */
export function createGroupCommit(
  commit: (calls: readonly AppendCall[]) => Promise<CommitOutcome>,
  observe: (observation: CommitObservation) => void,
): GroupCommit {
  let queue: Waiting[] = [];
  let queuedRows = 0;
  let running: Promise<void> | null = null;
  let closed = false;

  function nextBatch(): Waiting[] {
    let rows = 0;
    let count = 0;
    while (count < queue.length) {
      rows += (queue[count] as Waiting).call.length;
      if (count > 0 && rows > MAX_BATCH_ROWS) break;
      count += 1;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    for (const { call } of batch) queuedRows -= call.length;
    return batch;
  }

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      // Wait one turn of the event loop: requests that arrived together share the commit, and a busy writer starves nobody.
      await new Promise((resolve) => setImmediate(resolve));
      const batch = nextBatch();
      const started = performance.now();
      try {
        const { answers, rows, conflicts } = await commit(batch.map(({ call }) => call));
        batch.forEach((waiting, index) => {
          const answer = answers[index] as AppendReceipt[] | GateError;
          if (answer instanceof GateError) waiting.reject(answer);
          else waiting.resolve(answer);
        });
        observe({ rows, conflicts, seconds: (performance.now() - started) / 1000 });
      } catch (error) {
        const unavailable = asUnavailable(error);
        for (const waiting of batch) waiting.reject(unavailable);
      }
    }
    // In the same turn as the last check of the queue; otherwise a call added in between would wait forever.
    running = null;
  }

  return {
    append(call) {
      if (closed) return Promise.reject(new GateError('ledger_store_unavailable', 'the ledger is closed'));
      if (queuedRows + call.length > MAX_QUEUED_ROWS)
        return Promise.reject(new GateError('ledger_store_unavailable', 'too many rows wait for the ledger store'));
      return new Promise((resolve, reject) => {
        queue.push({ call, resolve, reject });
        queuedRows += call.length;
        running ??= drain();
      });
    },
    async close() {
      closed = true;
      while (running) await running;
    },
  };
}
