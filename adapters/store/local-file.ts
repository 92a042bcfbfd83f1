import { closeSync, fdatasync, openSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import type { Migration } from 'kysely';
import { GateError } from '../../domain/errors.js';
import { beginAlone } from './begin-alone.js';
import { privateDatabase } from './durable-file.js';
import { migrate, type StatementHooks, sqliteStore, type Store } from './database.js';
import { storeFaultText } from '../../domain/store-faults.js';

/**
 * One SQLite file that only this process writes, shared by every authority in it. A write is visible to this process at once and durable
 * when `durable()` resolves. So a call's record and its ledger rows are one transaction, and all waiting requests share one sync to disk
 * (group commit).
 */
export interface LocalFile {
  readonly connection: DatabaseSyncInstance;
  /**
   * Runs statements in the open transaction, or opens one. A GateError is the job's own refusal, thrown before it changed anything. Any
   * other error rolls back everything since the last commit, informs the listeners, and becomes `store_unavailable`.
   */
  apply<Result>(job: () => Result): Result;
  /**
   * Resolves when everything that was applied and not rolled back before this call would survive kill -9 and power loss. Rejects with
   * `store_unavailable` when it is rolled back instead; nothing learnt from it may then leave the process. Call it in the turn in which you
   * applied or read: it says nothing about what was rolled back before the call.
   */
  durable(): Promise<void>;
  /**
   * For callers that await something else between applying or reading and waiting for the disk. Call it before the first of these; it
   * returns that wait, which also rejects when anything was rolled back in between.
   */
  durableFromHere(): () => Promise<void>;
  /** The same connection under Kysely; its statements join the open transaction. */
  store<Tables>(): Store<Tables>;
  /**
   * The same for what is written over several turns and stands together or not at all: once anything was undone after this call, every
   * statement throws what undid it.
   */
  storeUntilUndone<Tables>(): Store<Tables>;
  /** Runs inside each transaction, right before it is committed. */
  beforeCommit(hook: () => void): void;
  /** Called after a transaction was rolled back, with the reason: what memory holds of it is wrong. */
  onUndone(listener: (why: GateError) => void): void;
  /**
   * Resolves with the reason why some durable data is still only in the log beside the file, or with `null` when the file alone holds
   * everything.
   */
  close(): Promise<string | null>;
}

export interface LocalFileOptions {
  readonly file: string;
  /** One set of migrations per authority, each recorded in a table of its own. */
  readonly migrations: Readonly<Record<string, Record<string, Migration>>>;
  /** Runs once after the migrations, before anything else reads or writes. */
  readonly prepare?: (store: Store<unknown>) => Promise<void>;
  /** Limits the size of the file; for tests of a full disk. */
  readonly maxPages?: number;
}

interface Waiter {
  resolve(): void;
  reject(error: GateError): void;
}

/** Opens the file and migrates it. Throws with words for an operator when it is no database, read-only or locked. */
export async function openLocalFile({ file, migrations, prepare, maxPages }: LocalFileOptions): Promise<LocalFile> {
  const memory = file === ':memory:';
  // Once it serves, messages may reach an agent, who must not learn where the file is.
  const name = basename(file);
  let connection: DatabaseSyncInstance;
  try {
    if (!memory) privateDatabase(file);
    connection = new DatabaseSync(file);
  } catch (error) {
    throw new GateError('store_unavailable', `${file}: ${storeFaultText(error)}`, { cause: error });
  }
  try {
    // This module syncs the log itself, off the event loop; NORMAL still syncs around checkpoints, as WAL needs it. A migration that a
    // power cut undoes runs again: nothing was answered from it, and the sync before the first answer includes it. Fewer checkpoints than
    // SQLite's default, because each one stops the event loop for as long as the disk takes.
    connection.exec(
      'PRAGMA busy_timeout=2000; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA cache_size=-32000; PRAGMA wal_autocheckpoint=8000;',
    );
    const migrating = sqliteStore(connection);
    for (const [authority, set] of Object.entries(migrations))
      await migrate(migrating, set, { table: authority === 'ledger' ? undefined : `kysely_migration_${authority}` });
    await prepare?.(migrating);
    // A write of its own finds a read-only file now and not at the first call, and creates the log.
    connection.exec('BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS lite_start (id integer primary key, at_ms integer);');
    connection
      .prepare('INSERT INTO lite_start VALUES (1, ?) ON CONFLICT DO UPDATE SET at_ms = excluded.at_ms')
      .run(Date.now());
    connection.exec('COMMIT');
    if (maxPages !== undefined) connection.exec(`PRAGMA max_page_count=${maxPages}`);
  } catch (error) {
    connection.close();
    if (error instanceof GateError) throw error;
    throw new GateError('store_unavailable', `${file}: ${storeFaultText(error)}`, { cause: error });
  }
  // Closing a descriptor drops this process's POSIX locks on that file; SQLite locks the database and its index, never the log.
  const log = memory ? null : openSync(`${file}-wal`, 'r+');

  const hooks: (() => void)[] = [];
  const listeners: ((why: GateError) => void)[] = [];
  let open = false;
  let unsynced = false;
  let syncing: Waiter[] | null = null;
  let waiting: Waiter[] = [];
  let scheduled = false;
  let closed = false;
  let broken: GateError | null = null;
  let undone: { readonly count: number; readonly why: GateError } | null = null;

  const begin = () => {
    if (broken) throw broken;
    if (closed) throw new GateError('store_unavailable', 'the file is closed');
    if (open && connection.isTransaction) return;
    if (open) throw new Error('SQLite ended the transaction by itself');
    // One call after the other begins here.
    beginAlone(connection, 0);
    open = true;
    schedule();
  };

  const undo = (error: unknown): GateError => {
    const known = new GateError('store_unavailable', `${name}: ${storeFaultText(error)}`, { cause: error });
    // If no transaction could begin, none has to be rolled back.
    if (open) undone = { count: (undone?.count ?? 0) + 1, why: known };
    open = false;
    try {
      if (connection.isTransaction) connection.exec('ROLLBACK');
    } catch {
      // The failed statement ended the transaction itself.
    }
    const losers = waiting;
    waiting = [];
    for (const listener of listeners) listener(known);
    for (const waiter of losers) waiter.reject(known);
    return known;
  };

  function schedule(): void {
    if (scheduled || syncing) return;
    scheduled = true;
    // After the poll phase: requests that arrived in the same turn join the transaction before it is committed.
    setImmediate(flush);
  }

  function flush(): void {
    scheduled = false;
    if (syncing) return;
    if (open) {
      try {
        for (const hook of hooks) hook();
        connection.exec('COMMIT');
        open = false;
        unsynced = true;
      } catch (error) {
        undo(error);
        return;
      }
    }
    if (waiting.length === 0) return;
    const group = waiting;
    waiting = [];
    if (!unsynced || log === null) {
      unsynced = false;
      for (const waiter of group) waiter.resolve();
      return;
    }
    syncing = group;
    unsynced = false;
    fdatasync(log, (error) => {
      syncing = null;
      if (error) {
        // After a failed sync it is unknown what is on disk; only a new start, which reads the file, may continue.
        broken = new GateError(
          'store_unavailable',
          `${name}: the disk did not take a write (${error.message}); restart`,
        );
        for (const waiter of [...group, ...waiting.splice(0)]) waiter.reject(broken);
        return;
      }
      for (const waiter of group) waiter.resolve();
      // What arrived meanwhile is the next group, together with what these answers trigger at once.
      if (open || waiting.length > 0) schedule();
    });
  }

  const wait = (queue: Waiter[]) => new Promise<void>((resolve, reject) => queue.push({ resolve, reject }));

  const storeOver = <Tables>(hooks: Pick<StatementHooks, 'beforeStatement'>): Store<Tables> => ({
    ...sqliteStore<Tables>(connection, { ...hooks, beforeWrite: begin, atOnce: true }),
    close: () => Promise.resolve(),
  });

  const opened: LocalFile = {
    connection,
    apply(job) {
      try {
        begin();
        return job();
      } catch (error) {
        if (error instanceof GateError) throw error;
        throw undo(error);
      }
    },
    durable() {
      if (broken) return Promise.reject(broken);
      if (open || unsynced || waiting.length > 0) {
        schedule();
        return wait(waiting);
      }
      return syncing ? wait(syncing) : Promise.resolve();
    },
    durableFromHere() {
      const before = undone?.count ?? 0;
      return () => (undone && undone.count > before ? Promise.reject(undone.why) : opened.durable());
    },
    store: () => storeOver({}),
    storeUntilUndone() {
      const before = undone?.count ?? 0;
      return storeOver({
        beforeStatement() {
          if (undone && undone.count > before) throw undone.why;
        },
      });
    },
    beforeCommit: (hook) => void hooks.push(hook),
    onUndone: (listener) => void listeners.push(listener),
    async close() {
      await opened.durable().catch(() => undefined);
      closed = true;
      if (log !== null) closeSync(log);
      try {
        // The file alone then holds everything, for whoever copies it.
        connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
        return null;
      } catch (error) {
        return storeFaultText(error);
      } finally {
        connection.close();
      }
    },
  };
  return opened;
}
