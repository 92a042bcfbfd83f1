import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../../test/support/ledger.js';
import { sha256Hex, uuidFromDigest } from '../../domain/crypto/digest.js';
import { type WholeLedger, openLedger } from '../../test/support/whole-ledger.js';
import { openLedgerReadOnly } from './read-only.js';

const id = (name: string) => uuidFromDigest('test', name);
const payload = '{"a":1}';
const ROW = testRow({ id: id('a'), payload_sha256: sha256Hex(payload), payload_canonical_json: payload });

describe('a ledger file that is only looked at', () => {
  let place: TestLedgerPlace;
  let file: string;
  let ledger: WholeLedger;
  const folder = () =>
    readdirSync(dirname(file)).map((name) => [
      name,
      statSync(join(dirname(file), name)).isFile() && sha256Hex(readFileSync(join(dirname(file), name))),
    ]);

  beforeEach(async () => {
    place = await ledgerPlace('sqlite');
    file = (place.target as { file: string }).file;
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
    await ledger.append([ROW, testRow()]);
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  it('while the ledger runs on it: sees what is committed, changes nothing, and disturbs nobody', async () => {
    const before = readdirSync(dirname(file));
    const shown = openLedgerReadOnly(file, { sidecarKeys: place.keys });
    expect(await shown.verify()).toMatchObject({ valid: true, entries_checked: 2, sidecars: { checked: 1 } });
    await ledger.append([testRow()]);
    expect(await shown.verify()).toMatchObject({ valid: true, entries_checked: 3 });
    expect(await shown.byAgent('agent-a')).toHaveLength(3);
    expect(await shown.sidecar(id('a'))).toMatchObject({ text: payload });
    await shown.close();
    expect(readdirSync(dirname(file))).toEqual(before);
    expect((await ledger.append([testRow()]))[0]?.seq).toBe(4);
  });

  it('after the ledger has closed: the folder is the same afterwards, byte for byte', async () => {
    await ledger.close();
    const before = folder();
    const shown = openLedgerReadOnly(file, { sidecarKeys: place.keys });
    expect(await shown.verify()).toMatchObject({ valid: true, entries_checked: 2 });
    await shown.close();
    expect(folder()).toEqual(before);
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
  });

  it('of before rows could be hidden or vacuumed: read as it is', async () => {
    await ledger.close();
    await place.unlock();
    for (const table of ['ledger_vacuum_cursors', 'ledger_vacuumed_rows']) await place.sql(`drop table ${table}`);
    await place.sql('drop index ledger_entries_hidden');
    for (const column of ['deleted_at', 'demo_deleted_at'])
      await place.sql(`alter table ledger_entries drop column ${column}`);
    const shown = openLedgerReadOnly(file, { sidecarKeys: place.keys });
    expect(await shown.verify()).toMatchObject({ valid: true, entries_checked: 2 });
    expect(await shown.agents()).toEqual(['agent-a']);
    expect(await shown.byAgent('agent-a', { limit: 1 })).toHaveLength(1);
    expect(await shown.sidecar(id('a'))).toMatchObject({ text: payload });
    await shown.close();
    // Makes the file look older than these migrations. To the ledger itself such a file would be damaged.
    await place.sql("delete from kysely_migration where name in ('0002_hidden_rows', '0012_vacuum')");
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
  });

  it('copied alone after close, it is the whole chain', async () => {
    await ledger.close();
    const copy = join(dirname(file), 'copy', 'ledger.db');
    mkdirSync(dirname(copy));
    copyFileSync(file, copy);
    const shown = openLedgerReadOnly(copy);
    expect(await shown.verify()).toMatchObject({ valid: true, entries_checked: 2, sidecars: { unchecked: 1 } });
    await shown.close();
    expect(readdirSync(dirname(copy))).toEqual(['ledger.db']);
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
  });

  it('copied with its log but without the index: sees the log, and creates nothing beside the copy', async () => {
    const copy = join(dirname(file), 'copy', 'ledger.db');
    mkdirSync(dirname(copy));
    for (const end of ['', '-wal']) copyFileSync(`${file}${end}`, `${copy}${end}`);
    const shown = openLedgerReadOnly(copy, { sidecarKeys: place.keys });
    expect(await shown.verify()).toMatchObject({ valid: true, entries_checked: 2 });
    await shown.close();
    expect(readdirSync(dirname(copy))).toEqual(['ledger.db', 'ledger.db-wal']);
  });

  it('finds a changed row like the ledger itself does', async () => {
    await place.unlock();
    await place.sql('update ledger_entries set authorized = 0 where seq = 2');
    const shown = openLedgerReadOnly(file, { sidecarKeys: place.keys });
    expect(await shown.verify()).toMatchObject({ valid: false, first_invalid_seq: 2 });
    await shown.close();
  });

  it.each([
    ['a checkpoint was signed over', "insert into ledger_checkpoints values (2, 'note', '2026-01-01T00:00:00.000Z')"],
    ['a sink confirmed', "insert into egress_cursors values ('sink', 2, '2026-01-01T00:00:00.000Z')"],
  ])('finds that a chain was emptied, head and all, where %s more', async (_, promise) => {
    const [head] = await place.sql('select * from ledger_head');
    await ledger.close();
    await place.sql(promise);
    await place.unlock();
    await place.sql('delete from entry_payloads');
    await place.sql('delete from ledger_entries');
    await place.sql(`update ledger_head set length = 0, head_hash = '${'0'.repeat(64)}', head_seal = null`);
    const shown = openLedgerReadOnly(file, { sidecarKeys: place.keys });
    expect(head?.['length']).toBe(2);
    expect(await shown.verify()).toMatchObject({
      valid: false,
      first_invalid_seq: 1,
      first_invalid_reason: 'head',
    });
    await shown.close();
    await place.sql('delete from ledger_checkpoints');
    await place.sql('delete from egress_cursors');
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
  });

  it('refuses a file that does not exist, and does not create it', () => {
    const missing = join(dirname(file), 'missing.db');
    expect(() => openLedgerReadOnly(missing)).toThrow(/no ledger file at/);
    expect(() => openLedgerReadOnly(dirname(file))).toThrow(/no ledger file at/);
    expect(readdirSync(dirname(file))).not.toContain('missing.db');
  });

  it('refuses a file that is no ledger', () => {
    const other = join(dirname(file), 'other.db');
    writeFileSync(other, 'not a database at all, but long enough to be read as one'.repeat(40));
    expect(() => openLedgerReadOnly(other)).toThrow(/is not a ledger file/);
    writeFileSync(other, '');
    expect(() => openLedgerReadOnly(other)).toThrow(/is not a ledger file/);
    expect(readFileSync(other)).toHaveLength(0);
  });
});
