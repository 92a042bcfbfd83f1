import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { type Kysely, type Migration, sql } from 'kysely';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { openStore } from './database.js';
import { sealStore } from './seal-store.js';

const TABLES: Record<string, Migration> = {
  '0001-seal': {
    async up(db: Kysely<unknown>) {
      await sql`create table seal (id integer primary key, mac text not null)`.execute(db);
    },
  },
};

it('waits for another process that seals the same file as long as the opening does, and later writes a second', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gate-seal-'));
  const store = await openStore<never>({ file: join(folder, 'calls.db') }, TABLES);
  const waits = async (db: Kysely<never>) => (await sql<{ timeout: number }>`pragma busy_timeout`.execute(db)).rows;
  let within: unknown;
  const seal = (adoptAll: (transaction: Kysely<never>) => Promise<void>) =>
    sealStore<never>(store, {
      keys: keyRing(new Map([['k', Buffer.alloc(32, 'k')]])),
      table: 'seal',
      message: 'sealed',
      use: 'test',
      rows: 'rows',
      keysAre: 'keys',
      anyWithMac: () => Promise.resolve(false),
      adoptAll,
    });
  await expect(seal(() => Promise.reject(new Error('no row can be read')))).rejects.toThrow('no row can be read');
  expect(await waits(store.db)).toEqual([{ timeout: 1_000 }]);
  await seal(async (transaction) => {
    within = await waits(transaction);
  });
  expect(within).toEqual([{ timeout: 5_000 }]);
  expect(await waits(store.db)).toEqual([{ timeout: 1_000 }]);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
