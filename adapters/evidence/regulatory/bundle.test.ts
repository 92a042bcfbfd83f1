import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerMigrations } from '../../../migrations/ledger.js';
import { unpack } from '../../../test/support/bundle.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { openStore } from '../../store/database.js';
import { ledgerOver, type WholeLedger } from '../../../test/support/whole-ledger.js';
import { keyFileSigner } from '../../../domain/ledger/signatures/blob-signer.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { type BundleOptions, createBundleMaker, type MakeBundle } from './bundle.js';
import { createRegulatoryExport } from './export.js';
import { eventually } from '../../../test/support/waiting.js';

const REQUEST = { tenant: 'acme', from: '2020-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' };

describe('what a regulatory bundle leaves on this machine', () => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  let folder: string;
  let maker: (change?: Partial<BundleOptions>) => MakeBundle;

  beforeEach(async () => {
    place = await ledgerPlace('sqlite');
    folder = mkdtempSync(join(tmpdir(), 'gate-bundle-test-'));
    const store = await openStore<LedgerTables>(place.target, ledgerMigrations);
    const { privateKey } = generateKeyPairSync('ed25519');
    const signer = keyFileSigner({ privateKey, keyId: 'gate-ledger:v1', issuer: 'spiffe://gate.local/service/ledger' });
    ledger = ledgerOver(store, { sidecarKeys: place.keys, keySet: signer.keySet });
    await ledger.append(Array.from({ length: 300 }, () => testRow()));
    maker = (change = {}) =>
      createBundleMaker({
        db: store.db,
        assurance: ledger,
        head: () => ledger.head(),
        signer,
        goneFrom: () => Promise.resolve(null),
        coldExports: () => Promise.resolve([]),
        anchorLines: async function* () {},
        clock: Date.now,
        folder,
        ...change,
      });
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const empty = async () => {
    await eventually('an empty folder', () => readdirSync(folder).length === 0);
    return readdirSync(folder);
  };

  it('is nothing once it was read', async () => {
    const bundle = await maker()(REQUEST);
    expect(readdirSync(folder)).toHaveLength(1);
    expect(String(unpack(await buffer(bundle.stream())).get('entries.ndjson')).split('\n')).toHaveLength(301);
    expect(await empty()).toEqual([]);
  });

  it('is waited for where more rows come than are written at once', async () => {
    for (let round = 0; round < 20; round++) await ledger.append(Array.from({ length: 500 }, () => testRow()));
    const bundle = await maker()(REQUEST);
    expect(bundle.manifest.row_count).toBe(10_300);
    const lines = String(unpack(await buffer(bundle.stream())).get('entries.ndjson'))
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(10_300);
  });

  it('is nothing when the reader hangs up, or nobody reads', async () => {
    const stream = (await maker()(REQUEST)).stream();
    await new Promise((resolve) => stream.once('readable', resolve));
    stream.destroy();
    expect(await empty()).toEqual([]);
    await (await maker()(REQUEST)).discard();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is nothing when it could not be signed, or a file could not be made', async () => {
    const unsigned = maker({ signer: { sign: () => Promise.reject(new Error('away')) } });
    await expect(unsigned(REQUEST)).rejects.toMatchObject({ code: 'signing_unavailable' });
    const gone = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('gone')) }) };
    const broken = maker({ anchorLines: () => gone });
    await expect(broken(REQUEST)).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is nothing signed when a row was changed between the walk and the export', async () => {
    const assurance = {
      ...ledger,
      verifyAssured: async () => {
        const result = await ledger.verifyAssured();
        await place.unlock();
        await place.sql('update ledger_entries set reasoning = ? where seq = 7', ['x']);
        return result;
      },
    };
    await expect(maker({ assurance })(REQUEST)).rejects.toMatchObject({ code: 'chain_verification_incomplete' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is nothing when the row about the export could not be appended', async () => {
    const away = () => Promise.reject(new Error('away'));
    await expect(createRegulatoryExport(maker(), away, { legalHold: false })(REQUEST)).rejects.toThrow('away');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('holds no row behind the end of the walk', async () => {
    const assurance = {
      ...ledger,
      verifyAssured: async () => {
        const result = await ledger.verifyAssured();
        await ledger.append([testRow()]);
        return result;
      },
    };
    const bundle = await maker({ assurance })(REQUEST);
    expect([bundle.manifest.row_count, bundle.manifest.seq_hi]).toEqual([300, 300]);
    await bundle.discard();
  });

  it('walks again when the chain grew before the walk that was under way had begun', async () => {
    let walks = 0;
    const assurance = {
      ...ledger,
      verifyAssured: async () => {
        walks += 1;
        const result = await ledger.verifyAssured();
        return walks === 1
          ? { ...result, commitment: { contract: 'gate.verified-chain/v1' as const, head_hash: '', length: 1 } }
          : result;
      },
    };
    const bundle = await maker({ assurance })(REQUEST);
    expect([walks, bundle.manifest.row_count]).toEqual([2, 300]);
    await bundle.discard();
  });
});
