import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { testKeys, testRow } from '../../test/support/ledger.js';
import { type LocalFile, openLocalFile } from '../store/local-file.js';
import { type LedgerInFile, ledgerInFile } from './ledger-in-file.js';

describe('the ledger inside a file that others write to as well', () => {
  let directory: string;
  let file: LocalFile;
  let ledger: LedgerInFile;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'gate-in-file-'));
    file = await openLocalFile({ file: join(directory, 'lite.db'), migrations: { ledger: ledgerMigrations } });
    ledger = ledgerInFile(file, { sidecarKeys: testKeys() });
  });
  afterEach(async () => {
    await file.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is valid to a walk that meets rows of a transaction still open', async () => {
    await ledger.append([testRow(), testRow()]);
    // Both wait for the same sync, and the append runs first, so the walk starts over uncommitted rows.
    const appended = file.durable().then(() => ledger.append([testRow(), testRow(), testRow()]));
    const walk = ledger.verify();
    await appended;
    expect(file.connection.isTransaction).toBe(true);
    expect(await walk).toMatchObject({ valid: true, entries_checked: 5, commitment: { length: 5 } });
    await ledger.append([testRow()]);
    await file.durable();
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 6 });
  });

  it('goes on appending behind a head that a walk wrote', async () => {
    for (let round = 0; round < 20; round++) {
      const rows = ledger.append([testRow()]);
      const walks = [ledger.verify(), ledger.verify({ sinceCheckpoint: true })];
      await rows;
      await ledger.append([testRow()]);
      for (const walk of walks) expect((await walk).valid).toBe(true);
    }
    await file.durable();
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 40 });
  });

  it('does not call a chain broken because a transaction was undone under the walk', async () => {
    await ledger.append(Array.from({ length: 600 }, () => testRow()));
    await file.durable();
    const appended = file.durable().then(async () => {
      await ledger.append(Array.from({ length: 600 }, () => testRow()));
    });
    const walk = ledger.verify();
    await appended;
    expect(() =>
      file.apply(() => {
        throw new Error('the disk is full');
      }),
    ).toThrow('the disk is full');
    expect(await walk).toMatchObject({ valid: true, entries_checked: 600 });
  });

  it('compares with no row that was walked and then undone', async () => {
    await ledger.append([testRow(), testRow()]);
    await file.durable();
    let full = true;
    file.beforeCommit(() => {
      if (full) throw new Error('the disk is full');
    });
    // Both wait for the same sync. The rows are there when the walk reads them, and are rolled back before it ends.
    const appended = file.durable().then(() => ledger.append([testRow(), testRow(), testRow()]));
    const walk = ledger.verify();
    await appended;
    expect(await walk).toMatchObject({ valid: true, commitment: { length: 2 } });
    full = false;
    await ledger.append([testRow(), testRow(), testRow(), testRow()]);
    await file.durable();
    for (const sinceCheckpoint of [true, false])
      expect(await ledger.verify({ sinceCheckpoint })).toMatchObject({ valid: true, entries_checked: 6 });
  });
});
