import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Migration } from 'kysely';
import { openStore } from '../../adapters/store/database.js';
import { openLocalFile } from '../../adapters/store/local-file.js';

type Migrations = Readonly<Record<string, Migration>>;
type Migrated = (file: string) => Promise<{ close(): Promise<unknown> }>;

const migratedFiles = new Map<object, Promise<Buffer>>();

/**
 * Puts a SQLite file there that has these migrations behind it, for whoever opens it next. The product's own code migrates the first one of
 * a process; every other one is a copy, which takes a fifth of the time.
 */
export const writeMigrated = (file: string, migrations: Migrations): Promise<void> =>
  write(file, migrations, (first) => openStore({ file: first }, { ...migrations }));

/** The same for a file that several authorities share, as lite's: each set is known by the object that holds them all. */
export const writeMigratedTogether = (file: string, sets: Readonly<Record<string, Migrations>>): Promise<void> =>
  write(file, sets, (first) => openLocalFile({ file: first, migrations: { ...sets } }));

async function write(file: string, key: object, open: Migrated): Promise<void> {
  const known = migratedFiles.get(key) ?? migrated(open);
  migratedFiles.set(key, known);
  writeFileSync(file, await known, { mode: 0o600 });
}

async function migrated(open: Migrated): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'gate-migrated-'));
  const file = join(directory, 'migrated.db');
  try {
    await (await open(file)).close();
    emptyLog(file);
    return readFileSync(file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Into the file goes what its write-ahead log has. A store that is closed leaves it there as long as its prepared statements are not collected. */
function emptyLog(file: string): void {
  const connection = new DatabaseSync(file);
  connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  connection.close();
}
