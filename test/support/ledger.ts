import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Migration } from 'kysely';
import pg from 'pg';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { type KeyRing, keyRing } from '../../domain/crypto/key-ring.js';
import { sidecarSha256 } from '../../domain/ledger/sidecar-digest.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { writeMigrated } from './migrated-file.js';
import { startPostgres } from './postgres.js';

export const STORES = ['sqlite', 'postgres'] as const;
type Value = string | number | Buffer | null;

/** Where a ledger of a test lives, and the hands of somebody who edits it from outside. */
export interface TestLedgerPlace {
  readonly target: StoreTarget;
  readonly keys: KeyRing;
  /** Runs SQL with `?` placeholders on a connection of its own. */
  sql(text: string, values?: readonly Value[]): Promise<Record<string, Value>[]>;
  /** Takes the triggers and foreign keys away, as an editor with full access would. */
  unlock(): Promise<void>;
  remove(): Promise<void>;
}

export const testKeys = (): KeyRing => keyRing(new Map([['test', randomBytes(32)]]));

type Migrations = Readonly<Record<string, Migration>>;
export const NOT_MIGRATED: Migrations = {};

export interface PlaceOptions {
  readonly durable?: boolean;
  /**
   * The place has these migrations behind it, and whoever opens it need not wait for them: by default those of the ledger. `NOT_MIGRATED` for a
   * place that the product has yet to migrate.
   */
  readonly migrated?: Migrations;
}

export async function ledgerPlace(
  kind: (typeof STORES)[number],
  { durable = false, migrated = ledgerMigrations }: PlaceOptions = {},
): Promise<TestLedgerPlace> {
  return kind === 'sqlite' ? sqlitePlace(migrated) : postgresPlace(durable, migrated);
}

async function sqlitePlace(migrations: Migrations): Promise<TestLedgerPlace> {
  const directory = mkdtempSync(join(tmpdir(), 'gate-ledger-test-'));
  const file = join(directory, 'ledger.db');
  if (migrations !== NOT_MIGRATED) await writeMigrated(file, migrations);
  const using = <Result>(use: (connection: InstanceType<typeof DatabaseSync>) => Result): Result => {
    const connection = new DatabaseSync(file, { enableForeignKeyConstraints: false });
    try {
      return use(connection);
    } finally {
      connection.close();
    }
  };
  return {
    target: { file },
    keys: testKeys(),
    sql: (text, values = []) =>
      Promise.resolve().then(() =>
        using((connection) => connection.prepare(text).all(...values) as Record<string, Value>[]),
      ),
    unlock: () =>
      Promise.resolve().then(() =>
        using((connection) => {
          const triggers = connection.prepare("select name from sqlite_master where type = 'trigger'").all();
          for (const { name } of triggers as { name: string }[]) connection.exec(`drop trigger ${name}`);
        }),
      ),
    remove: () => Promise.resolve(rmSync(directory, { recursive: true, force: true })),
  };
}

async function postgresPlace(durable: boolean, migrations: Migrations): Promise<TestLedgerPlace> {
  const { url, stop } = await startPostgres({
    durable,
    ...(migrations !== NOT_MIGRATED && { migrated: { schema: 'ledger', migrations } }),
  });
  const pool = new pg.Pool({ connectionString: url, max: 1, options: '-c search_path=ledger' });
  pool.on('error', () => {
    // The database is dropped while an idle connection is still closing.
  });
  return {
    target: { url, schema: 'ledger' },
    keys: testKeys(),
    async sql(text, values = []) {
      let index = 0;
      const { rows } = await pool.query<Record<string, Value>>(
        text.replaceAll('?', () => `$${++index}`),
        [...values],
      );
      return rows;
    },
    async unlock() {
      for (const table of [
        'ledger_entries',
        'entry_payloads',
        'ledger_head',
        'ledger_vacuum_cursors',
        'ledger_vacuumed_rows',
      ])
        await pool.query(`alter table ${table} disable trigger all`);
    },
    async remove() {
      await pool.end();
      await stop();
    },
  };
}

/** A row as the pipeline writes it; about 900 bytes in the store. */
export const testRow = (change: Partial<NewLedgerRow> = {}): NewLedgerRow => ({
  agent_id: 'agent-a',
  method: 'proxy.verdict',
  event_kind: 'proxy.verdict',
  intent_category: 'Direct Execution',
  authorized: true,
  reasoning: 'read of a file the agent owns',
  policy_decision: { allow: true, reasons: [], policy_bundle: 'v1', approval_tier: null },
  state_namespace: 'operator',
  correlation_id: '55555555-5555-4555-8555-555555555555',
  tenant: 'acme',
  agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/agent-a/instance/66666666-6666-4666-8666-666666666666',
  tool_name: 'files.read',
  cost_micros: 0,
  ...change,
});

/** What a row commits to, beside it. */
export function committed(payload: object): Pick<NewLedgerRow, 'payload_sha256' | 'payload_canonical_json'> {
  const text = JSON.stringify(payload);
  return { payload_sha256: sidecarSha256(text), payload_canonical_json: text };
}
