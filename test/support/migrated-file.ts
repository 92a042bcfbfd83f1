import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Migration } from 'kysely';
import { openStore } from '../../adapters/store/database.js';

type Migrations = Readonly<Record<string, Migration>>;

const migratedFiles = new Map<Migrations, Promise<Buffer>>();

/**
 * Puts a SQLite file there that has these migrations behind it, for whoever opens it next. The product's own code migrates the first one of
 * a process; every other one is a copy, which takes a fifth of the time.
 */
export async function writeMigrated(file: string, migrations: Migrations): Promise<void> {
  const known = migratedFiles.get(migrations) ?? migrated(migrations);
  migratedFiles.set(migrations, known);
  writeFileSync(file, await known, { mode: 0o600 });
}

async function migrated(migrations: Migrations): Promise<Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'gate-migrated-'));
  const file = join(directory, 'migrated.db');
  try {
    // Closed, it is whole: its write-ahead log is empty.
    await (await openStore({ file }, { ...migrations })).close();
    return readFileSync(file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
