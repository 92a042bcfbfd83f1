import { createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hilService } from '../../test/support/hil-service.js';
import type { Service } from '../../api/plugins/service.js';
import type { ModificationDiff, NewReview, SettledReview } from '../../contracts/review.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { verifyDecision } from '../../domain/review/decision-signature.js';
import type { Reviews } from '../../domain/review/ports.js';
import { reviewsOf } from '../../adapters/review/review-store.js';
import { createRuleDecisions } from '../../domain/review/rule-decision.js';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { calledByProxy, overTheService } from '../../test/support/in-process-service.js';
import { createHilClient } from './hil-client.js';
import { openReviewStore, type WholeReviews } from '../../test/support/whole-reviews.js';

const correlation = '00000000-0000-4000-8000-000000000001';
const review: NewReview = {
  agent_id: 'payments-agent',
  correlation_id: correlation,
  method: 'call_tool',
  request_payload: { jsonrpc: '2.0', params: { name: 'wire_transfer', arguments: { amount: 5, memo: 'é😀\n' } } },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  created_at: new Date().toISOString(),
  review_reasons: ['money movement'],
  brain_scores: null,
  approval_tier: 'strict',
  agent_spiffe: null,
  tenant: 'acme',
  callback_url: null,
};
const sandbox_report: SandboxReport = {
  contract: 'gate.sandbox-report/v1',
  analyzer_version: 'gate-sandbox/3',
  analyzed: true,
  operation_class: 'write',
  severity: 'safe',
  reversible: 'yes',
  summary: 'write a note',
  reasons: [],
  targets: ['notes'],
  predicted_changes: [],
  scope: { targets: 1, wildcards: false, recursive: false },
  money: null,
};
const settled: SettledReview = {
  pending_id: reviewIdOf(correlation),
  status: 'expired',
  decided_at: new Date().toISOString(),
  decided_by: 'system:ttl-sweep',
  decision_reason: null,
  decided_via: 'system:ttl-sweep',
  principal: null,
};

const { privateKey: decisionKey } = generateKeyPairSync('ed25519');
let directory: string;
let store: WholeReviews;
let service: Service;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gate-hil-client-'));
  store = await openReviewStore({
    target: { file: join(directory, 'hil.db') },
    payloadKeys: parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`),
  });
  service = hilService({
    reviews: store,
    sender: { decide: () => Promise.reject(new Error('no decisions here')) },
    starter: { start: () => Promise.reject(new Error('no reviews without a call here')) },
    decisionKey,
    sessionKey: Buffer.alloc(32, 7),
    operators: [],
    ...calledByProxy(),
  });
});
afterEach(async () => {
  await service.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

const hosts: [string, () => Reviews][] = [
  ['in process', () => reviewsOf(store, createRuleDecisions({ reviews: store, decisionKey }))],
  ['over HTTP', () => createHilClient({ url: 'https://hil.example:8084', fetch: overTheService(() => service) })],
];

describe.each(hosts)('the review rows as the pipeline needs them, %s', (_, host) => {
  let reviews: Reviews;
  beforeEach(() => {
    reviews = host();
  });

  it('creates once, and returns the first row again', async () => {
    const row = await reviews.createOnce(review);
    expect(row).toMatchObject({ id: reviewIdOf(correlation), status: 'pending', created_at: review.created_at });
    expect(row.request_payload).toEqual(review.request_payload);
    expect(await reviews.createOnce({ ...review, ttl_seconds: 60 })).toEqual(row);
    expect(await store.get(row.id)).toEqual(row);
  });

  it('finds the row of an id in its own tenant alone, and none that was withdrawn', async () => {
    expect(await reviews.byCorrelation(correlation, 'acme')).toBeNull();
    const row = await reviews.createOnce(review);
    expect(await reviews.byCorrelation(correlation, 'acme')).toMatchObject(row);
    expect(await reviews.byCorrelation(correlation, 'globex')).toBeNull();
    await reviews.withdraw(correlation);
    expect(await reviews.byCorrelation(correlation, 'acme')).toBeNull();
  });

  it('refuses other bytes under the same correlation id', async () => {
    await reviews.createOnce(review);
    await expect(reviews.createOnce({ ...review, request_payload: {} })).rejects.toMatchObject({
      name: 'GateError',
      code: 'pending_conflict',
      status: 409,
    });
  });

  it('walks the rows that nobody has decided, by their deadlines, whosever they are', async () => {
    const parked = [];
    for (const [ttl_seconds, tenant] of [
      [300, 'acme'],
      [100, 'globex'],
      [200, 'acme'],
      [400, 'acme'],
    ] as const)
      parked.push(await reviews.createOnce({ ...review, correlation_id: randomUUID(), ttl_seconds, tenant }));
    const [third, first, second, gone] = parked.map(({ id, correlation_id, created_at, ttl_seconds }) => ({
      id,
      correlation_id,
      ms: Date.parse(created_at) + ttl_seconds * 1000,
    }));
    await reviews.withdraw(gone?.correlation_id ?? '');
    expect(await reviews.undecided({ ms: -1, id: '' }, 2)).toEqual([first, second]);
    expect(await reviews.undecided({ ms: second?.ms ?? 0, id: second?.id ?? '' }, 2)).toEqual([third]);
    expect(await reviews.undecided({ ms: third?.ms ?? 0, id: third?.id ?? '' }, 2)).toEqual([]);
  });

  it('opens what was changed in a call with the key of its row, and of no other row', async () => {
    const row = await reviews.createOnce(review);
    const other = await reviews.createOnce({ ...review, correlation_id: randomUUID() });
    const diff: ModificationDiff = {
      contract: 'gate.hil.modification-diff/v1',
      replacements: [{ path: ['to'], value: 'another vendor' }],
    };
    const sealed = await store.changeSeal.sealed(row.id, diff);
    expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain('vendor');
    expect(await reviews.openedChange(row.id, sealed)).toEqual(diff);
    const largest: ModificationDiff = {
      contract: 'gate.hil.modification-diff/v1',
      replacements: Array.from({ length: 16 }, (_, n) => ({
        path: Array.from({ length: 8 }, (_part, at) => `${n}${at}`.padEnd(64, '面')),
        value: '\u0001'.repeat(4_096),
      })),
    };
    expect(await reviews.openedChange(row.id, await store.changeSeal.sealed(row.id, largest))).toEqual(largest);
    for (const [id, text, code] of [
      [other.id, sealed, 'payload_unavailable'],
      [row.id, sealed.slice(0, -8), 'payload_unavailable'],
      [randomUUID(), sealed, 'not_found'],
    ] as const)
      await expect(reviews.openedChange(id, text)).rejects.toMatchObject({ code });
    await reviews.withdraw(review.correlation_id);
    await expect(reviews.openedChange(row.id, sealed)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('has the approval of a rule for the tier auto, signed, and for no other', async () => {
    const strict = await reviews.createOnce(review);
    expect(await reviews.decideByRule(strict.id)).toBeNull();
    const unpredicted = { ...review, correlation_id: randomUUID(), approval_tier: 'auto' } as const;
    expect(await reviews.decideByRule((await reviews.createOnce(unpredicted)).id)).toBeNull();
    const auto = await reviews.createOnce({ ...unpredicted, correlation_id: randomUUID(), sandbox_report });
    const decision = await reviews.decideByRule(auto.id);
    expect(decision).toMatchObject({
      pending_id: auto.id,
      action_digest: auto.original_payload_digest,
      decision: 'approve',
      principal: { subject: 'system:policy-tier', tenant: 'acme', method: 'system', credential_kind: null },
    });
    if (!decision) throw new Error('no decision');
    expect(await verifyDecision(decision, createPublicKey(decisionKey))).toEqual({ valid: true });
    await reviews.settle({ ...settled, pending_id: auto.id });
    expect(await reviews.decideByRule(auto.id)).toBeNull();
    expect(await reviews.decideByRule(randomUUID())).toBeNull();
  });

  it('says whether a tenant was offboarded', async () => {
    const operation = { operation_id: randomUUID(), kind: 'offboard', asked_by: 'operator:dev' } as const;
    expect(await reviews.assertOpen('acme')).toBeUndefined();
    await store.tenants.begin({ tenant: 'acme', ...operation });
    await expect(reviews.assertOpen('acme')).rejects.toMatchObject({ code: 'tenant_offboarded', status: 409 });
    expect(await reviews.assertOpen('globex')).toBeUndefined();
  });

  it('settles once and tells how the row stands to whoever comes second', async () => {
    await reviews.createOnce(review);
    const row = await reviews.settle(settled);
    expect(row).toMatchObject({ status: 'expired', decided_by: 'system:ttl-sweep' });
    expect(await reviews.settle(settled)).toEqual(row);
    await expect(reviews.settle({ ...settled, status: 'denied' })).rejects.toMatchObject({
      code: 'already_decided',
      fields: { status: 'expired', decided_by: 'system:ttl-sweep', decided_at: settled.decided_at },
    });
    await expect(reviews.withdraw(correlation)).rejects.toMatchObject({ code: 'already_decided' });
  });

  it('withdraws nothing that a later attempt opened', async () => {
    await reviews.createOnce({ ...review, attempt_ms: 6_000 });
    await reviews.withdraw(correlation, 1_000);
    expect(await store.get(reviewIdOf(correlation))).toMatchObject({ status: 'pending' });
    await reviews.withdraw(correlation, 6_000);
    expect(await store.get(reviewIdOf(correlation))).toBeNull();
  });

  it('withdraws, twice too, and nothing settles or straggles in afterwards', async () => {
    await reviews.createOnce(review);
    await reviews.withdraw(correlation);
    await reviews.withdraw(correlation);
    expect(await store.get(reviewIdOf(correlation))).toBeNull();
    await expect(reviews.settle(settled)).rejects.toMatchObject({ code: 'not_pending' });
    await expect(reviews.createOnce(review)).rejects.toMatchObject({ code: 'not_pending' });
  });

  it('knows no row, no settlement', async () => {
    await expect(reviews.settle(settled)).rejects.toMatchObject({ code: 'not_found', status: 404 });
  });

  it('is store_unavailable while the store is gone', async () => {
    await store.close();
    await expect(reviews.createOnce(review)).rejects.toMatchObject({ code: 'store_unavailable', status: 503 });
    store = await openReviewStore({
      target: { file: join(directory, 'hil.db') },
      payloadKeys: parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`),
    });
  });
});

describe('the review rows over HTTP', () => {
  const answering = (status: number, text: string) =>
    createHilClient({
      url: 'https://hil.example',
      fetch: () => Promise.resolve({ status, text: () => Promise.resolve(text) }),
    });
  const outage = { code: 'pipeline_unavailable', status: 503, fields: { layer: 'hil' } };

  it('withdraws a call of this agent, and finds no other', async () => {
    const client = createHilClient({ url: 'https://hil.example:8084', fetch: overTheService(() => service) });
    const call = { correlation_id: correlation, tenant: 'acme', agent_id: 'payments-agent' };
    await expect(client.withdrawCall(call)).rejects.toMatchObject({ code: 'not_found' });
    await client.createOnce(review);
    await expect(client.withdrawCall({ ...call, agent_id: 'somebody' })).rejects.toMatchObject({ code: 'not_found' });
    // Nobody decides here, so nobody knows what became of it.
    await expect(client.withdrawCall(call)).rejects.toMatchObject({ code: 'internal_error' });
    await client.settle(settled);
    await expect(client.withdrawCall(call)).resolves.toBeUndefined();
  });

  it.each([
    ['a proxy’s error page', 502, '<html>'],
    ['an error nobody knows', 500, '{"error":"boom"}'],
    ['a code under another status', 200 + 300, '{"error":"already_decided"}'],
    ['a code from the prototype', 500, '{"error":"constructor"}'],
    ['an empty 200', 200, ''],
    ['a 200 that is no row', 200, '{"status":"pending"}'],
    ['a redirect', 302, ''],
  ])('takes %s for an outage', async (_, status, text) => {
    await expect(answering(status, text).createOnce(review)).rejects.toMatchObject(outage);
  });

  it('takes a refused connection for an outage and names it', async () => {
    const client = createHilClient({
      url: 'https://hil.example',
      fetch: () => Promise.reject(new Error('connect ECONNREFUSED')),
    });
    await expect(client.settle(settled)).rejects.toMatchObject({
      ...outage,
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await expect(client.withdraw(correlation)).rejects.toMatchObject(outage);
  });

  it('gives up after its time limit', async () => {
    const client = createHilClient({
      url: 'https://hil.example',
      timeoutMs: 20,
      fetch: (_url, { signal }) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    });
    await expect(client.createOnce(review)).rejects.toMatchObject(outage);
  });
});
