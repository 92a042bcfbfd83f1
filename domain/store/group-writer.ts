import { sql, type Kysely } from 'kysely';
import type { Store } from './database.js';

/** Work inside the shared transaction. It sees the jobs before it; a job that throws is undone alone. */
export type WriteJob<Tables, Result> = (transaction: Kysely<Tables>) => Promise<Result>;

export interface GroupWriter<Tables> {
  /**
   * Runs the job in a transaction shared with whatever else waits (group commit) and resolves after the commit. With `durable: false`
   * the commit may skip the sync to disk: the next durable one carries it along. Rejects when the job or the commit fails.
   */
  run<Result>(job: WriteJob<Tables, Result>, options?: { durable?: boolean }): Promise<Result>;
  /** Resolves when everything queued so far is done. */
  drained(): Promise<void>;
}

const MAX_BATCH = 64;

interface Queued<Tables> {
  readonly job: WriteJob<Tables, unknown>;
  readonly durable: boolean;
  settle(outcome: { ok: true; value: unknown } | { ok: false; error: unknown }): void;
}

/** One writer per store and process: SQLite has a single writer anyway, and one sync serves every job of a batch. */
export function createGroupWriter<Tables>(store: Store<Tables>): GroupWriter<Tables> {
  const queue: Queued<Tables>[] = [];
  let running: Promise<void> | null = null;

  async function drain(): Promise<void> {
    // One turn of the event loop lets requests that arrived together share the first batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.length > 0) await commitBatch(store, queue.splice(0, MAX_BATCH));
    // In the same turn as the last look at the queue, so that no job can slip in between and wait for nobody.
    running = null;
  }

  return {
    run<Result>(job: WriteJob<Tables, Result>, { durable = true } = {}) {
      return new Promise<Result>((resolve, reject) => {
        queue.push({
          job,
          durable,
          settle: (outcome) => (outcome.ok ? resolve(outcome.value as Result) : reject(outcome.error as Error)),
        });
        running ??= drain();
      });
    },
    async drained() {
      while (running) await running;
    },
  };
}

async function commitBatch<Tables>(store: Store<Tables>, batch: readonly Queued<Tables>[]): Promise<void> {
  const durable = batch.some((entry) => entry.durable);
  const outcomes: ({ ok: true; value: unknown } | { ok: false; error: unknown })[] = [];
  try {
    await store.db.connection().execute(async (connection) => {
      if (store.kind === 'sqlite') {
        store.sqlite?.exec(`PRAGMA synchronous=${durable ? 'FULL' : 'NORMAL'}`);
        await sql`begin immediate`.execute(connection);
      } else {
        await sql`begin`.execute(connection);
        if (!durable) await sql`set local synchronous_commit = off`.execute(connection);
      }
      try {
        for (const { job } of batch) outcomes.push(await runAlone(job, connection));
        await sql`commit`.execute(connection);
      } catch (error) {
        await sql`rollback`.execute(connection).catch(() => undefined);
        throw error;
      }
    });
  } catch (error) {
    for (const entry of batch) entry.settle({ ok: false, error });
    return;
  }
  batch.forEach((entry, index) => entry.settle(outcomes[index] as { ok: true; value: unknown }));
}

async function runAlone<Tables>(job: WriteJob<Tables, unknown>, connection: Kysely<Tables>) {
  await sql`savepoint job`.execute(connection);
  try {
    const value = await job(connection);
    await sql`release savepoint job`.execute(connection);
    return { ok: true as const, value };
  } catch (error) {
    await sql`rollback to savepoint job`.execute(connection);
    await sql`release savepoint job`.execute(connection);
    return { ok: false as const, error };
  }
}
