import { CompiledQuery, type Kysely, PostgresAdapter } from 'kysely';
import { GateError } from '../../domain/errors.js';
import type { Store } from './database.js';
import { createGroupWriter } from './group-writer.js';
import type { LocalFile } from './local-file.js';
import { type Ask, statement, type Statement, type Value } from './statement.js';
import { assertWritable } from './writable.js';

/** What a job may ask of the database: `get` returns the first row, `all` every row, `run` the number of changed rows. */
interface Asked {
  readonly how: 'get' | 'all' | 'run';
  readonly statement: Statement<unknown>;
  readonly values: readonly Value[];
}

/**
 * Work on a store, written once: a generator that yields its statements and receives their results. A driver runs it to the end:
 * synchronously in a file that this process owns, or statement by statement when the database is asynchronous.
 */
export type Job<Result> = Generator<Asked, Result, unknown>;

export function* get<Row>(of: Statement<Row>, ...values: Value[]): Job<Row | undefined> {
  return (yield { how: 'get', statement: of, values }) as Row | undefined;
}
export function* all<Row>(of: Statement<Row>, ...values: Value[]): Job<Row[]> {
  return (yield { how: 'all', statement: of, values }) as Row[];
}
export function* run(of: Statement, ...values: Value[]): Job<number> {
  return (yield { how: 'run', statement: of, values }) as number;
}

/** Runs prepared statements on a store: building a query anew costs several times what running it does. */
export const askOf = <Tables>(store: Pick<Store<Tables>, 'db' | 'ask'>): Ask => store.ask ?? askedOf(store.db);

/** The same; whatever the store throws is `store_unavailable`. */
export function askOrUnavailable<Tables>(store: Pick<Store<Tables>, 'db' | 'ask'>): Ask {
  const asking = askOf(store);
  return async (...of) => {
    try {
      return await asking(...of);
    } catch (cause) {
      throw new GateError('store_unavailable', undefined, { cause });
    }
  };
}

/** The same on a store or in a transaction of it, in order with its other statements. */
export function askedOf<Tables>(db: Kysely<Tables>): Ask {
  const postgres = db.getExecutor().adapter instanceof PostgresAdapter;
  return async <Row>(of: Statement<Row>, ...values: Value[]) => {
    const query = CompiledQuery.raw(postgres ? of.numbered : of.text, values);
    const { rows, numAffectedRows } = await db.executeQuery<Row>(query);
    return { rows, changes: Number(numAffectedRows ?? 0) };
  };
}

/**
 * Runs jobs on one store. `then` is called with the result of a job as soon as it is committed or applied, before anything else can happen
 * in this process.
 */
export interface Jobs {
  /** Outside a transaction. */
  read<Result, Then>(job: () => Job<Result>, then: (result: Result) => Then): Promise<Then>;
  /**
   * In a transaction, isolated from other jobs. With `durable: false` the commit may skip the sync to disk; the next durable one includes
   * it. With `onDisk`, a job that is applied at once still resolves only when its changes, or what it read, are on disk, and rejects when
   * they were rolled back: for effects that cannot be taken back.
   */
  write<Result, Then>(
    job: () => Job<Result>,
    then: (result: Result) => Then,
    options?: { readonly durable?: boolean; readonly onDisk?: boolean },
  ): Promise<Then>;
  /** Only with several writing processes: blocks others that ask for the same key until the end of the transaction. */
  alone(key: string): Job<void>;
  /** Throws where the store takes no writes. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

const LOCK = statement('select pg_advisory_xact_lock(hashtextextended(?, 0))');

/** For a store that other processes may also write: jobs share transactions (group commit), and stand once those are committed. */
export function jobsOver<Tables>(store: Store<Tables>): Jobs {
  const writer = createGroupWriter(store);
  const done = async <Result>(connection: Kysely<Tables>, job: Job<Result>): Promise<Result> => {
    const ask = askedOf(connection);
    let step = job.next();
    while (!step.done) {
      const { how, statement: asked, values } = step.value;
      const { rows, changes } = await ask(asked, ...values);
      step = job.next(how === 'run' ? changes : how === 'get' ? rows[0] : rows);
    }
    return step.value;
  };
  return {
    read: async (job, then) => then(await done(store.db, job())),
    write: async (job, then, options) => then(await writer.run((transaction) => done(transaction, job()), options)),
    *alone(key) {
      // SQLite has a single writer.
      if (store.kind === 'postgres') yield* get(LOCK, key);
    },
    async ready() {
      await assertWritable(store.sqlite);
      // Another process may keep the file locked.
      if (store.sqlite) await writer.run(() => Promise.resolve(), { durable: false });
    },
    async close() {
      await writer.drained();
      await store.close();
    },
  };
}

/** For a file that only this process writes: a job runs at once in the open transaction, and stands unless that is rolled back. */
export function jobsInFile(file: LocalFile): Jobs {
  const { connection } = file;
  type Prepared = ReturnType<typeof connection.prepare>;
  const prepared = new Map<Statement<unknown>, Prepared>();
  const done = <Result>(job: Job<Result>): Result => {
    let step = job.next();
    while (!step.done) {
      const { how, statement: asked, values } = step.value;
      let known = prepared.get(asked);
      if (!known) prepared.set(asked, (known = connection.prepare(asked.text)));
      step = job.next(how === 'run' ? Number(known.run(...values).changes) : known[how](...values));
    }
    return step.value;
  };
  return {
    read: async (job, then) => then(done(job())),
    async write(job, then, { onDisk = false } = {}) {
      const result = file.apply(() => done(job()));
      // Asked for in the same turn, because a rollback in between would go unnoticed.
      const stands = onDisk ? file.durable() : null;
      const answer = then(result);
      await stands;
      return answer;
    },
    *alone() {},
    async ready() {
      await assertWritable(connection);
      file.apply(() => undefined);
    },
    close: () => file.durable().catch(() => undefined),
  };
}
