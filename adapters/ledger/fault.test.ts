import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import type { AppendReceipt } from '../../contracts/ledger.js';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { ledgerPlace, STORES, testKeys, type TestLedgerPlace, testRow } from '../../test/support/ledger.js';
import { startMortalPostgres } from '../../test/support/postgres.js';
import { seededRandom } from '../../test/support/random.js';
import { uuidFromDigest } from '../../domain/crypto/digest.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import { openStore, type Store } from '../store/database.js';
import type { LedgerTables } from '../../domain/ledger/tables.js';
import { ledgerOver, type WholeLedger, openLedger } from '../../test/support/whole-ledger.js';
import { eventually, timePasses } from '../../test/support/waiting.js';

const id = (name: string) => uuidFromDigest('test', name);
const codeOf = (outcome: PromiseSettledResult<unknown>) =>
  outcome.status === 'rejected' && outcome.reason instanceof GateError ? outcome.reason.code : outcome.status;

/** Whether the next commit of the store fails before or after it took effect. */
type Fault = 'before' | 'after';
const isWrite = (text: string): boolean =>
  text === 'COMMIT' || text === 'commit' || text.includes('insert into ledger_entries');

/** The store over a connection whose COMMITs fail as `plan` says. */
function breakableSqlite(store: Store<LedgerTables>, plan: Fault[]): Store<LedgerTables> {
  const connection = store.sqlite as NonNullable<Store<LedgerTables>['sqlite']>;
  const exec = (text: string): void => {
    const fault = text === 'COMMIT' ? plan.shift() : undefined;
    if (fault !== 'before') connection.exec(text);
    if (fault) throw new Error('disk I/O error');
  };
  const sqlite = new Proxy(connection, {
    get: (_, property) =>
      property === 'exec' ? exec : (connection[property as 'close'] as () => void).bind(connection),
  });
  return { ...store, sqlite };
}

/** `plan` says for each write in turn whether its connection breaks. Writes beyond the plan succeed. */
function breakPostgresCommits(store: Store<LedgerTables>, plan: (Fault | null)[]): void {
  const pool = store.pool as pg.Pool;
  type Connect = (callback?: unknown) => Promise<pg.PoolClient>;
  const connect = pool.connect.bind(pool) as Connect;
  const breaking = (client: pg.PoolClient): pg.PoolClient => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    client.query = (async (...args: unknown[]) => {
      const [statement] = args as [string | { text: string }];
      const fault = isWrite(typeof statement === 'string' ? statement : statement.text) ? plan.shift() : null;
      if (fault !== 'before') {
        const result = await query(...args);
        if (fault !== 'after') return result;
      }
      throw new Error('Connection terminated unexpectedly');
    }) as unknown as pg.PoolClient['query'];
    return client;
  };
  // The pool's own `query` connects with a callback; only the writer asks for a promise.
  const intercepted: Connect = async (callback) => (callback ? connect(callback) : breaking(await connect()));
  pool.connect = intercepted as unknown as pg.Pool['connect'];
}

describe.each(STORES)('a commit that fails, on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: Store<LedgerTables>;
  let ledger: WholeLedger;
  let plan: Fault[];
  const breakNext = (fault: Fault): void => {
    // On Postgres a commit under the head lock makes two writes; the second one is the commit.
    if (kind === 'sqlite') plan.push(fault);
    else breakPostgresCommits(store, [null, fault]);
  };

  beforeEach(async () => {
    place = await ledgerPlace(kind);
    store = await openStore<LedgerTables>(place.target, ledgerMigrations);
    plan = [];
    ledger = ledgerOver(kind === 'sqlite' ? breakableSqlite(store, plan) : store, { sidecarKeys: place.keys });
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  it.each<[string, Fault]>([
    ['and was not stored', 'before'],
    ['yet was stored', 'after'],
  ])('%s: callers are told `ledger_store_unavailable`, and the same rows again are one row each', async (_, fault) => {
    breakNext(fault);
    const rows = [testRow({ id: id('a') }), testRow({ id: id('b') })];
    const outcomes = await Promise.allSettled([ledger.append(rows), ledger.append([testRow({ id: id('c') })])]);
    expect(outcomes.map(codeOf)).toEqual(['ledger_store_unavailable', 'ledger_store_unavailable']);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: fault === 'after' ? 3 : 0 });

    const again = await ledger.append([...rows, testRow({ id: id('c') }), testRow({ id: id('d') })]);
    const status = fault === 'after' ? 'retained' : 'created';
    expect(again.map((receipt) => [receipt.id, receipt.seq, receipt.status])).toEqual([
      [id('a'), 1, status],
      [id('b'), 2, status],
      [id('c'), 3, status],
      [id('d'), 4, 'created'],
    ]);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 4 });
  });

  it('leaves the ledger able to go on at once', async () => {
    for (const fault of ['before', 'after', 'before'] as const) {
      breakNext(fault);
      await ledger.append([testRow()]).catch(() => undefined);
      await ledger.append([testRow()]);
    }
    expect(await ledger.verify()).toMatchObject({ valid: true });
  });
});

interface Load {
  /** Receipts of all successful appends. */
  readonly receipts: readonly AppendReceipt[];
  /** Waits until every started append succeeded, then stops. Returns the number of rows and of refused attempts. */
  end(): Promise<{ asked: number; refused: number }>;
}

/** Callers that append one row after the other and repeat each until it is accepted. */
function pressOn(ledger: WholeLedger, callers: number): Load {
  const receipts: AppendReceipt[] = [];
  let asked = 0;
  let refused = 0;
  let going = true;
  const appendUntilTaken = async (name: string): Promise<void> => {
    for (;;) {
      try {
        receipts.push(...(await ledger.append([testRow({ id: id(name) })])));
        return;
      } catch (error) {
        expect(error).toMatchObject({ code: 'ledger_store_unavailable' });
        refused += 1;
        await timePasses(5, 'a caller that tries again');
      }
    }
  };
  const all = Array.from({ length: callers }, async () => {
    while (going) await appendUntilTaken(`row-${asked++}`);
  });
  return {
    receipts,
    async end() {
      going = false;
      await Promise.all(all);
      return { asked, refused };
    },
  };
}

describe('Postgres connections that come and go', () => {
  let place: TestLedgerPlace;
  beforeEach(async () => {
    place = await ledgerPlace('postgres');
  });
  afterEach(() => place.remove());

  it.each<Fault>(['before', 'after'])(
    'one that breaks %s the commit took effect is replaced, and nobody notices',
    async (fault) => {
      const store = await openStore<LedgerTables>(place.target, ledgerMigrations);
      const ledger = ledgerOver(store, { sidecarKeys: place.keys });
      // The first append makes two writes under the lock. The second append is one statement, and its connection breaks.
      breakPostgresCommits(store, [null, null, fault]);
      await ledger.append([testRow({ id: id('a') })]);
      const [receipt] = await ledger.append([testRow({ id: id('b') })]);
      expect([receipt?.seq, receipt?.status]).toEqual([2, fault === 'after' ? 'retained' : 'created']);
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 2 });
      await ledger.close();
    },
  );

  it('ended by the server under load lose no acknowledged row and double none', async () => {
    const ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
    const load = pressOn(ledger, 8);
    let ended = 0;
    for (let round = 0; round < 6; round++) {
      await timePasses(40, 'the load goes on for a while');
      const backends = await place.sql(
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
      );
      ended += backends.length;
    }
    const { asked, refused } = await load.end();
    expect(ended).toBeGreaterThan(0);
    // A lost connection is replaced within the same append; the caller sees an error only when the new one breaks too.
    expect(refused).toBeLessThan(ended * 8);
    expect(new Set(load.receipts.map((receipt) => receipt.seq)).size).toBe(asked);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: asked });
    await ledger.close();
  });

  it('refused at first: appends are `ledger_store_unavailable` until the server is back', async () => {
    const store = await openStore<LedgerTables>(place.target, ledgerMigrations);
    const ledger = ledgerOver(store, { sidecarKeys: place.keys });
    const pool = store.pool as pg.Pool;
    const connect = pool.connect.bind(pool);
    pool.connect = (() => Promise.reject(new Error('connect ECONNREFUSED'))) as unknown as pg.Pool['connect'];
    await expect(ledger.append([testRow()])).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    await expect(ledger.ready()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    pool.connect = connect as unknown as pg.Pool['connect'];
    expect((await ledger.append([testRow()]))[0]?.seq).toBe(1);
    await ledger.close();
  });
});

describe('kill -9 of Postgres under load', () => {
  it('leaves a valid chain that holds every acknowledged row once, under the hash that was acknowledged', async () => {
    const { next: random } = seededRandom('kill -9 of Postgres');
    const postgres = await startMortalPostgres();
    const ledger = await openLedger({ target: { url: postgres.url, schema: 'ledger' }, sidecarKeys: testKeys() });
    const load = pressOn(ledger, 12);
    for (let round = 0; round < 3; round++) {
      const before = load.receipts.length;
      await eventually('fifty rows more', () => load.receipts.length >= before + 50);
      await timePasses(random() * 200, 'the kill comes at any moment');
      await postgres.kill();
      await postgres.restart();
    }
    const { asked, refused } = await load.end();
    expect(refused).toBeGreaterThan(0);
    expect(load.receipts).toHaveLength(asked);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: asked });
    const stored = new Map((await ledger.newest(asked)).map((row) => [row.id, `${row.seq} ${row.entry_hash}`]));
    expect(load.receipts.filter((row) => stored.get(row.id) !== `${row.seq} ${row.entry_hash}`)).toEqual([]);
    await ledger.close();
    await postgres.stop();
  }, 120_000);
});

describe.each(STORES)('kill -9 of the writing process, on %s', (kind) => {
  const WRITER = fileURLToPath(new URL('../../dist/test/support/ledger-writer.js', import.meta.url));
  const ROUNDS = 2;
  const ACKNOWLEDGED = 150;

  it('leaves a valid chain that holds every acknowledged row once, whole calls only', async () => {
    if (!existsSync(WRITER)) throw new Error('dist is missing: run `npm run build` first');
    const place = await ledgerPlace(kind, { durable: true });
    const key = randomBytes(32);
    const sidecarKeys = keyRing(new Map([['test', key]]));
    const acknowledged = new Map<string, string>();
    const writers = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      // In the last round two processes write at the same time, long enough to overlap. They take turns, whichever is killed first.
      const both = round === ROUNDS - 1;
      const names = both ? [`round-${round}`, `other-${round}`] : [`round-${round}`];
      const told = await Promise.all(
        names.map((name) => {
          writers.add(name);
          const args = [WRITER, JSON.stringify(place.target), key.toString('hex'), name];
          return killAfter(
            spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] }),
            both ? 1500 : ACKNOWLEDGED,
          );
        }),
      );
      for (const [entry, where] of told.flatMap((lines) => [...lines])) acknowledged.set(entry, where);
    }
    expect(acknowledged.size).toBeGreaterThanOrEqual((ROUNDS + 1) * ACKNOWLEDGED);

    const ledger = await openLedger({ target: place.target, sidecarKeys });
    const { length } = await ledger.head();
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: length });
    const stored = new Map((await ledger.newest(length)).map((row) => [row.id, `${row.seq} ${row.entry_hash}`]));
    expect(stored.size).toBe(length);
    expect([...acknowledged].filter(([entry, where]) => stored.get(entry) !== where)).toEqual([]);
    // A call stores both of its rows or neither, also when it was never answered.
    const halves = Array.from({ length }, (_, index) => String(index)).flatMap((index) =>
      [...writers].filter(
        (name) =>
          stored.has(uuidFromDigest(name, index, 'first')) !== stored.has(uuidFromDigest(name, index, 'second')),
      ),
    );
    expect(halves).toEqual([]);
    expect((await ledger.append([testRow()]))[0]?.seq).toBe(length + 1);
    await ledger.close();
    await place.remove();
  }, 60_000);
});

/** Collects the writer's acknowledgements, and kills it while it works. */
function killAfter(writer: ChildProcess, lines: number): Promise<Map<string, string>> {
  return new Promise((resolve, reject) => {
    let output = '';
    let errors = '';
    writer.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    writer.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.split('\n').length > lines) writer.kill('SIGKILL');
    });
    writer.on('error', reject);
    writer.on('close', (code, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error(`the writer ended by itself (${code}): ${errors}`));
      // The kill may have cut the last line; an incomplete line is not an acknowledgement.
      const whole = output.slice(0, output.lastIndexOf('\n')).split('\n');
      resolve(new Map(whole.map((line) => [line.slice(0, 36), line.slice(37)])));
    });
  });
}
