import type pg from 'pg';
import { callMigrations } from '../../migrations/calls.js';
import type { HeldRows } from '../../contracts/ledger.js';
import { callStoreInFile, callStoreOver } from '../../adapters/call/call-store.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { openStore, type StoreTarget } from '../../adapters/store/database.js';
import { openLocalFile } from '../../adapters/store/local-file.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { CallTables } from '../../adapters/call/tables.js';

/** What a call store was asked for, and what it took to answer. Counts, so that they are the same on every machine. */
export interface Counted {
  /** Reads of a record by its id. */
  looks: number;
  /** Reads of an agent's history. */
  histories: number;
  /** Everything the store was asked to run, those two included. */
  statements: number;
  /** Sealed parts of records that were opened. */
  records: number;
  /** Staged requests that were opened. */
  requests: number;
  /** MACs of records that were checked. */
  macs: number;
}
export const NOTHING_COUNTED: Counted = { looks: 0, histories: 0, statements: 0, records: 0, requests: 0, macs: 0 };

export interface CountedCalls {
  readonly calls: CallStore;
  /** What was counted since the last time it was taken. */
  taken(): Counted;
}

const EVERY = [
  ['looks', /^select correlation_id, version\b[^]* where correlation_id = (?:\?|\$1)$/],
  ['histories', /^select tool, sibling_tools\b/],
] as const;

function counting(keys: KeyRing) {
  let counted = { ...NOTHING_COUNTED };
  return {
    taken: () => {
      const now = counted;
      counted = { ...NOTHING_COUNTED };
      return now;
    },
    note(text: string) {
      if (!/^\s*(?:select|insert|update|delete)\b/i.test(text)) return;
      counted.statements += 1;
      for (const [what, asked] of EVERY) if (asked.test(text)) counted[what] += 1;
    },
    ring: {
      ...keys,
      open(sealed, context) {
        counted[context.includes('/request/') ? 'requests' : 'records'] += 1;
        return keys.open(sealed, context);
      },
      authentic(tag, message, use) {
        counted.macs += 1;
        return keys.authentic(tag, message, use);
      },
    } satisfies KeyRing,
  };
}

/** The store of the full edition, on SQLite or Postgres. */
export async function countedCalls(target: StoreTarget, keys: KeyRing, ledger: HeldRows): Promise<CountedCalls> {
  const { ring, note, taken } = counting(keys);
  const store = await openStore<CallTables>(target, callMigrations, {}, { beforeStatement: note });
  const { pool } = store;
  if (pool) {
    const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>;
    const tapped = new WeakSet<pg.PoolClient>();
    pool.connect = (async () => {
      const client = await connect();
      if (tapped.has(client)) return client;
      tapped.add(client);
      const query = client.query.bind(client) as (text: string, ...rest: unknown[]) => unknown;
      client.query = ((text: string, ...rest: unknown[]) => {
        note(text);
        return query(text, ...rest);
      }) as typeof client.query;
      return client;
    }) as typeof pool.connect;
  }
  return { calls: callStoreOver(store, { keys: ring, ledger }), taken };
}

/** Lite's store. */
export async function countedCallsInFile(file: string, keys: KeyRing): Promise<CountedCalls> {
  const { ring, note, taken } = counting(keys);
  const opened = await openLocalFile({ file, migrations: { calls: callMigrations } });
  const { connection } = opened;
  const prepare: typeof connection.prepare = (text, ...options) => {
    const prepared = connection.prepare(text, ...options);
    return new Proxy(prepared, {
      get: (of, name) => {
        const member: unknown = Reflect.get(of, name);
        if (typeof member !== 'function') return member;
        return (...values: unknown[]): unknown => {
          if (name === 'get' || name === 'all' || name === 'run') note(text);
          return Reflect.apply(member, of, values) as unknown;
        };
      },
    });
  };
  const calls = callStoreInFile(
    { ...opened, connection: { exec: (text: string) => connection.exec(text), prepare } as typeof connection },
    { keys: ring },
  );
  return {
    taken,
    calls: {
      ...calls,
      async close() {
        await calls.close();
        await opened.close();
      },
    },
  };
}
