import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LifecycleReceipt } from '../../../contracts/erasure.js';
import { canonicalJson, sha256Hex } from '../../../domain/crypto/digest.js';
import { verifyRegulatoryBundle } from '../../../adapters/evidence/regulatory/verify-bundle.js';
import { type BlobSigner, keyFileSigner } from '../../../domain/ledger/signatures/blob-signer.js';
import { unpack } from '../../../test/support/bundle.js';
import { STORES, testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const OPERATION = '0190a000-0000-4000-8000-000000000001';

describe.each(STORES)('POST /admin/tenants/{tenant}/lifecycle on %s', (kind) => {
  let gate: TestLedgerService;
  let now: number;
  let privateKey: KeyObject;
  let signs: BlobSigner['sign'];
  beforeEach(async () => {
    now = AT;
    ({ privateKey } = generateKeyPairSync('ed25519'));
    const signer = keyFileSigner({ privateKey, keyId: 'gate-ledger:v1', issuer: 'ledger', clock: () => now });
    signs = signer.sign;
    gate = await ledgerService(kind, {
      ledger: { clock: () => now, keySet: signer.keySet, signer: { sign: (...asked) => signs(...asked) } },
    });
    await gate.ledger.append([testRow(), testRow({ tenant: 'other' }), testRow()]);
  });
  afterEach(() => gate.close());

  const step = (what: string, { tenant = 'acme', operation = OPERATION } = {}) =>
    gate.call<LifecycleReceipt>(`POST /admin/tenants/${tenant}/lifecycle`, { operation_id: operation, kind: what });
  const artifact = async (sha256: string | null) => {
    const parts: Uint8Array[] = [];
    for await (const part of gate.ledger.tenantLifecycle.artifact(sha256 ?? '')) parts.push(part);
    return Buffer.concat(parts);
  };

  it('is told step by step, newest first, of one tenant and to the console alone', async () => {
    const known = async (tenant: string) =>
      (await gate.call<LifecycleReceipt[]>(`GET /admin/tenants/${tenant}/lifecycle`)).body;
    expect(await known('acme')).toEqual([]);
    const { body: exported } = await step('final_export');
    const { body: hidden } = await step('tombstone');
    expect(await known('acme')).toEqual([hidden, exported]);
    expect(await known('other')).toEqual([]);
    for (const as of ['service-proxy', 'service-deep-review'])
      expect((await gate.call('GET /admin/tenants/acme/lifecycle', undefined, { as })).status).toBe(403);
  });

  it('keeps one signed bundle of the whole history under its digest, and says so in a receipt and a row', async () => {
    const { status, body } = await step('final_export');
    expect([status, body]).toEqual([
      200,
      {
        tenant: 'acme',
        operation_id: OPERATION,
        kind: 'final_export',
        state: 'exported',
        generation: 1,
        rows_affected: 2,
        artifact_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        artifact_bytes: expect.any(Number),
        receipt_sha256: expect.any(String),
        updated_at: '2026-01-02T03:04:05.006Z',
      },
    ]);
    const { receipt_sha256, ...said } = body;
    expect(sha256Hex(canonicalJson(said))).toBe(receipt_sha256);
    const bytes = await artifact(body.artifact_sha256);
    expect([createHash('sha256').update(bytes).digest('hex'), bytes.length]).toEqual([
      body.artifact_sha256,
      body.artifact_bytes,
    ]);
    expect(String(unpack(bytes).get('entries.ndjson')).trim().split('\n')).toHaveLength(2);
    const folder = mkdtempSync(join(tmpdir(), 'gate-artifact-test-'));
    writeFileSync(join(folder, 'a.tar.gz'), bytes);
    const publicKeyPem = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();
    expect((await verifyRegulatoryBundle(join(folder, 'a.tar.gz'), { publicKeyPem })).valid).toBe(true);
    rmSync(folder, { recursive: true });
    expect((await gate.ledger.newest(1))[0]).toMatchObject({
      event_kind: 'tenant.final_export',
      agent_id: 'tenant:acme',
      tenant: 'system',
      policy_decision: { operation_id: OPERATION, artifact_sha256: body.artifact_sha256 },
    });
  });

  it('keeps rows that are stamped later than the clock, too: what is hidden was exported', async () => {
    now -= 60_000;
    expect((await step('final_export')).body.rows_affected).toBe(2);
    expect((await step('tombstone')).body.rows_affected).toBe(2);
  });

  it('answers the same step with the same receipt, also when much happened since and when many ask at once', async () => {
    const many = await Promise.all([step('final_export'), step('final_export'), step('final_export')]);
    const { length } = await gate.ledger.head();
    now += 60_000;
    await gate.ledger.append([testRow()]);
    for (const answer of [...many, await step('final_export')]) expect(answer.body).toEqual(many[0]?.body);
    expect(await gate.ledger.head()).toMatchObject({ length: length + 1 });
  });

  it('hides the tenant only after its export, and counts what is hidden', async () => {
    expect(await step('tombstone')).toMatchObject({ status: 409, body: { error: 'final_export_required' } });
    expect(await gate.ledger.byAgent('agent-a')).toHaveLength(3);
    await step('final_export');
    const other = '0190a000-0000-4000-8000-000000000002';
    expect(await step('tombstone', { operation: other })).toMatchObject({ status: 409 });
    const first = await step('tombstone');
    expect(first.body).toMatchObject({
      kind: 'tombstone',
      state: 'tombstoned',
      generation: 2,
      rows_affected: 2,
      artifact_sha256: null,
      artifact_bytes: null,
    });
    expect((await gate.ledger.byAgent('agent-a')).map(({ seq }) => seq)).toEqual([2]);
    await gate.ledger.append([testRow()]);
    expect((await step('tombstone')).body).toEqual(first.body);
    expect(await gate.ledger.verify()).toMatchObject({ valid: true });
  });

  it('counts the rows that an attempt without a receipt had hidden', async () => {
    await step('final_export');
    await gate.ledger.erasure.tombstoneTenant('acme');
    expect((await step('tombstone')).body.rows_affected).toBe(2);
  });

  it('marks a new tenant with a row', async () => {
    expect((await step('lifecycle_marker', { tenant: 'new' })).body).toMatchObject({
      state: 'marked',
      rows_affected: 1,
    });
    expect((await gate.ledger.newest(1))[0]).toMatchObject({
      event_kind: 'tenant.provisioned',
      agent_id: 'tenant:new',
    });
    const { length } = await gate.ledger.head();
    await step('lifecycle_marker', { tenant: 'new' });
    expect(await gate.ledger.head()).toMatchObject({ length });
  });

  it('numbers the steps of a tenant, also those that are taken at once', async () => {
    const operations = Array.from({ length: 8 }, (_, index) => `0190a000-0000-4000-8000-0000000000${10 + index}`);
    const receipts = await Promise.all(operations.map((operation) => step('lifecycle_marker', { operation })));
    expect(receipts.map(({ body }) => body.generation).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect((await step('lifecycle_marker')).body.generation).toBe(9);
  });

  it('leaves no receipt when the export fails, so that the step can be taken again', async () => {
    const sign = signs;
    signs = () => Promise.reject(new Error('away'));
    expect(await step('final_export')).toMatchObject({ status: 503, body: { error: 'signing_unavailable' } });
    expect(await step('tombstone')).toMatchObject({ status: 409 });
    signs = sign;
    expect((await step('final_export')).status).toBe(200);
  });

  it('is refused for the rows of Gate itself, whatever the step', async () => {
    for (const what of ['final_export', 'tombstone', 'lifecycle_marker'])
      expect(await step(what, { tenant: 'system' })).toMatchObject({ status: 400, body: { error: 'tenant_reserved' } });
    expect(await gate.ledger.head()).toMatchObject({ length: 3 });
  });

  it("is 404 for another tenant's operation", async () => {
    await step('final_export');
    for (const what of ['final_export', 'tombstone', 'lifecycle_marker'])
      expect(await step(what, { tenant: 'other' })).toMatchObject({ status: 404, body: { error: 'not_found' } });
  });

  it.each([
    ['a kind nobody knows', { operation_id: OPERATION, kind: 'delete' }],
    ['an id that is no UUID', { operation_id: 'x', kind: 'tombstone' }],
    ['an id in capitals', { operation_id: OPERATION.toUpperCase(), kind: 'tombstone' }],
    ['nothing', {}],
  ])('refuses %s', async (_, body) => {
    expect(await gate.call('POST /admin/tenants/acme/lifecycle', body)).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
  });

  it('is for the console, and 503 while the store is gone', async () => {
    const body = { operation_id: OPERATION, kind: 'lifecycle_marker' };
    for (const as of ['service-identity', 'service-deep-review', 'agent-workload'])
      expect((await gate.call('POST /admin/tenants/acme/lifecycle', body, { as })).status).toBe(403);
    await gate.ledger.close();
    expect(await step('lifecycle_marker')).toMatchObject({ status: 503, body: { error: 'ledger_store_unavailable' } });
  });
});
