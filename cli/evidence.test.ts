import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type LedgerStore, openLedger } from '../domain/ledger/ledger-store.js';
import type { TransparencyLog } from '../domain/ledger/tlog/transparency-log.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../test/support/ledger.js';
import { proveEntry, verdictText, verifyEvidence } from './evidence.js';

let folder: string;
let place: TestLedgerPlace;
let ledger: LedgerStore;
let log: TransparencyLog;

/** Answers as the ledger's routes do. */
const ask = async <Answer>(path: string): Promise<Answer> => {
  const { pathname, searchParams } = new URL(path, 'http://ledger');
  const number = (name: string) => Number(searchParams.get(name));
  const id = searchParams.get('id');
  const answer =
    pathname === '/proof/inclusion'
      ? await log.inclusion(id === null ? { seq: number('seq') } : { id })
      : await log.consistency(number('from'), number('to'));
  return answer as Answer;
};
const write = (name: string, content: unknown): string => {
  const file = join(folder, name);
  writeFileSync(file, typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content));
  return file;
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-evidence-'));
  place = await ledgerPlace('sqlite');
  ledger = await openLedger({
    target: place.target,
    sidecarKeys: place.keys,
    checkpoints: { origin: 'gate.test', privateKey: generateKeyPairSync('ed25519').privateKey, witnesses: [] },
  });
  log = ledger.transparency as TransparencyLog;
});
afterAll(async () => {
  await ledger.close();
  await place.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe('gate prove and gate verify --bundle', () => {
  it('what one writes the other finds to hold, by seq and by id, with a checkpoint that was kept', async () => {
    await ledger.append([testRow(), testRow()]);
    const kept = (await ask<{ checkpoint: string }>('/proof/inclusion?seq=2')).checkpoint;
    const [third] = await ledger.append([testRow()]);
    const bundle = await proveEntry(ask, { id: third?.id ?? '' }, kept);
    const file = write('bundle.json', bundle);
    const verdict = await verifyEvidence(file, { key: log.vkey });
    expect(verdictText(verdict)).toMatch(
      /^ok {6}row: seq 3.*\nok {6}checkpoint: gate\.test, 3 entries.*\nok {6}inclusion: entry 3 of 3\nok {6}consistency: the 3 entries begin with the 2 .*\nthe bundle holds\n$/,
    );
    expect((await verifyEvidence(file, { key: write('log.vkey', `${log.vkey}\n`) })).valid).toBe(true);
    expect((await verifyEvidence(write('plain.json', await proveEntry(ask, { seq: 1 })), {})).valid).toBe(true);
    await expect(proveEntry(ask, { seq: 1 }, 'no checkpoint')).rejects.toThrow('--since');
    const longer = kept.replace('\n2\n', '\n9\n');
    await expect(proveEntry(ask, { seq: 1 }, longer)).rejects.toMatchObject({ exitCode: 2 });
  });

  it('says what is broken', async () => {
    const bundle = await proveEntry(ask, { seq: 1 });
    const file = write('changed.json', { ...bundle, entry: { ...bundle.entry, authorized: false } });
    const verdict = await verifyEvidence(file, { key: log.vkey });
    expect(verdict.valid).toBe(false);
    expect(verdictText(verdict)).toBe(
      'BROKEN  row: the row does not hash to its entry_hash\nINVALID: this is not what the ledger signed\n',
    );
  });

  it('what is no evidence is an error and no verdict', async () => {
    const of = (file: string, trust = {}) => verifyEvidence(file, trust);
    await expect(of(join(folder, 'none'))).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('ENOENT'),
    });
    await expect(of(write('text', 'hello'))).rejects.toThrow('neither a proof bundle');
    await expect(of(write('half.json', '{"contract":'))).rejects.toThrow('not JSON');
    await expect(of(write('other.json', {}))).rejects.toThrow('not a proof bundle');
    await expect(of(write('bundle.tar.gz', Buffer.from([0x1f, 0x8b, 8])))).rejects.toThrow('regulatory bundle');
    await expect(of(write('ok.json', await proveEntry(ask, { seq: 1 })), { key: 'x' })).rejects.toThrow(
      'not a verifier key',
    );
  });
});
