import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { hilMigrations } from '../../migrations/hil.js';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { writeMigrated, writeMigratedTogether } from './migrated-file.js';

describe('a file that is written migrated', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gate-migrated-test-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const applied = (file: string, table: string): unknown[] => {
    const connection = new DatabaseSync(join(folder, file), { readOnly: true });
    const names = connection.prepare(`select name from ${table} order by name`).all();
    connection.close();
    return names.map((row) => (row as { name: string }).name);
  };

  it.each(['first', 'copy'])('has all migrations behind it, in one file: the %s', async (name) => {
    await writeMigrated(join(folder, `${name}.db`), hilMigrations);
    expect(readdirSync(folder).filter((each) => each.startsWith(name))).toEqual([`${name}.db`]);
    expect(applied(`${name}.db`, 'kysely_migration')).toEqual(Object.keys(hilMigrations).sort());
  });

  it('has those of each authority that shares it', async () => {
    await writeMigratedTogether(join(folder, 'shared.db'), { ledger: ledgerMigrations, hil: hilMigrations });
    expect(applied('shared.db', 'kysely_migration')).toEqual(Object.keys(ledgerMigrations).sort());
    expect(applied('shared.db', 'kysely_migration_hil')).toEqual(Object.keys(hilMigrations).sort());
  });
});
