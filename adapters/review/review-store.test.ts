import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pendingRequest, type NewReview, type PendingRequest, type SettledReview } from '../../contracts/review.js';
import type { JsonObject } from '../../contracts/json.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { hilMigrations } from '../../migrations/hil.js';
import { canonicalDigest } from '../../domain/crypto/digest.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import type { StoreTarget } from '../store/database.js';
import { reviewsOf } from './review-store.js';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { openReviewStore, type WholeReviews } from '../../test/support/whole-reviews.js';

const keys = parseKeyRing(`k2:${'0123456789abcdef'.repeat(4)},k1:${'fedcba9876543210'.repeat(4)}`);
const T0 = Date.parse('2026-11-02T10:00:00.000Z');
const correlation = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const ARGUMENT = 'IBAN-9999-SECRET-VALUE';

const newReview = (over: Partial<NewReview> = {}): NewReview => ({
  agent_id: 'payments-agent',
  correlation_id: correlation(1),
  method: 'call_tool',
  request_payload: {
    jsonrpc: '2.0',
    id: 7,
    method: 'call_tool',
    params: { name: 'wire_transfer', arguments: { amount: 500, to: ARGUMENT, api_key: 'x' } },
  },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  created_at: '2026-11-02T10:00:00.000Z',
  review_reasons: ['money movement', 'off hours'],
  brain_scores: { drift: 0.2 },
  projected_cost_micros: 1200,
  approval_tier: 'standard',
  agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/payments-agent/instance/00000000-0000-4000-8000-00000000000a',
  tenant: 'acme',
  callback_url: 'https://agent.example/hil',
  ...over,
});

const settled = (over: Partial<SettledReview> = {}): SettledReview => ({
  pending_id: reviewIdOf(correlation(1)),
  status: 'approved',
  decided_at: '2026-11-02T10:00:05.000Z',
  decided_by: 'operator:dev',
  decision_reason: 'known payee',
  decided_via: 'console',
  principal: {
    subject: 'operator:dev',
    tenant: 'acme',
    method: 'console-bearer',
    credential: `workload-mtls:sha256:${'cd'.repeat(32)}`,
    credential_kind: 'console-bearer',
  },
  ...over,
});

const report: SandboxReport = {
  contract: 'gate.sandbox-report/v1',
  analyzer_version: 'gate-sandbox/1',
  analyzed: true,
  operation_class: 'write',
  severity: 'risky',
  reversible: 'no',
  summary: `move 500 EUR to \`${ARGUMENT}\``,
  reasons: ['money moves'],
  targets: [ARGUMENT],
  predicted_changes: [{ kind: 'send', target: ARGUMENT }],
  scope: { targets: 1, wildcards: false, recursive: false },
  money: { amount: '500', currency: 'EUR', payee: ARGUMENT },
};

/** The row as it appears in a list. */
const summary = (row: PendingRequest) => ({
  ...row,
  request_payload: row.retention['minimized_payload'],
  payload_summary: true,
});

describe.each(STORES)('the review store on %s', (kind) => {
  let place: TestLedgerPlace;
  let target: StoreTarget;
  let store: WholeReviews;
  let now: number;
  const open = (payloadKeys = keys) => openReviewStore({ target, payloadKeys, clock: () => now });

  beforeEach(async () => {
    now = T0;
    place = await ledgerPlace(kind, { migrated: hilMigrations });
    ({ target } = place);
    store = await open();
  }, 60_000);
  afterEach(async () => {
    await store.close();
    await place.remove();
  });

  describe('one row per correlation id', () => {
    it('creates a pending row that shows the approver the real arguments and commits to them', async () => {
      const { row, created } = await store.createOnce(newReview());
      expect(created).toBe(true);
      expect(row).toMatchObject({
        id: reviewIdOf(correlation(1)),
        correlation_id: correlation(1),
        status: 'pending',
        decided_at: null,
        decided_by: null,
        decision_reason: null,
        decided_via: null,
        approver_provenance: null,
        approver_assertion: null,
        credential_kind: null,
        tenant: 'acme',
        state_namespace: 'operator',
        created_at: '2026-11-02T10:00:00.000Z',
        ttl_seconds: 600,
        review_reasons: ['money movement', 'off hours'],
        brain_scores: { drift: 0.2 },
        projected_cost_micros: 1200,
        callback_url: 'https://agent.example/hil',
        modified_payload: null,
      });
      expect(row.request_payload).toEqual(newReview().request_payload);
      expect(row.original_payload_digest).toBe(canonicalDigest(newReview().request_payload));
      expect(pendingRequest.safeParse(row).success).toBe(true);
      expect(await store.get(row.id)).toEqual(row);
      expect(await store.byCorrelation(correlation(1))).toEqual(row);
    });

    it('derives the row id from the correlation id', () => {
      expect(reviewIdOf(correlation(1))).toBe('328d7836-e89c-4eb0-beca-08b1fb388b0e');
      expect(reviewIdOf('ABCDEFAB-0000-4000-8000-00000000000A')).toBe(
        reviewIdOf('abcdefab-0000-4000-8000-00000000000a'),
      );
    });

    it('answers a second create with the first row, its ttl and callback unchanged, key order of no account', async () => {
      const { row } = await store.createOnce(newReview());
      const payload = newReview().request_payload;
      const again = newReview({
        request_payload: Object.fromEntries(Object.entries(payload).reverse()),
        ttl_seconds: 1800,
        created_at: '2026-11-02T11:00:00Z',
        callback_url: 'https://elsewhere.example/',
        risk_summary: 'other words',
      });
      expect(await store.createOnce(again)).toEqual({ row, created: false });
    });

    it('answers a create after the decision with the decided row', async () => {
      await store.createOnce(newReview());
      const decided = await store.settle(settled());
      expect(await store.createOnce(newReview())).toEqual({ row: decided, created: false });
    });

    it.each([
      [
        'payload',
        { request_payload: { jsonrpc: '2.0', params: { name: 'wire_transfer', arguments: { amount: 501 } } } },
      ],
      ['agent', { agent_id: 'other-agent' }],
      ['tenant', { tenant: 'globex' }],
    ])('refuses another %s under the same correlation id', async (_, over) => {
      const { row } = await store.createOnce(newReview());
      await expect(store.createOnce(newReview(over))).rejects.toMatchObject({ code: 'pending_conflict', status: 409 });
      expect(await store.get(row.id)).toEqual(row);
    });

    it('makes one row of twenty creates at once', async () => {
      const results = await Promise.all(Array.from({ length: 20 }, () => store.createOnce(newReview())));
      expect(results.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(results.map(({ row }) => JSON.stringify(row))).size).toBe(1);
      expect((await store.list({ tenant: 'acme' })).rows).toHaveLength(1);
    });

    it('takes the server clock where the creator names no time', async () => {
      now = T0 + 1234;
      const { created_at: _, ...review } = newReview();
      expect((await store.createOnce(review)).row.created_at).toBe('2026-11-02T10:00:01.234Z');
    });

    it.each(['agent_id', 'method', 'risk_summary', 'tenant', 'agent_spiffe'] as const)(
      'refuses a NUL or a lone surrogate in %s, which no store would keep',
      async (field) => {
        for (const text of ['a\0b', 'a\ud800'])
          await expect(store.createOnce(newReview({ [field]: text }))).rejects.toMatchObject({
            code: 'invalid_request',
            message: expect.stringContaining(field),
          });
      },
    );

    it('refuses a payload without a canonical form', async () => {
      await expect(store.createOnce(newReview({ request_payload: { a: '\udfff' } }))).rejects.toMatchObject({
        code: 'invalid_request',
      });
    });

    it('keeps NUL inside a payload and inside reasons, which are stored encoded', async () => {
      const { row } = await store.createOnce(
        newReview({ request_payload: { 'k\0': 'v\0' }, review_reasons: ['a\0b'] }),
      );
      expect(await store.get(row.id)).toMatchObject({ request_payload: { 'k\0': 'v\0' }, review_reasons: ['a\0b'] });
    });
  });

  describe('the first settlement wins', () => {
    beforeEach(async () => {
      await store.createOnce(newReview());
    });

    it('writes who decided what, why, through what and with which proof', async () => {
      const row = await store.settle(settled());
      expect(row).toMatchObject({
        status: 'approved',
        decided_at: '2026-11-02T10:00:05.000Z',
        decided_by: 'operator:dev',
        decision_reason: 'known payee',
        decided_via: 'console',
        approver_provenance: 'console-bearer',
        approver_assertion: {
          subject: 'operator:dev',
          tenant: 'acme',
          method: 'console-bearer',
          credential: `workload-mtls:sha256:${'cd'.repeat(32)}`,
        },
        credential_kind: 'console-bearer',
        retention: { retention_purpose: 'terminal-payload-review' },
      });
      expect(await store.get(row.id)).toEqual(row);
    });

    it('returns the row when the same settlement comes again', async () => {
      const row = await store.settle(settled());
      expect(await store.settle(settled())).toEqual(row);
    });

    it.each([
      ['a denial', { status: 'denied' as const }],
      ['another operator', { decided_by: 'operator:eve' }],
      ['another time', { decided_at: '2026-11-02T10:00:06.000Z' }],
      ['another reason', { decision_reason: null }],
      ['an expiry', { status: 'expired' as const, decided_by: 'system:ttl-sweep', principal: null }],
    ])('refuses %s after an approval and leaves the first unchanged', async (_, over) => {
      const row = await store.settle(settled());
      await expect(store.settle(settled(over))).rejects.toMatchObject({
        code: 'already_decided',
        status: 409,
        fields: { status: 'approved', decided_by: 'operator:dev', decided_at: '2026-11-02T10:00:05.000Z' },
      });
      expect(await store.get(row.id)).toEqual(row);
    });

    it('lets one of thirty different settlements at once win', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 30 }, (_, n) => store.settle(settled({ decided_by: `operator:o${n}` }))),
      );
      const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(winners).toHaveLength(1);
      expect(await store.get(winners[0]?.id ?? '')).toEqual(winners[0]);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'already_decided' });
    });

    it('takes what the workflow settled also when its own clock is past the deadline', async () => {
      now = T0 + 600_000;
      expect((await store.settle(settled())).status).toBe('approved');
    });

    it('knows no row, no settlement', async () => {
      await expect(store.settle(settled({ pending_id: reviewIdOf(correlation(2)) }))).rejects.toMatchObject({
        code: 'not_found',
      });
    });

    it('refuses a settlement that has no canonical form', async () => {
      await expect(store.settle(settled({ decision_reason: '\ud800' }))).rejects.toMatchObject({
        code: 'invalid_request',
      });
    });
  });

  describe('the approvals of a row that several must approve', () => {
    const ana = { by: 'operator:ana', provenance: 'console-bearer', at: '2026-11-02T10:00:03.000Z' };
    const ben = { by: 'operator:ben', provenance: 'console-bearer', at: '2026-11-02T10:00:04.000Z' };

    it('are shown with it, whole or listed, and it goes on waiting', async () => {
      const { row } = await store.createOnce(newReview());
      expect(row).toMatchObject({ required_approvers: 1, approvals: [] });
      const voted = await store.voted(row.id, [ana]);
      expect(voted).toEqual({ ...row, approvals: [ana] });
      expect(await store.get(row.id)).toEqual(voted);
      expect((await store.list({ tenant: 'acme' })).rows).toMatchObject([{ id: row.id, approvals: [ana] }]);
    });

    it('are those that counted, once it was settled by them', async () => {
      const { row } = await store.createOnce(newReview());
      await store.voted(row.id, [ana]);
      const decided = await store.settle(settled({ approvals: [ana, ben] }));
      expect(decided).toMatchObject({ status: 'approved', approvals: [ana, ben] });
      expect(await store.settle(settled({ approvals: [ana, ben] }))).toEqual(decided);
      await expect(store.settle(settled({ approvals: [ben] }))).rejects.toMatchObject({ code: 'already_decided' });
    });

    it('do not change a row that is settled, withdrawn or unknown', async () => {
      const { row } = await store.createOnce(newReview());
      const decided = await store.settle(settled());
      expect(await store.voted(row.id, [ana])).toEqual(decided);
      const { row: other } = await store.createOnce(newReview({ correlation_id: correlation(2) }));
      await store.withdraw(other.correlation_id);
      expect(await store.voted(other.id, [ana])).toBeNull();
      expect(await store.voted(reviewIdOf(correlation(3)), [ana])).toBeNull();
    });

    it('are both there when two are written at once, one after the other', async () => {
      const { row } = await store.createOnce(newReview());
      await Promise.all([store.voted(row.id, [ana]), store.voted(row.id, [ana, ben]), store.voted(row.id, [ana, ben])]);
      expect([[ana], [ana, ben]]).toContainEqual((await store.get(row.id))?.approvals);
      expect(await store.voted(row.id, [ana, ben])).toMatchObject({ approvals: [ana, ben] });
    });
  });

  describe('a row that nobody has decided at a share of its time', () => {
    const at = '2026-11-02T10:05:00.000Z';
    const later = '2026-11-02T10:06:00.000Z';

    it('says when that would be, and once when it was, to whoever follows it', async () => {
      await store.close();
      store = await openReviewStore({ target, payloadKeys: keys, clock: () => now, escalateShares: [0.25] });
      const told: string[] = [];
      store.onEscalated(({ id }) => told.push(id));
      const changes = store.changes();
      await changes.next();
      const { row } = await store.createOnce(newReview());
      expect(row).toMatchObject({ escalates_at: '2026-11-02T10:02:30.000Z', escalated_at: null });
      await changes.next();
      await Promise.all([store.escalated(row.id, [at]), store.escalated(row.id, [at])]);
      await store.escalated(row.id, [later]);
      expect(await store.get(row.id)).toEqual({ ...row, escalated_at: at });
      expect(told).toEqual([row.id]);
      expect(await changes.next()).toMatchObject({ changes: [{ type: 'updated', row: { id: row.id } }], gap: false });
      expect(
        (await store.summaries({ tenants: ['acme'], status: 'pending', limit: 9, sort: 'newest' })).items,
      ).toMatchObject([{ id: row.id, escalated_at: at }]);
    });

    it('says so of each share, once, also where it hears of several at a time', async () => {
      await store.close();
      store = await openReviewStore({ target, payloadKeys: keys, clock: () => now, escalateShares: [0.25, 0.5, 0.9] });
      const told: string[] = [];
      store.onEscalated(({ id }) => told.push(id));
      const { row } = await store.createOnce(newReview());
      expect(row).toMatchObject({
        escalates_at: '2026-11-02T10:02:30.000Z',
        escalates_again_at: ['2026-11-02T10:05:00.000Z', '2026-11-02T10:09:00.000Z'],
      });
      await store.escalated(row.id, [at]);
      await Promise.all([store.escalated(row.id, [at, later]), store.escalated(row.id, [at, later])]);
      await store.escalated(row.id, [later]);
      const twice = { ...row, escalated_at: at, escalated_again_at: [later] };
      expect(await store.get(row.id)).toEqual(twice);
      expect(pendingRequest.safeParse(twice).success).toBe(true);
      expect(told).toEqual([row.id, row.id]);
      const { row: other } = await store.createOnce(newReview({ correlation_id: correlation(2) }));
      await store.escalated(other.id, [at, later]);
      expect(await store.get(other.id)).toMatchObject({ escalated_at: at, escalated_again_at: [later] });
      expect(told).toEqual([row.id, row.id, other.id, other.id]);
    });

    it('stays as it is once it is settled, withdrawn or unknown', async () => {
      const { row } = await store.createOnce(newReview());
      expect(row).toMatchObject({ escalates_at: null, escalated_at: null });
      const decided = await store.settle(settled());
      await store.escalated(row.id, [at]);
      expect(await store.get(row.id)).toEqual(decided);
      const { row: other } = await store.createOnce(newReview({ correlation_id: correlation(2) }));
      await store.withdraw(other.correlation_id);
      await store.escalated(other.id, [at]);
      expect(await store.get(other.id)).toBeNull();
      await store.escalated(reviewIdOf(correlation(3)), [at]);
    });
  });

  describe('the state of a tenant', () => {
    const operation = { tenant: 'acme', kind: 'offboard', asked_by: 'operator:dev' } as const;
    const id = (n: number) => `10000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    const receiptOf = (n: number) => ({
      tenant: 'acme',
      operation_id: id(n),
      kind: 'offboard' as const,
      state: 'offboarded' as const,
      generation: 1,
      pending_denied: 0,
      rows_erased: 0,
      rows_held: 0,
      receipt_sha256: 'a'.repeat(64),
      updated_at: new Date(T0).toISOString(),
    });

    it('is stored with its operation, numbered per tenant, and the first receipt stands', async () => {
      expect(await store.tenants.begin({ ...operation, operation_id: id(1) })).toMatchObject({
        generation: 1,
        begun_ms: T0,
        receipt: null,
      });
      now += 1_000;
      expect(await store.tenants.begin({ ...operation, operation_id: id(1) })).toMatchObject({ begun_ms: T0 });
      expect(await store.tenants.finish(id(1), receiptOf(1))).toEqual(receiptOf(1));
      expect(await store.tenants.finish(id(1), { ...receiptOf(1), pending_denied: 9 })).toEqual(receiptOf(1));
      expect(await store.tenants.begin({ ...operation, operation_id: id(1) })).toMatchObject({ receipt: receiptOf(1) });
      expect(await store.tenants.begin({ ...operation, operation_id: id(2) })).toMatchObject({ generation: 2 });
      expect(await store.tenants.begin({ ...operation, tenant: 'globex', operation_id: id(3) })).toMatchObject({
        generation: 1,
      });
    });

    it('gives operations that begin at once a number each', async () => {
      const begun = await Promise.all([1, 2, 3].map((n) => store.tenants.begin({ ...operation, operation_id: id(n) })));
      expect(begun.map(({ generation }) => generation).toSorted((one, other) => one - other)).toEqual([1, 2, 3]);
    });

    it('closes the door to new rows of that tenant alone, over a restart, and opens it again', async () => {
      await store.tenants.begin({ ...operation, operation_id: id(1) });
      await store.close();
      store = await open();
      await expect(store.createOnce(newReview())).rejects.toMatchObject({ code: 'tenant_offboarded' });
      expect(await store.byCorrelation(correlation(1))).toBeNull();
      await store.createOnce(newReview({ tenant: 'globex', correlation_id: correlation(2) }));
      await store.tenants.begin({ ...operation, kind: 'provision', operation_id: id(2) });
      expect(await store.createOnce(newReview())).toMatchObject({ created: true });
    });
  });

  it('walks the rows that nobody has decided, by their deadlines, whosever they are', async () => {
    const parked = [];
    for (const [n, ttl_seconds, tenant] of [
      [1, 300, 'acme'],
      [2, 100, 'globex'],
      [3, 200, 'acme'],
      [4, 400, 'acme'],
      [5, 500, 'acme'],
    ] as const) {
      const { row } = await store.createOnce(newReview({ correlation_id: correlation(n), ttl_seconds, tenant }));
      parked.push({ id: row.id, correlation_id: row.correlation_id, ms: T0 + ttl_seconds * 1000 });
    }
    await store.settle(settled());
    await store.withdraw(correlation(4));
    const [, first, second, , third] = parked;
    expect(await store.undecided({ ms: -1, id: '' }, 2)).toEqual([first, second]);
    expect(await store.undecided({ ms: second?.ms ?? 0, id: second?.id ?? '' }, 2)).toEqual([third]);
    expect(await store.undecided({ ms: third?.ms ?? 0, id: third?.id ?? '' }, 2)).toEqual([]);
  });

  describe('a row ends with its call', () => {
    it('is pending past its deadline until its call says so; a day later it is expired, because its call is gone', async () => {
      const { row } = await store.createOnce(newReview());
      for (now of [T0 + 599_999, T0 + 600_000, T0 + 600_000 + 86_399_999]) {
        expect(await store.get(row.id)).toMatchObject({ status: 'pending', decided_by: null });
        expect((await store.list({ tenant: 'acme' })).rows).toHaveLength(1);
        expect((await store.list({ tenant: 'acme', status: 'expired' })).rows).toEqual([]);
        expect(await store.backlog()).toMatchObject({ pending: 1 });
      }
      now = T0 + 600_000 + 86_400_000;
      const expired = {
        status: 'expired',
        decided_at: '2026-11-02T10:10:00.000Z',
        decided_by: 'system:ttl-sweep',
        decided_via: 'system:ttl-sweep',
        decision_reason: null,
        approver_provenance: 'system',
        approver_assertion: null,
        credential_kind: null,
      };
      expect(await store.get(row.id)).toMatchObject(expired);
      expect(await store.byCorrelation(row.correlation_id)).toMatchObject(expired);
      expect((await store.createOnce(newReview())).row).toMatchObject(expired);
      expect((await store.list({ tenant: 'acme' })).rows).toEqual([]);
      expect((await store.list({ tenant: 'acme', status: 'expired' })).rows).toMatchObject([expired]);
    });

    it('is listed as it is at each time, however often it was listed before, also where the clock is put back', async () => {
      const listed = async (status: 'pending' | 'expired' | 'denied') => {
        const page = async () => (await store.list({ tenant: 'acme', status })).rows;
        const first = await page();
        expect(await page()).toEqual(first);
        return first[0];
      };
      const { row } = await store.createOnce(newReview({ sandbox_report: report }));
      const waits = { status: 'pending', sandbox_report: { summary: report.summary } };
      expect(await listed('pending')).toMatchObject(waits);
      now = T0 + 600_000 + 86_400_000;
      expect(await listed('expired')).toMatchObject({ status: 'expired', decided_by: 'system:ttl-sweep' });
      now = T0;
      expect(await listed('pending')).toMatchObject(waits);
      await store.voted(row.id, [{ by: 'operator:ana', provenance: 'console-bearer', at: new Date(T0).toISOString() }]);
      expect(await listed('pending')).toMatchObject({ approvals: [{ by: 'operator:ana' }] });
      const settledRow = await store.settle(settled({ status: 'denied' }));
      const ends = Date.parse(settledRow.retention['payload_retention_expires_at'] as string);
      const kept = { status: 'denied', sandbox_report: { summary: report.summary } };
      for (now of [T0, ends - 1, ends, ends - 1])
        expect(await listed('denied')).toMatchObject(
          now < ends
            ? kept
            : { sandbox_report: { operation_class: 'write' }, retention: { payload_availability: 'minimized' } },
        );
      now = ends;
      expect((await listed('denied'))?.sandbox_report).not.toHaveProperty('summary');
    });

    it('shows the same after the workflow has written the expiry', async () => {
      const { row } = await store.createOnce(newReview());
      now = T0 + 87_100_000;
      const computed = await store.get(row.id);
      const written = await store.settle(
        settled({
          status: 'expired',
          decided_at: '2026-11-02T10:10:00.000Z',
          decided_by: 'system:ttl-sweep',
          decided_via: 'system:ttl-sweep',
          decision_reason: null,
          principal: null,
        }),
      );
      expect(written).toEqual(computed);
      expect((await store.list({ tenant: 'acme', status: 'expired' })).rows).toEqual([summary(written)]);
    });
  });

  describe('a 503 after the row was stored withdraws the row', () => {
    it('hides the row everywhere and drops its payload', async () => {
      const { row } = await store.createOnce(newReview());
      await store.withdraw(row.correlation_id);
      expect(await store.get(row.id)).toBeNull();
      expect(await store.byCorrelation(row.correlation_id)).toBeNull();
      for (const status of ['pending', 'expired'] as const)
        expect((await store.list({ tenant: 'acme', status })).rows).toEqual([]);
      expect(await store.backlog()).toEqual({ pending: 0, oldest_created_ms: null });
      // Paging past it continues from its place.
      expect(await store.list({ tenant: 'acme', before: row.id })).toEqual({ rows: [], next_before: null });
    });

    it('may be met twice, and without a row', async () => {
      await store.createOnce(newReview());
      await store.withdraw(correlation(1));
      await store.withdraw(correlation(1));
      await store.withdraw(correlation(2));
      expect((await store.list({ tenant: 'acme' })).rows).toEqual([]);
    });

    it('refuses once somebody decided', async () => {
      const { row } = await store.createOnce(newReview());
      const decided = await store.settle(settled());
      await expect(store.withdraw(row.correlation_id)).rejects.toMatchObject({
        code: 'already_decided',
        fields: { status: 'approved' },
      });
      expect(await store.get(row.id)).toEqual(decided);
    });

    it('takes no settlement for a withdrawn row', async () => {
      await store.createOnce(newReview());
      await store.withdraw(correlation(1));
      await expect(store.settle(settled())).rejects.toMatchObject({ code: 'not_pending', status: 409 });
    });

    it('lets the same call start again later, and no other one under its id', async () => {
      await store.createOnce(newReview());
      await store.withdraw(correlation(1));
      const later = newReview({ created_at: '2026-11-02T10:01:00Z' });
      const conflict = { code: 'pending_conflict', status: 409 };
      for (const other of [{ request_payload: { other: true } }, { agent_id: 'other' }])
        await expect(store.createOnce({ ...later, ...other })).rejects.toMatchObject(conflict);
      expect(await store.byCorrelation(correlation(1))).toBeNull();
      const { row, created } = await store.createOnce(later);
      expect(created).toBe(true);
      expect(row).toMatchObject({ status: 'pending', created_at: '2026-11-02T10:01:00.000Z' });
      expect(await store.get(row.id)).toEqual(row);
      expect(row.request_payload).toEqual(later.request_payload);
    });

    it('is not for an attempt that began before the one which opened the row last', async () => {
      const at = (attempt_ms: number) => newReview({ attempt_ms });
      await store.createOnce(at(1_000));
      await store.createOnce(at(6_000));
      // A late create of the first attempt takes nothing over.
      expect(await store.createOnce(at(1_000))).toMatchObject({ created: false });
      await store.withdraw(correlation(1), 1_000);
      expect(await store.byCorrelation(correlation(1))).toMatchObject({ status: 'pending' });
      await store.withdraw(correlation(1), 6_000);
      expect(await store.byCorrelation(correlation(1))).toBeNull();
    });

    it('is for any attempt where no row says which opened it', async () => {
      await store.createOnce(newReview());
      await store.withdraw(correlation(1), 1);
      expect(await store.byCorrelation(correlation(1))).toBeNull();
    });

    it('refuses a straggler of the withdrawn call', async () => {
      await store.createOnce(newReview());
      await store.withdraw(correlation(1));
      await expect(store.createOnce(newReview())).rejects.toMatchObject({ code: 'not_pending' });
      expect(await store.get(reviewIdOf(correlation(1)))).toBeNull();
    });
  });

  describe('tenants', () => {
    it('a foreign row is an unknown row', async () => {
      const { row } = await store.createOnce(newReview());
      expect(await store.get(row.id, 'globex')).toBeNull();
      expect(await store.byCorrelation(row.correlation_id, 'globex')).toBeNull();
      expect((await store.list({ tenant: 'globex' })).rows).toEqual([]);
      expect(await store.get(row.id, 'acme')).toEqual(row);
      await expect(store.list({ tenant: 'globex', before: row.id })).rejects.toMatchObject({ code: 'invalid_request' });
    });
  });

  describe('what changed since the last such call', () => {
    const call = (name: string, given: JsonObject): Pick<NewReview, 'request_payload'> => ({
      request_payload: { jsonrpc: '2.0', id: 1, method: 'call_tool', params: { name, arguments: given } },
    });
    const at = (secs: number) => new Date(T0 + secs * 1_000).toISOString();
    const park = async (n: number, given: JsonObject, over: Partial<NewReview> = {}, tool = 'wire_transfer') =>
      (
        await store.createOnce(
          newReview({ correlation_id: correlation(n), created_at: at(n), ...call(tool, given), ...over }),
        )
      ).row;

    it('is told against the newest earlier call of the same agent, tool and tenant', async () => {
      const first = await park(1, { amount: 1 });
      await park(2, { amount: 2 }, { tenant: 'globex' });
      await park(3, { amount: 3 }, { agent_id: 'other-agent' });
      await park(4, { amount: 4 }, {}, 'refund');
      const row = await park(5, { amount: 5, to: 'x' });
      await park(6, { amount: 6 });
      expect(await store.sinceLast(row)).toEqual({
        pending_id: first.id,
        correlation_id: first.correlation_id,
        created_at: at(1),
        status: 'pending',
        decided_at: null,
        decided_by: null,
        modified: false,
        arguments: 'changed',
        changes: [
          { path: '/amount', kind: 'changed', before: { json: '1' }, after: { json: '5' } },
          { path: '/to', kind: 'added', after: { json: '"x"' } },
        ],
        changes_omitted: 0,
      });
      expect(await store.sinceLast(first)).toBeNull();
    });

    it('tells two calls of one millisecond apart, and is nothing about a withdrawn call', async () => {
      const [one, other] = await Promise.all([1, 2].map((n) => park(n, { amount: 1 }, { created_at: at(0) })));
      const told = await Promise.all([one, other].map((row) => store.sinceLast(row as PendingRequest)));
      expect(told.filter((last) => last === null)).toHaveLength(1);
      expect(told.find((last) => last !== null)).toMatchObject({ arguments: 'same', changes: [] });
      await store.withdraw(correlation(1));
      await store.withdraw(correlation(2));
      expect(await store.sinceLast(await park(3, { amount: 1 }))).toBeNull();
    });

    it('is nothing about a review in its name that no call asked for', async () => {
      await park(1, { amount: 1 }, { agent_spiffe: 'spiffe://gate.local/service/simulator' });
      expect(await store.sinceLast(await park(2, { amount: 1 }))).toBeNull();
    });

    it('says how the last one was decided, and that it was approved with other arguments', async () => {
      await park(1, { amount: 1 });
      const diff = {
        contract: 'gate.hil.modification-diff/v1' as const,
        replacements: [{ path: ['amount'], value: 100 }],
      };
      await store.settle(settled({ modification: { diff, reviewed_digest: 'sha256:changed' } }));
      expect(await store.sinceLast(await park(2, { amount: 1 }))).toMatchObject({
        status: 'approved',
        decided_by: 'operator:dev',
        decided_at: '2026-11-02T10:00:05.000Z',
        modified: true,
        arguments: 'same',
      });
    });

    it('shows the arguments of the last one no longer than its row does', async () => {
      await park(1, { amount: 1 });
      await store.settle(settled());
      now = T0 + 7 * 86_400_000 + 5_000;
      const row = await park(2, { amount: 2 }, { created_at: new Date(now).toISOString() });
      const gone = { pending_id: reviewIdOf(correlation(1)), arguments: 'purged', changes: [] };
      expect(await store.sinceLast(row)).toMatchObject(gone);
      expect((await store.sweep()).purged).toBe(1);
      expect(await store.sinceLast(row)).toMatchObject(gone);
      expect(JSON.stringify(await store.sinceLast(row))).not.toContain('"before"');
    });

    it('compares and opens no large request', async () => {
      await park(1, { text: 'x'.repeat(300_000) });
      const row = await park(2, { text: 'y' });
      expect(await store.sinceLast(row)).toMatchObject({ arguments: 'too_large', changes: [] });
      expect(await store.sinceLast(await park(3, { text: 'y' }))).toMatchObject({ arguments: 'same' });
    });

    it('looks at 200 calls of the agent, and no further', async () => {
      await park(1, { amount: 1 });
      for (let n = 2; n <= 200; n += 1) await park(n, {}, {}, 'refund');
      expect(await store.sinceLast(await park(201, { amount: 1 }))).toMatchObject({ arguments: 'same' });
      await store.withdraw(correlation(201));
      await park(202, {}, {}, 'refund');
      expect(await store.sinceLast(await park(203, { amount: 1 }))).toBeNull();
    });
  });

  describe('the list of rows', () => {
    const park = async (n: number, over: Partial<NewReview> = {}) =>
      (await store.createOnce(newReview({ correlation_id: correlation(n), ...over }))).row;

    it('is newest first and pages by the last row seen, rows of the same millisecond included', async () => {
      for (let n = 1; n <= 7; n += 1)
        await park(n, { created_at: new Date(T0 + Math.floor(n / 3) * 1000).toISOString() });
      const all = (await store.list({ tenant: 'acme' })).rows;
      expect(all).toHaveLength(7);
      expect(all.map((row) => row.created_at)).toEqual(
        all
          .map((row) => row.created_at)
          .sort()
          .reverse(),
      );
      const paged = [];
      let before: string | null = null;
      do {
        const page: Awaited<ReturnType<WholeReviews['list']>> = await store.list({
          tenant: 'acme',
          limit: 2,
          ...(before !== null && { before }),
        });
        paged.push(...page.rows);
        before = page.next_before;
      } while (before !== null);
      expect(paged).toEqual(all);
    });

    it('is oldest first where asked so, and a short page holds the oldest', async () => {
      for (let n = 1; n <= 5; n += 1)
        await park(n, { created_at: new Date(T0 + Math.floor(n / 2) * 1000).toISOString() });
      const newest = (await store.list({ tenant: 'acme' })).rows;
      const first = await store.list({ tenant: 'acme', sort: 'oldest', limit: 2 });
      const rest = await store.list({ tenant: 'acme', sort: 'oldest', before: first.next_before ?? '' });
      expect([...first.rows, ...rest.rows]).toEqual(newest.toReversed());
      expect(first.rows).toHaveLength(2);
    });

    it('filters by status and agent', async () => {
      await park(1);
      await park(2, { agent_id: 'other' });
      await park(3);
      await store.settle(settled({ status: 'denied', pending_id: reviewIdOf(correlation(3)) }));
      const numbers = async (query: object) =>
        (await store.list({ tenant: 'acme', ...query })).rows.map((row) => row.correlation_id.slice(-1)).toSorted();
      expect(await numbers({})).toEqual(['1', '2']);
      expect(await numbers({ agent_id: 'other' })).toEqual(['2']);
      expect(await numbers({ status: 'denied' })).toEqual(['3']);
      expect(await numbers({ status: 'approved' })).toEqual([]);
      expect(await numbers({ status: 'expired' })).toEqual([]);
    });

    it('holds no payload, so that the size of one row hides no other', async () => {
      const large = { text: 'x'.repeat(3 * 1024 * 1024) };
      for (let n = 1; n <= 5; n += 1) await park(n, { request_payload: { n, ...large } });
      const { rows, next_before } = await store.list({ tenant: 'acme' });
      expect([rows.length, next_before]).toEqual([5, null]);
      expect(JSON.stringify(rows).length).toBeLessThan(20_000);
      for (const row of rows) {
        const whole = await store.get(row.id);
        expect(row).toEqual(summary(whole as PendingRequest));
        expect(row.payload_bytes).toBe(JSON.stringify(whole?.request_payload).length);
      }
    });

    it('is one list over several tenants and statuses, with one cursor', async () => {
      for (let n = 1; n <= 6; n += 1)
        await park(n, {
          tenant: n % 2 ? 'acme' : 'globex',
          created_at: new Date(T0 + n * 1000).toISOString(),
        });
      await park(7, { tenant: 'initech' });
      await store.settle(settled({ status: 'denied', pending_id: reviewIdOf(correlation(2)) }));
      const query = { tenant: ['acme', 'globex'], status: ['pending', 'denied'], sort: 'oldest', limit: 4 } as const;
      const first = await store.list(query);
      const second = await store.list({ ...query, before: first.next_before ?? '' });
      expect([...first.rows, ...second.rows].map((row) => Number(row.correlation_id.slice(-1)))).toEqual([
        1, 2, 3, 4, 5, 6,
      ]);
      expect(second.next_before).toBeNull();
    });

    it('counts the backlog over all tenants', async () => {
      await park(1, { created_at: '2026-11-02T09:59:00Z' });
      await park(2, { tenant: 'globex' });
      await park(3, { ttl_seconds: 1, created_at: '2026-11-01T09:00:00Z' });
      expect(await store.backlog()).toEqual({ pending: 2, oldest_created_ms: T0 - 60_000 });
    });
  });

  describe('the report of the sandbox', () => {
    const id = reviewIdOf(correlation(1));
    const told = { operation_class: 'write', severity: 'risky' };
    const withReport = (over: Partial<NewReview> = {}) => newReview({ sandbox_report: report, ...over });
    const first = async () => (await store.list({ tenant: 'acme' })).rows[0];

    it('is shown whole with the row, under its digest, and as its line in a list', async () => {
      const { row } = await store.createOnce(withReport());
      expect(row).toMatchObject({ sandbox_report: report, sandbox_report_digest: canonicalDigest(report) });
      expect(await store.get(id)).toMatchObject({ sandbox_report: report });
      expect((await first())?.sandbox_report).toEqual({
        ...told,
        reversible: 'no',
        summary: `move 500 EUR to \`${ARGUMENT}\``,
      });
    });

    it('is null where there was none', async () => {
      const { row } = await store.createOnce(newReview());
      expect(row).toMatchObject({ sandbox_report: null, sandbox_report_digest: null });
      expect(await first()).toMatchObject({ sandbox_report: null });
    });

    it('stays the first when the call is parked again', async () => {
      await store.createOnce(withReport());
      await store.createOnce(withReport({ sandbox_report: { ...report, severity: 'destructive' } }));
      expect(await store.get(id)).toMatchObject({ sandbox_report: { severity: 'risky' } });
    });

    it('goes with the payload: class and severity are what stays', async () => {
      await store.createOnce(withReport());
      await store.settle(settled());
      now = T0 + 8 * 86_400_000;
      expect((await store.get(id))?.sandbox_report).toEqual(told);
      expect((await store.list({ tenant: 'acme', status: 'approved' })).rows[0]?.sandbox_report).toEqual(told);
    });

    it('is deleted when the row is withdrawn, and another one comes with the next attempt', async () => {
      await store.createOnce(withReport());
      await store.withdraw(correlation(1));
      await store.createOnce(withReport({ sandbox_report: null, created_at: '2026-11-02T10:00:01.000Z' }));
      expect(await store.get(id)).toMatchObject({ sandbox_report: null, sandbox_report_digest: null });
    });
  });

  describe('the payload at rest', () => {
    it('is told by the retention object', async () => {
      const { row } = await store.createOnce(newReview());
      expect(row.retention).toEqual({
        retention_policy: 'gate.hil-retention/v1',
        retention_purpose: 'active-review-and-execution',
        retention_tier: 'standard',
        payload_protection: 'aes-256-gcm',
        payload_key_id: 'k2',
        protected_at: '2026-11-02T10:00:00.000Z',
        payload_retention_expires_at: '2026-11-09T10:10:00.000Z',
        metadata_retention_expires_at: '2026-12-02T10:10:00.000Z',
        payload_availability: 'available',
        minimization_profile: 'hil-request-v1',
        minimized_payload: {
          jsonrpc: '2.0',
          method: 'call_tool',
          params: { name: 'wire_transfer', arguments: { keys: ['amount', 'to', '[redacted]'] } },
          canonical_payload_sha256: row.original_payload_digest,
        },
      });
    });

    it.each([
      ['auto', '2026-11-03T10:00:05.000Z'],
      [null, '2026-11-09T10:00:05.000Z'],
      ['strict', '2026-12-02T10:00:05.000Z'],
    ] as const)('of tier %s is shown until %s after the decision, then only minimized', async (tier, until) => {
      await store.createOnce(newReview({ approval_tier: tier }));
      const row = await store.settle(settled());
      expect(row.retention['payload_retention_expires_at']).toBe(until);
      now = Date.parse(until) - 1;
      expect((await store.get(row.id))?.request_payload).toEqual(newReview().request_payload);
      now = Date.parse(until);
      const later = await store.get(row.id);
      expect(later?.retention['payload_availability']).toBe('minimized');
      expect(later?.request_payload).toEqual(row.retention['minimized_payload']);
    });

    it('opens with an older key of the ring, and with no other', async () => {
      const { row } = await store.createOnce(newReview());
      await store.close();
      store = await open(
        parseKeyRing(`k3:${'00112233445566778899aabbccddeeff'.repeat(2)},k2:${'0123456789abcdef'.repeat(4)}`),
      );
      expect(await store.get(row.id)).toEqual(row);
      const { row: next } = await store.createOnce(newReview({ correlation_id: correlation(2) }));
      expect(next.retention['payload_key_id']).toBe('k3');
      await store.close();
      await expect(open(parseKeyRing(`k2:${'fedcba9876543210'.repeat(4)}`))).rejects.toMatchObject({
        code: 'store_unavailable',
        status: 503,
      });
      store = await open(parseKeyRing(`k3:${'00112233445566778899aabbccddeeff'.repeat(2)}`));
      await expect(store.get(row.id)).rejects.toMatchObject({ code: 'payload_unavailable', status: 503 });
    });

    it('whose key is not there hides no other row, and is settled by the workflow when the key is back', async () => {
      const { row: lost } = await store.createOnce(newReview());
      const k9 = `k9:${'0123456789abcdef'.repeat(3)}0000000000000000`;
      const both = parseKeyRing(`${k9},k2:${'0123456789abcdef'.repeat(4)}`);
      await store.close();
      await (await open(both)).close();
      store = await open(parseKeyRing(k9));
      const { row: fine } = await store.createOnce(newReview({ correlation_id: correlation(2) }));
      const listed = (await store.list({ tenant: 'acme' })).rows;
      expect(listed.find((row) => row.id === fine.id)).toEqual(summary(fine));
      expect(listed.find((row) => row.id === lost.id)).toMatchObject({ status: 'tampered', request_payload: {} });
      await expect(store.get(lost.id)).rejects.toMatchObject({ code: 'payload_unavailable' });
      await expect(store.settle(settled({ status: 'denied' }))).rejects.toMatchObject({ code: 'payload_unavailable' });
      await store.close();
      store = await open(both);
      expect((await store.settle(settled({ status: 'denied' }))).status).toBe('denied');
    });
  });

  describe.each([
    ['counted each time', false],
    ['kept up by a process that writes alone', true],
  ])('what one agent may have waiting, %s,', (_how, alone) => {
    const forgetting: (() => void)[] = [];
    const limited = (rows: number, bytes = 1_000_000, rehearsals?: number) =>
      openReviewStore({
        target,
        payloadKeys: keys,
        clock: () => now,
        perAgent: { rows, bytes },
        ...(rehearsals !== undefined && { rehearsals }),
        ...(alone && { alone: (forget: () => void) => void forgetting.push(forget) }),
      });
    const refused = { code: 'review_backlog_full', status: 429, fields: { retry_after_secs: expect.any(Number) } };
    const numbered = (n: number, over: Partial<NewReview> = {}) =>
      newReview({ correlation_id: correlation(n), created_at: new Date(now).toISOString(), ...over });

    it('is so many rows; another agent, and one of another tenant, has its own', async () => {
      store = await limited(2);
      await store.createOnce(numbered(1));
      await store.createOnce(numbered(2));
      await expect(store.createOnce(numbered(3))).rejects.toMatchObject(refused);
      expect(await store.get(reviewIdOf(correlation(3)))).toBeNull();
      await store.createOnce(numbered(4, { agent_id: 'other' }));
      await store.createOnce(numbered(5, { tenant: 'globex' }));
      expect((await store.createOnce(numbered(2))).created).toBe(false);
    });

    it('is so many bytes', async () => {
      store = await limited(100, 10_000);
      const of = (bytes: number) => ({ request_payload: { text: 'x'.repeat(bytes) } });
      await store.createOnce(numbered(1, of(6_000)));
      await expect(store.createOnce(numbered(2, of(6_000)))).rejects.toMatchObject(refused);
      await store.createOnce(numbered(3, of(3_000)));
      await expect(store.createOnce(numbered(4, of(20_000)))).rejects.toMatchObject(refused);
    });

    it.each([
      // Postgres has no larger ones in this column.
      ['huge', kind === 'sqlite' ? '9223372036854775807' : '2147483647'],
      ['negative', kind === 'sqlite' ? '-9223372036854775807' : '-2147483647'],
    ])('counts no bytes of rows whose size somebody edited to be %s, and the others as they are', async (_, size) => {
      store = await limited(100, 10_000);
      const of = (bytes: number) => ({ request_payload: { text: 'x'.repeat(bytes) } });
      await store.createOnce(numbered(1));
      await store.createOnce(numbered(2));
      await store.createOnce(numbered(3, of(6_000)));
      for (const n of [1, 2])
        await place.sql(`update reviews set payload_bytes = ${size} where id = ?`, [reviewIdOf(correlation(n))]);
      // A process that writes alone has counted them before.
      await store.close();
      store = await limited(100, 10_000);
      await store.createOnce(numbered(4, of(3_000)));
      await expect(store.createOnce(numbered(5, of(6_000)))).rejects.toMatchObject(refused);
      await expect(store.createOnce(numbered(6, of(3_000)))).rejects.toMatchObject(refused);
    });

    it('is not what was decided, withdrawn or has expired', async () => {
      store = await limited(1);
      await store.createOnce(numbered(1));
      await store.settle(settled({ status: 'denied' }));
      await store.createOnce(numbered(2));
      await store.withdraw(correlation(2));
      await store.createOnce(numbered(3));
      now += 601_000;
      await store.createOnce(numbered(4));
      await expect(store.createOnce(numbered(5))).rejects.toMatchObject(refused);
    });

    it('is counted anew by a clock that was put back: what had expired waits again', async () => {
      store = await limited(1);
      await store.createOnce(numbered(1));
      now += 601_000;
      await store.createOnce(numbered(2));
      await store.withdraw(correlation(2));
      await store.createOnce(numbered(3));
      await store.settle(settled({ pending_id: reviewIdOf(correlation(3)), status: 'denied' }));
      now -= 601_000;
      await expect(store.createOnce(numbered(4))).rejects.toMatchObject(refused);
    });

    if (alone)
      it('is counted anew once the store undid what stood', async () => {
        store = await limited(2);
        await store.createOnce(numbered(1));
        // Stands for a row that waits again.
        const undone = await open();
        await undone.createOnce(numbered(2));
        await undone.close();
        for (const forget of forgetting) forget();
        await expect(store.createOnce(numbered(3))).rejects.toMatchObject(refused);
      });

    describe('of reviews that no call asked for', () => {
      const simulator = 'spiffe://gate.local/service/simulator';
      const rehearsal = (n: number, over: Partial<NewReview> = {}) => numbered(n, { agent_spiffe: simulator, ...over });
      const full = { code: 'review_backlog_full', status: 429, fields: { scope: 'rehearsals', key: 'acme' } };

      it('is counted for their tenant, in whosever name they are, and takes no room from the calls of that agent', async () => {
        store = await limited(2, 1_000_000, 3);
        for (const [n, agent_id] of ['payments-agent', 'payments-agent', 'other'].entries())
          await store.createOnce(rehearsal(n + 1, { agent_id }));
        await expect(store.createOnce(rehearsal(4, { agent_id: 'third' }))).rejects.toMatchObject(full);
        await store.createOnce(rehearsal(5, { tenant: 'globex' }));
        expect((await store.createOnce(rehearsal(1))).created).toBe(false);
        await store.createOnce(numbered(6));
        // The tenant of an agent, or the agent, may be called as services are.
        const called = 'spiffe://gate.local/tenant/service/agent/service/instance/00000000-0000-4000-8000-000000000001';
        await store.createOnce(numbered(7, { agent_spiffe: called }));
        await expect(store.createOnce(numbered(8))).rejects.toMatchObject({
          ...refused,
          fields: { scope: 'agent', key: 'acme/payments-agent' },
        });
        await expect(store.createOnce(numbered(8, { agent_spiffe: called }))).rejects.toMatchObject(refused);
      });

      it('is so many bytes too, and takes none from the agents', async () => {
        store = await limited(100, 10_000);
        const of = (bytes: number) => ({ request_payload: { text: 'x'.repeat(bytes) } });
        await store.createOnce(rehearsal(1, of(6_000)));
        await expect(store.createOnce(rehearsal(2, of(6_000)))).rejects.toMatchObject(full);
        await store.createOnce(numbered(3, of(9_000)));
        await expect(store.createOnce(numbered(4, of(3_000)))).rejects.toMatchObject(refused);
      });

      it('is, for ten minutes, also what was decided or has expired: nobody is told without end of those of a second', async () => {
        store = await limited(100, 1_000_000, 2);
        await store.createOnce(rehearsal(1));
        await store.settle(settled({ status: 'denied' }));
        await store.createOnce(rehearsal(2, { ttl_seconds: 1 }));
        now += 599_000;
        await expect(store.createOnce(rehearsal(3))).rejects.toMatchObject(full);
        now += 1_000;
        await store.createOnce(rehearsal(3));
        await store.withdraw(correlation(3));
        for (const n of [4, 5]) await store.createOnce(rehearsal(n, { ttl_seconds: 3_000 }));
        now += 700_000;
        await expect(store.createOnce(rehearsal(6))).rejects.toMatchObject(full);
      });

      it('holds for fifty at once, in fifty names', async () => {
        store = await limited(100, 1_000_000, 5);
        const results = await Promise.allSettled(
          Array.from({ length: 50 }, (_, n) => store.createOnce(rehearsal(n + 1, { agent_id: `agent-${n}` }))),
        );
        expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
      });
    });

    it('holds for fifty at once', async () => {
      store = await limited(5);
      const results = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => store.createOnce(numbered(n + 1))));
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
      expect(await store.backlog()).toMatchObject({ pending: 5 });
    });
  });

  it('keeps its rows over a restart, and migrates an up-to-date store to itself', async () => {
    const { row } = await store.createOnce(newReview());
    await store.close();
    store = await open();
    expect(await store.get(row.id)).toEqual(row);
    await store.ready();
  });

  it('is store_unavailable once the store is gone', async () => {
    await store.close();
    await expect(store.ready()).rejects.toMatchObject({ code: 'store_unavailable', status: 503 });
    await expect(store.createOnce(newReview())).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(store.get(reviewIdOf(correlation(1)))).rejects.toMatchObject({ code: 'store_unavailable' });
    store = await open();
  });

  it('serves the pipeline in process', async () => {
    const reviews = reviewsOf(store, () => Promise.resolve(null));
    const row = await reviews.createOnce(newReview());
    expect(await reviews.createOnce(newReview())).toEqual(row);
    expect((await reviews.settle(settled())).status).toBe('approved');
    await expect(reviews.withdraw(correlation(1))).rejects.toMatchObject({ code: 'already_decided' });
  });

  if (kind === 'sqlite')
    it('leaves no argument in the file or its write-ahead log', async () => {
      await store.createOnce(newReview({ sandbox_report: report }));
      const directory = dirname((target as { file: string }).file);
      const files = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
      expect(files.some((bytes) => bytes.includes('payments-agent'))).toBe(true);
      expect(files.some((bytes) => bytes.includes(ARGUMENT))).toBe(false);
    });
});
