import { CompiledQuery, type Kysely, PostgresAdapter } from 'kysely';
import type { Store } from './database.js';
import { createGroupWriter } from './group-writer.js';
import type { LocalFile } from './local-file.js';
import { type Ask, statement, type Statement, type Value } from './statement.js';
import { assertWritable } from './writable.js';

/** What a job asks of the database. `get` is the first row, `all` every row, `run` the number of rows that changed. */
interface Asked {
  readonly how: 'get' | 'all' | 'run';
  readonly statement: Statement<unknown>;
  readonly values: readonly Value[];
}

/**
 * Work on a store, written once: a generator that yields its statements and is given their results. A driver runs it to its end, at once
 * in a file of this process's own, or statement by statement where the database is waited for.
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

/** Runs written statements on a store: building a query anew costs several times what running it does. */
export const askOf = <Tables>(store: Pick<Store<Tables>, 'db' | 'ask'>): Ask => store.ask ?? askedOf(store.db);

/** The same on a store or in a transaction of it, in turn with its other statements. */
export function askedOf<Tables>(db: Kysely<Tables>): Ask {
  const postgres = db.getExecutor().adapter instanceof PostgresAdapter;
  return async <Row>(of: Statement<Row>, ...values: Value[]) => {
    const query = CompiledQuery.raw(postgres ? of.numbered : of.text, values);
    const { rows, numAffectedRows } = await db.executeQuery<Row>(query);
    return { rows, changes: Number(numAffectedRows ?? 0) };
  };
}

/** Runs jobs on one store. `then` is called with what a job came to as soon as that stands, before anything else can happen here. */
export interface Jobs {
  /** Outside a transaction. */
  read<Result, Then>(job: () => Job<Result>, then: (result: Result) => Then): Promise<Then>;
  /**
   * In a transaction, in which no other job comes between. With `durable: false` the commit may skip the sync to disk, and the next
   * durable one carries it along. With `onDisk` also a job that stands at once resolves only when what it did, or found, is on disk, and
   * rejects when that was undone: for what cannot be taken back afterwards.
   */
  write<Result, Then>(
    job: () => Job<Result>,
    then: (result: Result) => Then,
    options?: { readonly durable?: boolean; readonly onDisk?: boolean },
  ): Promise<Then>;
  /** Only where several processes write: holds whoever asks for the same key back until the end of the transaction. */
  alone(key: string): Job<void>;
  /** Throws where the store takes no writes. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

const LOCK = statement('select pg_advisory_xact_lock(hashtextextended(?, 0))');

/** Over a store that other processes may write as well: jobs share transactions (group commit), and stand when those are committed. */
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
    ready: () => assertWritable(store.sqlite),
    async close() {
      await writer.drained();
      await store.close();
    },
  };
}

/** In a file that this process alone writes: a job runs at once, in the open transaction, and stands until that is undone. */
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
      // Asked for in the same turn: later, an undo in between would go unseen.
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
