import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ledgerPlace, type TestLedgerPlace, testKeys, testRow } from '../../test/support/ledger.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../../domain/crypto/digest.js';
import { eventually } from '../../test/support/waiting.js';
import { exportChain } from './export-chain.js';
import { openLedger } from '../../test/support/whole-ledger.js';
import { openLedgerReadOnly } from './read-only.js';

let folder: string;
let place: TestLedgerPlace;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-export-'));
  place = await ledgerPlace('postgres');
});
afterEach(async () => {
  await place.remove();
  rmSync(folder, { recursive: true, force: true });
});
const source = () => place.target as { url: string; schema: string };
const fileName = (name = 'copy.db') => join(folder, name);

/** More than a page of rows: some with sidecars, one of those purged, and one row with a value in every field. */
async function filled(): Promise<{ rows: unknown[]; head: { length: number; hash: string } }> {
  const ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
  const payload = canonicalJson({ path: 'notes.txt', text: 'größer als ASCII 🙂' });
  for (let page = 0; page < 3; page += 1)
    await ledger.append(
      Array.from({ length: 240 }, (_, index) =>
        testRow({
          id: uuidFromDigest('export', String(page), String(index)),
          cost_micros: index === 7 ? Number.MAX_SAFE_INTEGER : null,
          reasoning: index === 9 ? 'a "quoted" reason\nwith ünïcode 🙂' : 'read',
          ...(index % 50 === 0 && { payload_sha256: sha256Hex(payload), payload_canonical_json: payload }),
        }),
      ),
    );
  await ledger.purgeSidecar(uuidFromDigest('export', '1', '50'));
  const rows = await ledger.newest(1_000);
  const head = await ledger.head();
  await ledger.close();
  return { rows, head };
}

describe('a Postgres ledger exported to a file', () => {
  it('verifies in lite with the same hashes, the same head and the same sealed bytes', async () => {
    const { rows, head } = await filled();
    expect(await exportChain(source(), fileName())).toEqual({ entries: 720, sidecars: 15 });
    const copy = openLedgerReadOnly(fileName(), { sidecarKeys: place.keys });
    expect(await copy.verify()).toMatchObject({
      valid: true,
      entries_checked: 720,
      commitment: { head_hash: head.hash, length: head.length },
      sidecars: { checked: 14, purged: 1, unchecked: 0 },
    });
    expect(await copy.newest(1_000)).toEqual(rows);
    expect(await copy.sidecar(uuidFromDigest('export', '2', '100'))).toMatchObject({
      text: expect.stringContaining('🙂'),
    });
    await copy.close();
  }, 60_000);

  it('is the chain as of one moment, whatever is appended while it is copied', async () => {
    const { head } = await filled();
    const client = new pg.Client({ connectionString: source().url, options: '-c search_path=ledger' });
    await client.connect();
    await client.query('begin');
    await client.query('lock table ledger_head in access exclusive mode');
    const copying = exportChain(source(), fileName());
    // It has the entries, and waits for the head.
    await eventually('the copy waits for the head', async () => {
      const { rows } = await client.query(
        "select 1 from pg_locks where not granted and relation = 'ledger_head'::regclass",
      );
      return rows.length > 0;
    });
    await client.query("update ledger_head set length = length + 1, head_hash = 'moved'");
    await client.query('commit');
    await client.end();
    await copying;
    const copy = openLedgerReadOnly(fileName(), { sidecarKeys: place.keys });
    expect(await copy.verify()).toMatchObject({
      valid: true,
      commitment: { head_hash: head.hash, length: head.length },
    });
    await copy.close();
  }, 60_000);

  it('keeps rows hidden that are hidden there', async () => {
    await filled();
    await place.sql("update ledger_entries set deleted_at = '2026-01-02T03:04:05.006Z' where seq = 720");
    await exportChain(source(), fileName());
    const copy = openLedgerReadOnly(fileName(), { sidecarKeys: place.keys });
    expect(await copy.verify()).toMatchObject({ valid: true, entries_checked: 720 });
    expect((await copy.newest(1))[0]?.seq).toBe(719);
    await copy.close();
  }, 60_000);

  it('is a ledger that goes on: new rows follow the old ones', async () => {
    const { head } = await filled();
    await exportChain(source(), fileName());
    const ledger = await openLedger({ target: { file: fileName() }, sidecarKeys: place.keys });
    expect(await ledger.append([testRow()])).toMatchObject([{ seq: head.length + 1 }]);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: head.length + 1 });
    await ledger.close();
  }, 60_000);

  it('of an empty ledger is an empty ledger', async () => {
    await (await openLedger({ target: place.target, sidecarKeys: place.keys })).close();
    expect(await exportChain(source(), fileName())).toEqual({ entries: 0, sidecars: 0 });
    const copy = openLedgerReadOnly(fileName(), { sidecarKeys: place.keys });
    expect(await copy.verify()).toMatchObject({ valid: true, entries_checked: 0 });
    await copy.close();
  });

  it.each([
    ['a changed entry', "update ledger_entries set reasoning = 'nothing' where seq = 3", 3, 'entry_hash'],
    ['a removed entry', 'delete from ledger_entries where seq = 1', 2, 'seq'],
    ['removed newest rows', 'delete from ledger_entries where seq > 718', 719, 'head'],
    ['a forged head', 'update ledger_head set head_seal = null', 720, 'head'],
    ['a missing head', 'delete from ledger_head', 721, 'head'],
  ])(
    'of a chain with %s does not verify, at the same place',
    async (_name, change, seq, reason) => {
      await filled();
      await place.unlock();
      await place.sql(change);
      await exportChain(source(), fileName());
      const copy = openLedgerReadOnly(fileName(), { sidecarKeys: place.keys });
      expect(await copy.verify()).toMatchObject({ valid: false, first_invalid_seq: seq, first_invalid_reason: reason });
      await copy.close();
    },
    60_000,
  );

  it('leaves sidecars and seal unchecked without keys, and refuses the seal with other keys', async () => {
    await filled();
    await exportChain(source(), fileName());
    const keyless = openLedgerReadOnly(fileName());
    expect(await keyless.verify()).toMatchObject({ valid: true, sidecars: { checked: 0, unchecked: 15 } });
    await keyless.close();
    const foreign = openLedgerReadOnly(fileName(), { sidecarKeys: testKeys() });
    expect(await foreign.verify()).toMatchObject({ valid: false });
    await foreign.close();
  }, 60_000);

  it('replaces no file, and leaves none behind where there is no ledger or no database', async () => {
    writeFileSync(fileName('there.db'), 'mine');
    await expect(exportChain(source(), fileName('there.db'))).rejects.toThrow('is there already');
    await expect(exportChain({ ...source(), schema: 'another' }, fileName())).rejects.toThrow(
      'no ledger in the schema',
    );
    await expect(
      exportChain({ url: 'postgres://nobody@127.0.0.1:1/none', schema: 'ledger' }, fileName()),
    ).rejects.toThrow('the export failed');
    expect([existsSync(fileName()), existsSync(fileName('copy.db.exporting'))]).toEqual([false, false]);
  });
});
