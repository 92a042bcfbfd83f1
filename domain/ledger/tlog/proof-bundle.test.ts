import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProofBundle } from '../../../contracts/ledger-proof.js';
import { ledgerPlace, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { type WholeLedger, openLedger } from '../../../test/support/whole-ledger.js';
import { parseCheckpoint } from './checkpoint.js';
import { cosign, noteKey, parseVkey } from './note.js';
import { makeProofBundle, verifyProofBundle } from './proof-bundle.js';
import type { TransparencyLog } from '../../../adapters/ledger/tlog/transparency-log.js';

const witness = generateKeyPairSync('ed25519');
const witnessKey = noteKey('w', witness.publicKey, 'cosignature');
let place: TestLedgerPlace;
let ledger: WholeLedger;
let log: TransparencyLog;
let now = Date.parse('2026-01-02T03:04:05.006Z');
let bundle: ProofBundle;

beforeAll(async () => {
  place = await ledgerPlace('sqlite');
  ledger = await openLedger({
    target: place.target,
    sidecarKeys: place.keys,
    clock: () => now,
    checkpoints: {
      origin: 'gate.test/ledger',
      privateKey: generateKeyPairSync('ed25519').privateKey,
      witnesses: [witnessKey],
    },
  });
  log = ledger.transparency as TransparencyLog;
  const rows = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      testRow({
        brain_scores: { drift_bp: index, nested: { b: [1, 'é\u2028'], a: null } },
        reasoning: '"quoted" \\ é',
      }),
    );
  await ledger.append(rows(5));
  const older = await log.checkpoint();
  now += 10_000;
  await ledger.append(rows(8));
  const newest = await log.checkpoint();
  await log.cosign(
    `${newest}${cosign(parseCheckpoint(newest).note.text, 'w', witness.privateKey, Math.floor(now / 1000))}\n`,
  );
  const consistency = await log.consistency(5, 13);
  bundle = makeProofBundle(await log.inclusion({ seq: 7 }), { checkpoint: older, proof: consistency });
});
afterAll(async () => {
  await ledger.close();
  await place.remove();
});

const trusted = () => ({ logKeys: [parseVkey(log.vkey)], witnesses: [witnessKey], quorum: 1 });
const broken = (change: (copy: ProofBundle & { entry: Record<string, unknown> }) => void) => {
  const copy = structuredClone(bundle) as ProofBundle & { entry: Record<string, unknown> };
  change(copy);
  return verifyProofBundle(copy, trusted());
};

describe('a proof bundle', () => {
  it('holds by itself and by the keys its reader trusts, after a way through JSON', () => {
    const copy = JSON.parse(JSON.stringify(bundle)) as unknown;
    expect(verifyProofBundle(copy, trusted())).toEqual({
      valid: true,
      proved: true,
      checks: ['row', 'checkpoint', 'inclusion', 'consistency', 'witnesses'].map((what) => ({
        what,
        holds: true,
        detail: expect.any(String),
      })),
      notes: [],
    });
    const alone = verifyProofBundle(copy);
    expect(alone).toMatchObject({ valid: true, proved: false });
    expect(alone.notes.join('\n')).toMatch(/key came with the bundle.*\n1 cosignatures were not checked/s);
  });

  it('shows nothing that the hash does not cover', () => {
    expect(Object.keys(bundle.entry ?? {})).toHaveLength(34);
    expect(broken(({ entry }) => (entry['tool_type'] = 'files.read')).checks[0]).toMatchObject({ holds: false });
  });

  it('breaks with any field of the row changed', () => {
    for (const name of Object.keys(bundle.entry ?? {})) {
      const value = (bundle.entry ?? {})[name];
      const other =
        typeof value === 'string' ? `${value}x` : typeof value === 'number' ? value + 1 : value === null ? 'x' : !value;
      const verdict = broken(({ entry }) => (entry[name] = other));
      expect([name, verdict.valid, verdict.checks.at(-1)?.what]).toEqual([name, false, 'row']);
    }
    expect(broken(({ entry }) => delete entry['agent_id']).valid).toBe(false);
    expect(broken(({ entry }) => ((entry['brain_scores'] as Record<string, number>)['drift_bp'] = 9)).valid).toBe(
      false,
    );
  });

  it.each<[string, string, Parameters<typeof broken>[0]]>([
    ['a wrong place', 'row', (copy) => (copy.inclusion.seq = 8)],
    ['another size', 'inclusion', (copy) => (copy.inclusion.tree_size = 12)],
    ['a shorter path', 'inclusion', (copy) => copy.inclusion.proof.pop()],
    ['an edited path', 'inclusion', (copy) => copy.inclusion.proof.reverse()],
    ['an edited checkpoint', 'checkpoint', (copy) => (copy.checkpoint = copy.checkpoint.replace('\n13\n', '\n14\n'))],
    ['no checkpoint', 'checkpoint', (copy) => (copy.checkpoint = '')],
    [
      'another older checkpoint',
      'consistency',
      (copy) => copy.consistency && (copy.consistency.checkpoint = copy.checkpoint),
    ],
    ['an edited consistency proof', 'consistency', (copy) => copy.consistency?.proof.pop()],
  ])('breaks with %s', (_what, where, change) => {
    const verdict = broken(change);
    expect(verdict.valid).toBe(false);
    expect(verdict.checks.at(-1)).toMatchObject({ what: where, holds: false });
  });

  it('a forged bundle agrees with itself and with nobody else', async () => {
    const forger = await ledgerPlace('sqlite');
    const forged = await openLedger({
      target: forger.target,
      sidecarKeys: forger.keys,
      checkpoints: {
        origin: 'gate.test/ledger',
        privateKey: generateKeyPairSync('ed25519').privateKey,
        witnesses: [],
      },
    });
    await forged.append([testRow({ authorized: true })]);
    const copy = makeProofBundle(await (forged.transparency as TransparencyLog).inclusion({ seq: 1 }));
    expect(verifyProofBundle(copy)).toMatchObject({ valid: true, proved: false });
    expect(verifyProofBundle(copy, trusted())).toMatchObject({ valid: false });
    await forged.close();
    await forger.remove();
  });

  it('asks for as many witnesses as its reader does', () => {
    expect(verifyProofBundle(bundle, { ...trusted(), quorum: 2 }).valid).toBe(false);
    const other = noteKey('other', generateKeyPairSync('ed25519').publicKey, 'cosignature');
    expect(verifyProofBundle(bundle, { ...trusted(), witnesses: [other] }).valid).toBe(false);
    expect(verifyProofBundle(bundle, { ...trusted(), witnesses: [witnessKey, witnessKey], quorum: 2 }).valid).toBe(
      false,
    );
  });

  it('proves the place of a row whose content is hidden', () => {
    const verdict = broken((copy) => Object.assign(copy, { entry: null }));
    expect(verdict).toMatchObject({ valid: true, notes: [expect.stringContaining('hidden')] });
  });

  it.each([[null], [[]], [{}], [{ contract: 'gate.proof-bundle/v1' }]])('%j is none', (value) => {
    expect(() => verifyProofBundle(value)).toThrow('not a proof bundle');
    expect(() => verifyProofBundle({ ...bundle, more: 1 })).toThrow('not a proof bundle');
  });
});
