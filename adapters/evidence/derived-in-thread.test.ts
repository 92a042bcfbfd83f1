import { generateKeyPairSync } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { createGunzip } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { ledgerPlace, STORES, testKeys, type TestLedgerPlace, testRow } from '../../test/support/ledger.js';
import { keyFileSigner } from '../../domain/ledger/signatures/blob-signer.js';
import { coldSinkAt } from './cold-tier/cold-place.js';
import { derivedInThread } from './derived-in-thread.js';
import { type LedgerWithEvidence, openLedgerWithEvidence, openLedgerWithEvidenceThread } from './evidence.js';
import { eventually } from '../../test/support/waiting.js';

const WINDOW = { from: '2020-01-01T00:00:00.000Z', to: '2100-01-01T00:00:00.000Z' };

describe.each(STORES)('what is computed of many rows, in a thread, on %s', (kind) => {
  let place: TestLedgerPlace;
  let folder: string;
  let scratch: string;
  let here: LedgerWithEvidence;
  let threaded: LedgerWithEvidence;
  beforeEach(async () => {
    place = await ledgerPlace(kind);
    folder = mkdtempSync(join(tmpdir(), 'gate-cold-'));
    const { privateKey } = generateKeyPairSync('ed25519');
    const signer = keyFileSigner({ privateKey, keyId: 'gate-ledger:v1', issuer: 'ledger' });
    const options = { target: place.target, sidecarKeys: place.keys, keySet: signer.keySet, signer };
    const coldPlace = { at: { directory: folder }, retentionMs: 0 };
    here = await openLedgerWithEvidence({ ...options, coldSink: coldSinkAt(coldPlace) });
    scratch = mkdtempSync(join(tmpdir(), 'gate-scratch-'));
    threaded = await openLedgerWithEvidenceThread({ ...options, coldPlace, scratch });
    await here.ledger.writer.append([
      testRow({ agent_id: 'one', tenant: 'acme', event_kind: 'proxy.verdict', method: 'tools/call' }),
      testRow({ agent_id: 'two', tenant: 'acme', event_kind: 'upstream.outcome' }),
      testRow({ agent_id: 'one', tenant: 'other' }),
    ]);
  });
  afterEach(async () => {
    await here.ledger.close();
    await threaded.ledger.close();
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
    rmSync(scratch, { recursive: true, force: true });
  });
  /** The report without times of creation, which differ between the two. */
  const timeless = (report: unknown): unknown =>
    JSON.parse(JSON.stringify(report).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'then'));
  const both = async (ask: (at: LedgerWithEvidence) => Promise<unknown>) => {
    const answer = await ask(threaded);
    expect(timeless(answer)).toEqual(timeless(await ask(here)));
    return answer;
  };

  it('is what this thread would have computed', async () => {
    expect(await both(({ evidence }) => evidence.reports.spend({ limit: 10 }))).toBeTruthy();
    expect(await both(({ evidence }) => evidence.reports.narrative({ agentId: 'one', window: '7d' }))).toBeTruthy();
    expect(await both(({ evidence }) => evidence.reports.hunt(WINDOW, 10))).toBeTruthy();
    expect(await both(({ evidence }) => evidence.complianceEvidence({ ...WINDOW, tenant: 'acme' }))).toBeTruthy();
    const subjects = { agent_ids: ['one', 'two'], correlation_ids: [], tenant: 'acme' };
    expect(await both(({ evidence }) => evidence.cases.evidence(subjects))).toHaveLength(2);
  });

  it('keeps errors with their codes', async () => {
    const asOf = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '');
    const refused = ({ evidence }: LedgerWithEvidence) =>
      evidence.activeAgents.invoice({ tenant: 'acme', asOf, observedThrough: asOf }).catch((error: unknown) => error);
    const found = await refused(threaded);
    expect(found).toMatchObject({ code: expect.any(String), status: expect.any(Number) });
    expect(found).toMatchObject({ code: ((await refused(here)) as { code: string }).code });
    await expect(threaded.evidence.tenantLifecycle.step('acme', 'op-1', 'tombstone')).rejects.toMatchObject({
      code: 'final_export_required',
    });
  });

  it('signs with the key of the ledger’s thread, appends through it, and hands bundles over piece by piece', async () => {
    const { length } = await threaded.ledger.reader.head();
    const bundle = await threaded.evidence.exportRegulatory({
      tenant: 'acme',
      ...WINDOW,
      documentation: Buffer.from('prose of the provider'),
      annexIv: true,
    });
    expect(bundle.manifest).toMatchObject({ tenant: 'acme', row_count: 2, signature: { key_id: 'gate-ledger:v1' } });
    expect(await text(bundle.stream().pipe(createGunzip()))).toContain('prose of the provider');
    // The row about the export was appended before the first byte.
    expect((await threaded.ledger.reader.head()).length).toBe(length + 1);
    expect(await threaded.ledger.verifier.verify()).toMatchObject({ valid: true });
  });

  it.each([
    ['before the first piece', (bytes: Readable) => bytes.destroy()],
    [
      'in the middle',
      async (bytes: Readable) => {
        await once(bytes, 'readable');
        bytes.destroy();
      },
    ],
    ['by its end', (bytes: Readable) => text(bytes)],
  ])('leaves nothing of a bundle on disk whose reader goes %s', async (_when, read) => {
    const { stream } = await threaded.evidence.exportRegulatory({ tenant: 'acme', ...WINDOW });
    expect(readdirSync(scratch)).toHaveLength(1);
    await read(stream());
    await eventually('an empty folder', () => readdirSync(scratch).length === 0);
  });

  it('leaves nothing of one that nobody wants, and clears away what a crash left a day ago', async () => {
    const left = join(scratch, 'gate-bundle-left');
    mkdirSync(left);
    utimesSync(left, 1, 1);
    mkdirSync(join(scratch, 'gate-bundle-young'));
    const { discard } = await threaded.evidence.exportRegulatory({ tenant: 'acme', ...WINDOW });
    await discard();
    await eventually('the rows of the bundle', () => readdirSync(scratch).length === 1);
    expect(readdirSync(scratch)).toEqual(['gate-bundle-young']);
  });

  it('answers beside a left folder that belongs to somebody else, or cannot be deleted, and leaves it', async () => {
    const theirs = join(scratch, 'gate-bundle-theirs');
    mkdirSync(join(theirs, 'inside'), { recursive: true });
    if (process.getuid?.() === 0) chownSync(theirs, 65_534, 65_534);
    else chmodSync(theirs, 0o500);
    utimesSync(theirs, 1, 1);
    const { discard } = await threaded.evidence.exportRegulatory({ tenant: 'acme', ...WINDOW });
    await discard();
    await eventually('the rows of the bundle', () => readdirSync(scratch).length === 1);
    expect(await threaded.evidence.reports.spend({ limit: 10 })).toBeTruthy();
    expect(readdirSync(scratch)).toEqual(['gate-bundle-theirs']);
    chmodSync(theirs, 0o700);
  });

  it('copies rows and gives a window as Parquet', async () => {
    expect(await threaded.evidence.coldTier.export()).toMatchObject({ Wrote: { row_count: 3 } });
    const { bytes } = await threaded.evidence.coldTier.parquet(WINDOW);
    expect(Buffer.from(bytes.subarray(0, 4)).toString('latin1')).toBe('PAR1');
    // The vacuum uses the same copies from the ledger's thread.
    expect(await threaded.evidence.coldCopies.copiedThrough(0)).toBe(3);
    const check = threaded.evidence.coldCopies.copyCheck();
    await expect(check(1, 3)).resolves.toBeUndefined();
    rmSync(join(folder, 'data'), { recursive: true });
    await expect(threaded.evidence.coldCopies.copyCheck()(1, 3)).rejects.toMatchObject({
      code: 'export_sink_unavailable',
    });
  });

  it('tells what the watchdogs flagged to whoever observes the ledger', async () => {
    const seen: unknown[] = [];
    threaded.evidence.observeFlags((flagged, flags) => seen.push([flagged, flags]));
    const flags = await threaded.evidence.watchdogs.silence({ thresholdHours: 0 });
    expect(seen).toEqual(flags > 0 ? [['agent_silent', flags]] : []);
    expect(flags).toBeGreaterThan(0);
  });

  it('refuses after the close, and leaves nothing waiting', async () => {
    const asked = threaded.evidence.reports.spend({ limit: 10 }).then(
      () => undefined,
      (error: unknown) => expect(error).toMatchObject({ code: 'ledger_store_unavailable' }),
    );
    await threaded.ledger.close();
    await asked;
    await expect(threaded.evidence.reports.spend({ limit: 10 })).rejects.toMatchObject({
      code: 'ledger_store_unavailable',
    });
  });
});

it('a thread that failed is made anew for the next question', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gate-evidence-'));
  // A file where the ledger expects a folder.
  writeFileSync(join(folder, 'later'), '');
  const target = { file: join(folder, 'later', 'ledger.db') };
  const keys = testKeys();
  const nobody = () => Promise.reject(new Error('not asked'));
  const thread = derivedInThread(
    { target, sidecarKeys: keys, coldPlace: undefined, legalHold: false },
    {
      append: nobody,
      head: nobody,
      verifyAssured: nobody,
      trustedKey: nobody,
      sealThrough: nobody,
      tombstoneTenant: nobody,
      anchorLines: () => {
        throw new Error('not asked');
      },
      signer: null,
      flagged: () => undefined,
    },
  );
  try {
    const spend = () => thread.reports.spend({ limit: 1 });
    await expect(spend()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    rmSync(join(folder, 'later'));
    mkdirSync(join(folder, 'later'));
    await expect(spend()).resolves.toMatchObject({ agents: [] });
  } finally {
    await thread.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

it('a report that is larger than the memory it may have is refused with its code; process, ledger and later reports go on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gate-evidence-'));
  // In a child process, because the fault this guards against ended the whole process. A story holds the newest alarms, which are wide here.
  const program = `
    const from = (path) => import(${JSON.stringify(pathToFileURL(join(PROJECT_ROOT, 'dist')).href)} + '/' + path);
    const { openLedgerWithEvidenceThread } = await from('adapters/evidence/evidence.js');
    const { keyRing } = await from('domain/crypto/key-ring.js');
    const { testRow } = await from('test/support/ledger.js');
    const { ledger, evidence: { cases, reports } } = await openLedgerWithEvidenceThread({
      target: { file: ${JSON.stringify(join(folder, 'ledger.db'))} },
      sidecarKeys: keyRing(new Map([['k', Buffer.alloc(32, 7)]])),
      heapMb: 128,
    });
    // A server has something to wait for; an idle thread alone keeps no process alive.
    const alive = setInterval(() => undefined, 1_000);
    for (let page = 0; page < 10; page += 1)
      await ledger.writer.append(Array.from({ length: 50 }, (_, n) => testRow({
        agent_id: 'agent-' + page + '-' + n, tenant: 'acme', event_kind: 'alarm.record_tampered', method: 'alarm.record_tampered',
        authorized: false,
policy_decision: { padding: (page + '-' + n + ' ').padEnd(240_000, 'text ') },
      })));
    const story = () => reports.narrative({ agentId: 'agent-0-0', window: '7d' });
    const agents = Array.from({ length: 500 }, (_, n) => 'agent-' + Math.floor(n / 50) + '-' + n % 50);
    const answers = [];
    for (const ask of [
      () => [cases.evidence({ agent_ids: agents, correlation_ids: [] })],
      () => [story()],
      () => [story(), story()],
      () => [reports.spend({ limit: 10 })],
      () => [reports.hunt({}, 10)],
    ]) {
      const asked = ask().map((one) => one.then(() => 'answered', (error) => error.code ?? String(error)));
      await ledger.writer.append([testRow({ agent_id: 'meanwhile' })]);
      answers.push(await Promise.all(asked));
    }
    answers.push(await ledger.verifier.verify());
    await ledger.close();
    clearInterval(alive);
    process.stdout.write(JSON.stringify(answers));
  `;
  try {
    const script = join(folder, 'large.mjs');
    writeFileSync(script, program);
    const ran = spawnSync(process.execPath, ['--no-warnings', script], { encoding: 'utf8' });
    expect([ran.status, ran.signal, ran.stderr]).toEqual([0, null, '']);
    expect(JSON.parse(ran.stdout)).toMatchObject([
      ['report_too_large'],
      ['report_too_large'],
      ['report_too_large', 'report_too_large'],
      // What only counts holds nothing of the rows.
      ['answered'],
      ['answered'],
      { valid: true, entries_checked: 505 },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);

it('a close in the middle of a report or of a walk ends the process as usual', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gate-evidence-'));
  const from = (path: string) => JSON.stringify(pathToFileURL(join(PROJECT_ROOT, 'dist', path)).href);
  // In a child process, because the fault this guards against ended the whole process.
  const program = `
    const { openLedgerWithEvidenceThread } = await import(${from('adapters/evidence/evidence.js')});
    const { keyRing } = await import(${from('domain/crypto/key-ring.js')});
    const { testRow } = await import(${from('test/support/ledger.js')});
    const open = () => openLedgerWithEvidenceThread({
      target: { file: ${JSON.stringify(join(folder, 'ledger.db'))} },
      sidecarKeys: keyRing(new Map([['k', Buffer.alloc(32, 7)]])),
      verifyThreads: { threads: 1, rowsPerThread: 10 },
    });
    const { ledger } = await open();
    await ledger.writer.append(Array.from({ length: 4_000 }, () => testRow({ event_kind: 'proxy.verdict' })));
    await ledger.close();
    for (const afterMs of [0, 1, 3, 8, 20, 50]) {
      const { ledger, evidence } = await open();
      await evidence.reports.spend({ limit: 1 });
      const asked = [evidence.watchdogs.silence({ thresholdHours: 0 }), evidence.reports.hunt({}, 10), ledger.verifier.verify()];
      for (const one of asked) one.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await ledger.close();
      await Promise.allSettled(asked);
    }
    process.stdout.write('closed');
  `;
  try {
    const script = join(folder, 'closes.mjs');
    writeFileSync(script, program);
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', script], {
      encoding: 'utf8',
    });
    expect({ status, signal, stdout, stderr }).toEqual({ status: 0, signal: null, stdout: 'closed', stderr: '' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);
