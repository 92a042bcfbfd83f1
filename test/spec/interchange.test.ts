import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { LEDGER } from '../../api/ledger/service.js';
import type { JsonObject } from '../../contracts/json.js';
import { type NewLedgerRow, newLedgerRow } from '../../contracts/ledger.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { openLedger } from '../support/whole-ledger.js';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { keysBeside } from '../../lite/keys.js';
import { storeTarget } from '../../stack/proxy-store.js';
import { commandLine } from '../support/command.js';
import { echoTools, liteFolder, openLite } from '../support/lite.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';

/** One file format, one chain: what lite writes the full ledger reads and goes on with, and the other way round. */
let folder: string;
let database: TestPostgres;
beforeAll(async () => {
  database = await startPostgres();
}, 60_000);
afterAll(() => database?.stop());
beforeEach(async () => {
  folder = await liteFolder();
});
const { done, lite, stop } = commandLine(() => folder);
afterEach(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

const ledgerFile = () => join(folder, 'gate-lite.db');

/** A lite file with an allowed, a denied and a parked call; their correlation ids. */
async function liteLedger(): Promise<string[]> {
  const tools = await echoTools();
  const gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url }, { folder });
  const ids: string[] = [];
  for (const tool of ['read_file', 'delete_file', 'wire_transfer'])
    ids.push((await gate.call(tool)).headers.get('x-gate-correlation-id') ?? '');
  await gate.close();
  await tools.close();
  return ids;
}
const keysOf = (file: string) => {
  const keys = keysBeside(file);
  if (!keys) throw new Error(`no keys beside ${file}`);
  return keys;
};

describe("lite's file in the full ledger", () => {
  it('verifies there, takes rows there, and goes on in lite', async () => {
    await liteLedger();
    const keys = keysOf(ledgerFile());
    const alone = openLedgerReadOnly(ledgerFile(), { sidecarKeys: keys });
    const walked = await alone.verify();
    await alone.close();

    const full = await openLedger({ target: { file: ledgerFile() }, sidecarKeys: keys });
    expect(await full.verify()).toEqual(walked);
    expect(walked).toMatchObject({ valid: true, entries_checked: 11, sidecars: { unchecked: 0 } });
    await full.ready();
    const [newest] = await full.newest(1);
    await full.append([
      { ...newLedgerRow.omit({ timestamp: true }).parse(newest), id: undefined, payload_sha256: null },
    ]);
    await full.close();

    const gate = await openLite({}, { folder });
    expect(gate.lite.resumed).toBe(1);
    await gate.call('read_file', { decision: true });
    await gate.close();
    expect(await done(['verify', '--ledger', ledgerFile()])).toMatchObject({
      code: 0,
      out: expect.stringContaining('15 entries'),
    });
  }, 60_000);
});

describe('a Postgres ledger in lite', () => {
  it('is exported by one command, verifies, audits and replays, and lite goes on with it', async () => {
    const ids = await liteLedger();
    const secret = `full-1:${randomBytes(32).toString('hex')}`;
    const env = { GATE_DATABASE_URL: database.url, GATE_LEDGER_SIDECAR_KEYS: secret };
    const [store = ''] = LEDGER.stores;
    const target = storeTarget({ databaseUrl: database.url, stateDir: folder }, store);
    const postgres = await openLedger({ target, sidecarKeys: parseKeyRing(secret) });
    for (const id of ids) await postgres.append(await rowsOf(id));
    const walked = await postgres.verify();
    await postgres.close();

    expect(await done(['export', '--to', 'copy.db'], env)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`head ${walked.commitment?.head_hash} length 11`),
    });
    const verified = await done(['verify', '--ledger', 'copy.db', '--json'], env);
    expect(JSON.parse(verified.out)).toEqual(walked);
    for (const id of ids) {
      expect(await done(['audit', id, '--ledger', 'copy.db'], env)).toMatchObject({ code: 0 });
      expect(await done(['replay', id, '--ledger', 'copy.db'], env)).toMatchObject({
        code: 0,
        out: expect.stringContaining('the same'),
      });
    }
    expect(await done(['export', '--to', 'copy.db'], env)).toMatchObject({
      code: 1,
      out: expect.stringContaining('is there already'),
    });

    const running = await lite(['--ledger', 'copy.db'], { GATE_LITE_KEYS: secret });
    const answer = await fetch(`${running.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'X-Gate-Decision-Contract': 'gate.decision/v1',
        'X-Gate-Idempotency-Id': '0190cf0e-7d3a-4c4e-9a3d-3b1f6f0b5a11',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_file' } }),
    });
    expect(((await answer.json()) as JsonObject)['decision']).toBe('allow');
    running.process.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    expect(await done(['verify', '--ledger', 'copy.db'], env)).toMatchObject({
      code: 0,
      out: expect.stringContaining('14 entries'),
    });
  }, 120_000);

  it('says what is missing: the database, the ledger in it, and where one is', async () => {
    expect(await done(['export', '--to', 'copy.db'])).toMatchObject({
      code: 2,
      out: expect.stringContaining('set GATE_DATABASE_URL'),
    });
    const sidecarKeys = parseKeyRing(`full-1:${randomBytes(32).toString('hex')}`);
    await (await openLedger({ target: { url: database.url, schema: 'of_another' }, sidecarKeys })).close();
    expect(
      await done(['export', '--to', 'copy.db', '--schema', 'elsewhere'], { GATE_DATABASE_URL: database.url }),
    ).toMatchObject({
      code: 1,
      out: expect.stringMatching(/no ledger in the schema elsewhere; .* in: .*of_another\n/),
    });
  }, 60_000);
});

/** The call's rows as their author would hand them to another ledger, with the bytes they commit to. */
async function rowsOf(correlationId: string): Promise<NewLedgerRow[]> {
  const ledger = openLedgerReadOnly(ledgerFile(), { sidecarKeys: keysOf(ledgerFile()) });
  const rows: NewLedgerRow[] = [];
  for (const row of await ledger.byCorrelation(correlationId)) {
    const sidecar = await ledger.sidecar(row.id);
    rows.push({
      ...newLedgerRow.omit({ timestamp: true }).parse(row),
      ...(sidecar?.text && { [`${sidecar.kind}_canonical_json`]: sidecar.text }),
    });
  }
  await ledger.close();
  return rows;
}
