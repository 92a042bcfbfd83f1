import { sql, type Kysely } from 'kysely';
import { beginAlone } from './begin-alone.js';
import type { Store } from './database.js';

/** Work inside the shared transaction. It sees the changes of earlier jobs; a job that throws is rolled back alone. */
export type WriteJob<Tables, Result> = (transaction: Kysely<Tables>) => Promise<Result>;

export interface GroupWriter<Tables> {
  /**
   * Runs the job in a transaction shared with the other waiting jobs (group commit) and resolves after the commit. With `durable: false`
   * the commit may skip the sync to disk; the next durable one includes it. Rejects when the job or the commit fails.
   */
  run<Result>(job: WriteJob<Tables, Result>, options?: { durable?: boolean }): Promise<Result>;
  /** Resolves when everything queued so far is done. */
  drained(): Promise<void>;
}

const MAX_BATCH = 64;
/** How often a job is tried that another process locked out: Postgres ends one of two that wait for each other. */
const MAX_TRIES = 3;
const isLockedOut = (error: unknown): boolean => (error as { readonly code?: unknown } | null)?.code === '40P01';

interface Queued<Tables> {
  readonly job: WriteJob<Tables, unknown>;
  readonly durable: boolean;
  settle(outcome: { ok: true; value: unknown } | { ok: false; error: unknown }): void;
}

/** One writer per store and process: SQLite allows only one anyway, and one sync serves every job of a batch. */
export function createGroupWriter<Tables>(store: Store<Tables>): GroupWriter<Tables> {
  const queue: Queued<Tables>[] = [];
  let running: Promise<void> | null = null;

  async function drain(): Promise<void> {
    // One turn of the event loop lets requests that arrived together share the first batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.length > 0) await commitBatch(store, queue.splice(0, MAX_BATCH));
    // In the same turn as the last check of the queue; otherwise a job added in between would wait for ever.
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

type Outcome = { ok: true; value: unknown } | { ok: false; error: unknown };

async function commitBatch<Tables>(store: Store<Tables>, batch: readonly Queued<Tables>[], tries = 1): Promise<void> {
  const durable = batch.some((entry) => entry.durable);
  const outcomes: Outcome[] = [];
  try {
    await store.db.connection().execute(async (connection) => {
      // Sent to SQLite below the query builder, where they cost a tenth.
      const say = async (words: string): Promise<void> => {
        if (store.sqlite) store.sqlite.exec(words);
        else await sql.raw(words).execute(connection);
      };
      const undo = () => say('rollback').catch(() => undefined);
      await say(
        store.sqlite
          ? `pragma synchronous=${durable ? 'full' : 'normal'}`
          : durable
            ? 'begin'
            : 'begin; set local synchronous_commit = off',
      );
      if (store.sqlite) beginAlone(store.sqlite);
      try {
        for (const { job } of batch) outcomes.push(await runAlone(job, connection, say, batch.length === 1));
        if (outcomes.some(({ ok }) => ok)) await say('commit');
        else await undo();
      } catch (error) {
        await undo();
        throw error;
      }
    });
  } catch (error) {
    for (const entry of batch) entry.settle({ ok: false, error });
    return;
  }
  const locked = batch.filter((_entry, index) => tries < MAX_TRIES && isLockedOutcome(outcomes[index] as Outcome));
  batch.forEach((entry, index) => {
    if (!locked.includes(entry)) entry.settle(outcomes[index] as Outcome);
  });
  // What the others did is committed, so nobody waits for them any more.
  if (locked.length > 0) await commitBatch(store, locked, tries + 1);
}

const isLockedOutcome = (outcome: Outcome): boolean => !outcome.ok && isLockedOut(outcome.error);

/** The only job of a batch needs no savepoint, because rolling it back rolls back the transaction. */
async function runAlone<Tables>(
  job: WriteJob<Tables, unknown>,
  connection: Kysely<Tables>,
  say: (words: string) => Promise<void>,
  only: boolean,
): Promise<Outcome> {
  if (!only) await say('savepoint job');
  try {
    const value = await job(connection);
    if (!only) await say('release savepoint job');
    return { ok: true, value };
  } catch (error) {
    if (!only) await say('rollback to savepoint job; release savepoint job');
    return { ok: false, error };
  }
}
