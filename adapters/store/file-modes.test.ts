import { mkdtempSync, mkdirSync, rmSync, statSync, writeFileSync, chmodSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { callMigrations } from '../../migrations/calls.js';
import { backupLedger } from '../../lite/ledger-file.js';
import { openStore } from './database.js';
import { openLocalFile } from './local-file.js';

let folder: string;
let umask: number;
beforeEach(() => {
  umask = process.umask(0o022);
  folder = mkdtempSync(join(tmpdir(), 'gate-modes-'));
});
afterEach(() => {
  process.umask(umask);
  rmSync(folder, { recursive: true, force: true });
});

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const modesIn = (place: string) =>
  Object.fromEntries(readdirSync(place).map((name) => [name, modeOf(join(place, name))]));

const opens: readonly (readonly [string, (file: string) => Promise<{ close(): Promise<unknown> }>])[] = [
  ['a store', (file) => openStore({ file }, callMigrations)],
  ['the file of lite', (file) => openLocalFile({ file, migrations: { calls: callMigrations } })],
];

describe.each(opens)('what %s keeps is for its owner alone', (_name, open) => {
  it('when it is made: the database, its log, its index, and a folder that was missing', async () => {
    const place = join(folder, 'state', 'data');
    const opened = await open(join(place, 'calls.db'));
    expect(modesIn(place)).toEqual({ 'calls.db': '600', 'calls.db-wal': '600', 'calls.db-shm': '600' });
    expect([modeOf(place), modeOf(join(folder, 'state'))]).toEqual(['700', '700']);
    await opened.close();
  });

  it('when it was open to others before, also while a log lay beside it', async () => {
    const place = join(folder, 'theirs');
    mkdirSync(place, { mode: 0o755 });
    const file = join(place, 'calls.db');
    const earlier = new DatabaseSync(file);
    earlier.exec('PRAGMA journal_mode=WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)');
    for (const name of readdirSync(place)) chmodSync(join(place, name), 0o644);
    const opened = await open(file);
    expect(new Set(Object.values(modesIn(place)))).toEqual(new Set(['600']));
    // The folder is whoever made it: a project's own folder is not closed to its group.
    expect(modeOf(place)).toBe('755');
    await opened.close();
    earlier.close();
  });
});

it('a backup is for its owner alone, also over a copy that others could read', async () => {
  const [file, copy] = [join(folder, 'gate.db'), join(folder, 'copy.db')];
  const opened = await openLocalFile({ file, migrations: { calls: callMigrations } });
  await opened.close();
  writeFileSync(copy, 'an earlier copy', { mode: 0o644 });
  expect(await backupLedger(file, copy)).toBeGreaterThan(0);
  expect(modeOf(copy)).toBe('600');
});
