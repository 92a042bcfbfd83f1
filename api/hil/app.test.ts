import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { CallInput } from '../../contracts/call.js';
import {
  type CarriedSettlement,
  pendingRequest,
  type PendingRequest,
  type SettledReview,
  type SignedDecision,
} from '../../contracts/review.js';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY, routeName } from '../../contracts/route-authority.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import { verifyDecision } from '../../domain/review/decision-signature.js';
import type { DecisionOutcome, DecisionSender } from '../../domain/review/ports.js';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import { canonicalDigest } from '../../domain/crypto/digest.js';
import { DECISION_REFUSALS } from '../../domain/decision/transitions.js';
import { registeredRoutes } from '../plugins/caller-authority.js';
import type { Service } from '../plugins/service.js';
import { tooFewFor } from './scope.js';
import { isWhole } from '../../domain/review/carried-change.js';
import { hilService, type HilTestOptions } from '../../test/support/hil-service.js';
import { hilMigrations } from '../../migrations/hil.js';
import { softwareAuthenticator } from '../../test/support/authenticator.js';
import { writeMigrated } from '../../test/support/migrated-file.js';
import { eventually, timePasses } from '../../test/support/waiting.js';
import { openReviewStore, type WholeReviews } from '../../test/support/whole-reviews.js';
import { createStandingApprovals } from '../../domain/review/standing-approvals.js';
import { summaryOf } from '../../domain/review/summary.js';

const whole = (settled: CarriedSettlement): SettledReview => {
  if (!isWhole(settled)) throw new Error('a change is missing');
  return settled;
};

const payloadKeys = parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`);

const T0 = Date.parse('2026-11-02T10:00:00.000Z');
const TOKEN = 'dev-token-0123456789abcdefghijklmnop';
const ADA = 'ada-token-0123456789abcdefghijklmnop';
const GLOBEX = 'glx-token-0123456789abcdefghijklmnop';
const FINGERPRINT = 'cd'.repeat(32);
const key = generateKeyPairSync('ed25519');
const correlation = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const pendingBody = (over: Record<string, unknown> = {}) => ({
  agent_id: 'payments-agent',
  correlation_id: correlation(1),
  method: 'call_tool',
  request_payload: {
    jsonrpc: '2.0',
    id: 7,
    method: 'call_tool',
    params: { name: 'wire_transfer', arguments: { amount: 5 } },
  },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  created_at: '2026-11-02T10:00:00.000Z',
  review_reasons: ['money movement'],
  tenant: 'acme',
  ...over,
});

/** Judges like the call's workflow: it checks the signature, and the first decision stands. */
function honestSender(): DecisionSender & { received: SignedDecision[] } {
  const settled = new Map<string, Extract<DecisionOutcome, { outcome: 'applied' }>['settled']>();
  const received: SignedDecision[] = [];
  return {
    received,
    async decide(decision) {
      received.push(decision);
      const { valid } = await verifyDecision(decision, key.publicKey);
      if (!valid) return { outcome: 'refused', code: 'decision_refused' };
      const first = settled.get(decision.pending_id);
      if (first) return { outcome: 'refused', code: 'already_decided', settled: first };
      const outcome = {
        pending_id: decision.pending_id,
        status: decision.decision === 'deny' ? ('denied' as const) : ('approved' as const),
        decided_at: decision.decided_at,
        decided_by: decision.principal.subject,
        decision_reason: decision.reason,
        decided_via: decision.decided_via,
        principal: decision.principal,
        request_id: decision.request_id,
        ...(decision.modification && { modification: decision.modification }),
      };
      settled.set(decision.pending_id, outcome);
      return { outcome: 'applied', settled: outcome };
    },
  };
}

interface Ask {
  readonly as?: string | null;
  readonly tenant?: string | null;
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

let directory: string;
let reviews: WholeReviews;
let sender: ReturnType<typeof honestSender>;
let service: Service;
let registry: Registry;
let now: number;

function start(over: Partial<HilTestOptions> = {}): Service {
  registry = new Registry();
  return hilService({
    reviews,
    sender,
    starter: { start: () => Promise.reject(new Error('no review is asked for here')) },
    decisionKey: key.privateKey,
    sessionKey: Buffer.alloc(32, 7),
    operators: [
      { name: 'dev', tenant: 'acme', token: TOKEN },
      { name: 'ada', tenant: 'acme', token: ADA },
      { name: 'dev', tenant: 'globex', token: GLOBEX },
    ],
    logger: pino({ level: 'silent' }),
    registry,
    trustDomain: 'gate.local',
    clock: () => now,
    resolveCaller: (request) => {
      const name = request.headers['x-test-caller'];
      return typeof name === 'string'
        ? {
            kind: 'service',
            spiffe: `spiffe://gate.local/service/${name}`,
            callerId: `service-${name}`,
            fingerprint: FINGERPRINT,
          }
        : null;
    },
    ...over,
  });
}

async function ask(
  method: 'GET' | 'POST' | 'DELETE',
  url: string,
  { as = 'console', tenant, token, headers, body }: Ask = {},
) {
  const response = await service.app.inject({
    method,
    url,
    headers: {
      ...(as !== null && { 'x-test-caller': as }),
      ...(tenant != null && { 'x-gate-tenant-scope': tenant }),
      ...(token != null && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body !== undefined && { payload: body as object }),
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    body: (response.body === '' ? null : JSON.parse(response.body)) as Record<string, unknown> & PendingRequest,
  };
}

const park = async (over: Record<string, unknown> = {}): Promise<PendingRequest> => {
  const { status, body } = await ask('POST', '/pending', { as: 'proxy', body: pendingBody(over) });
  expect(status).toBe(201);
  return body;
};
const decide = (id: string, body: unknown = { decision: 'approve' }, over: Ask = {}) =>
  ask('POST', `/decide/${id}`, { token: TOKEN, body, ...over });

beforeEach(async () => {
  now = T0;
  directory = mkdtempSync(join(tmpdir(), 'gate-hil-'));
  await writeMigrated(join(directory, 'hil.db'), hilMigrations);
  reviews = await openReviewStore({
    target: { file: join(directory, 'hil.db') },
    payloadKeys,
    clock: () => now,
  });
  sender = honestSender();
  service = start();
});
afterEach(async () => {
  await service.close();
  await reviews.close();
  rmSync(directory, { recursive: true });
});

it('serves exactly the routes of the authority table that are built', async () => {
  await service.app.ready();
  const expected = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES]
    .filter((row) => row.service === 'hil' && row.built)
    .map(routeName);
  expect(registeredRoutes(service.app).map(routeName).toSorted()).toEqual(expected.toSorted());
});

describe('the scope', () => {
  it.each([
    ['POST', '/pending'],
    ['GET', '/pending?limit=none'],
    ['GET', '/pending/none'],
    ['GET', '/pending/by-correlation/none'],
    ['GET', '/pending/summaries?limit=none'],
    ['GET', '/approvals/stats?window=none'],
  ] as const)('is looked at before anything else that is wrong: %s %s', async (method, url) => {
    const body = method === 'POST' ? { nonsense: 1 } : undefined;
    service = (await service.close(), start({ simulatorTenant: 'acme' }));
    expect((await ask(method, url, { as: 'simulator', tenant: 'globex', body })).body).toMatchObject({
      error: 'invalid_request',
      reason: expect.stringContaining('X-Gate-Tenant-Scope'),
    });
    if (method === 'GET')
      expect(await ask(method, url, { token: 'wrong' })).toMatchObject({
        status: 401,
        body: { error: 'unauthenticated' },
      });
  });
});

describe('POST /pending', () => {
  it('creates the row once: 201, then 200 with the same row', async () => {
    const row = await park();
    expect(pendingRequest.safeParse(row).success).toBe(true);
    expect(row).toMatchObject({ id: reviewIdOf(correlation(1)), status: 'pending', tenant: 'acme' });
    const again = await ask('POST', '/pending', { as: 'proxy', body: pendingBody({ ttl_seconds: 60 }) });
    expect(again.status).toBe(200);
    expect(again.body).toEqual(row);
  });

  it('refuses other bytes under the same correlation id with 409', async () => {
    await park();
    const other = await ask('POST', '/pending', { as: 'proxy', body: pendingBody({ request_payload: { a: 1 } }) });
    expect(other).toMatchObject({ status: 409, body: { error: 'pending_conflict' } });
  });

  it('refuses a straggler of a withdrawn call with 409', async () => {
    await park();
    await reviews.withdraw(correlation(1));
    const late = await ask('POST', '/pending', { as: 'proxy', body: pendingBody() });
    expect(late).toMatchObject({ status: 409, body: { error: 'not_pending' } });
  });

  it.each([
    ['unknown_tier', { approval_tier: 'relaxed' }],
    ['invalid_ttl', { ttl_seconds: undefined }],
    ['invalid_ttl', { ttl_seconds: 0 }],
    ['invalid_ttl', { ttl_seconds: 86_401 }],
    ['invalid_ttl', { ttl_seconds: 1.5 }],
    ['invalid_callback', { callback_url: 'ftp://agent.example/' }],
    ['invalid_callback', { callback_url: 'not a url' }],
    ['namespace_required', { state_namespace: undefined }],
    ['namespace_required', { state_namespace: 'tenant' }],
  ])('answers 422 %s to %j', async (error, over) => {
    const answer = await ask('POST', '/pending', { as: 'proxy', body: pendingBody(over) });
    expect(answer).toMatchObject({ status: 422, body: { error } });
    expect((await reviews.list({ tenant: 'acme' })).rows).toEqual([]);
  });

  it.each([
    ['an unknown key', { decided_by: 'operator:eve' }],
    ['a missing agent', { agent_id: undefined }],
    ['an empty risk summary', { risk_summary: '' }],
    ['a long risk summary', { risk_summary: 'x'.repeat(501) }],
    ['a correlation id that is no UUID', { correlation_id: 'abc' }],
    ['a payload that is an array', { request_payload: [1] }],
    ['a payload that is text', { request_payload: '{}' }],
    ['a ttl in text', { ttl_seconds: '600' }],
    ['an invalid time', { created_at: 'yesterday' }],
    ['text no store keeps', { agent_id: 'a\0b' }],
  ])('answers 400 to %s', async (_, over) => {
    const answer = await ask('POST', '/pending', { as: 'proxy', body: pendingBody(over) });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  it('takes the tenant of the scope header where the body names none, and refuses two different ones', async () => {
    const body = pendingBody({ tenant: undefined });
    expect(await ask('POST', '/pending', { as: 'proxy', body })).toMatchObject({
      status: 400,
      body: { error: 'tenant_scope_required' },
    });
    expect(await ask('POST', '/pending', { as: 'proxy', tenant: 'globex', body: pendingBody() })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
    expect(await ask('POST', '/pending', { as: 'proxy', tenant: 'globex', body })).toMatchObject({
      status: 201,
      body: { tenant: 'globex' },
    });
  });

  it('answers 413 to a body over the limit', async () => {
    await service.close();
    service = start({ bodyLimit: 2048 });
    const large = pendingBody({ request_payload: { text: 'x'.repeat(4096) } });
    expect(await ask('POST', '/pending', { as: 'proxy', body: large })).toMatchObject({
      status: 413,
      body: { error: 'payload_too_large' },
    });
  });

  describe('without a call', () => {
    /** What the simulator sends: nothing that only the pipeline can say of a call. */
    const askedBody = (over: Record<string, unknown> = {}) =>
      pendingBody({ created_at: undefined, tenant: undefined, ...over });
    const asked = (over: Record<string, unknown> = {}, more: Ask = {}) =>
      ask('POST', '/pending', { as: 'simulator', body: askedBody(over), ...more });
    const rows = async () => (await reviews.list({ tenant: 'acme' })).rows;
    let started: CallInput[];
    /** What becomes of the run of the next review, once its row is stored; `over`: it ended before. */
    let ends: 'under way' | 'over' | Error;
    beforeEach(async () => {
      started = [];
      ends = 'under way';
      await service.close();
      service = start({
        simulatorTenant: 'acme',
        starter: {
          async start(call, open) {
            started.push(call);
            if (ends === 'over') return 'over';
            await open();
            if (ends instanceof Error) throw ends;
            return ends;
          },
        },
      });
    });

    it('is answered also where its request does not open any more: how it stands is known without it', async () => {
      const { body } = await asked();
      const editor = new DatabaseSync(join(directory, 'hil.db'));
      editor.exec('update reviews set payload = null');
      editor.close();
      ends = 'over';
      expect(await asked()).toMatchObject({
        status: 200,
        body: { id: body['id'], status: 'pending', retention: { payload_availability: 'unavailable' } },
      });
    });

    it('is asked for by the simulator, for its one tenant, in its own name: 201, then 200 with the same row', async () => {
      const first = await asked();
      expect(first).toMatchObject({
        status: 201,
        body: {
          tenant: 'acme',
          agent_id: 'payments-agent',
          agent_spiffe: 'spiffe://gate.local/service/simulator',
          status: 'pending',
          sandbox_report: null,
          created_at: new Date(T0).toISOString(),
        },
      });
      expect(await asked({ ttl_seconds: 60 })).toMatchObject({ status: 200, body: first.body });
      ends = 'over';
      expect(await asked()).toMatchObject({ status: 200, body: first.body });
      expect(started[0]).toMatchObject({
        correlation_id: correlation(1),
        contract: 'gate.review/v1',
        tenant: 'acme',
        tool: 'wire_transfer',
        credential_fingerprint: FINGERPRINT,
      });
      expect(JSON.stringify(started)).not.toContain('amount');
    });

    it.each([
      ['created_at', '2026-11-02T10:00:00.000Z'],
      ['attempt_ms', 1],
      ['policy_bundle_sha256', `sha256:${'0'.repeat(64)}`],
      ['agent_spiffe', 'spiffe://gate.local/tenant/acme/agent/payments-agent'],
      ['callback_url', 'https://agent.example/'],
      ['approval_tier', 'auto'],
      ['tenant', 'globex'],
      ['ttl_seconds', '600'],
    ])("refuses with 400 what is not the simulator's to say: %s", async (field, value) => {
      expect(await asked({ [field]: value })).toMatchObject({
        status: 400,
        body: { error: 'invalid_request', reason: expect.stringContaining(field) },
      });
      expect([started, await rows()]).toEqual([[], []]);
    });

    it('refuses a tenant header with 400, everything where no tenant is set with 403, and a tenant that left with 409', async () => {
      expect(await asked({}, { tenant: 'acme' })).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      const offboard = { operation_id: '10000000-0000-4000-8000-000000000001', kind: 'offboard' };
      await ask('POST', '/admin/tenants/acme/lifecycle', { token: TOKEN, body: offboard });
      expect(await asked()).toMatchObject({ status: 409, body: { error: 'tenant_offboarded' } });
      await service.close();
      service = start();
      expect(await asked()).toMatchObject({ status: 403, body: { error: 'capability_denied' } });
      expect([started, await rows()]).toEqual([[], []]);
    });

    it.each([
      ['another agent', { agent_id: 'another' }],
      ['another request', { request_payload: { method: 'call_tool', params: { name: 'x' } } }],
    ])('refuses %s under the same id with 409, also after the review has ended', async (_what, over) => {
      const { body } = await asked();
      expect(await asked(over)).toMatchObject({ status: 409, body: { error: 'pending_conflict' } });
      ends = 'over';
      expect(await asked(over)).toMatchObject({ status: 409, body: { error: 'pending_conflict' } });
      expect(await rows()).toEqual([expect.objectContaining({ id: body.id, agent_id: 'payments-agent' })]);
    });

    it('takes its row back where its run did not begin, and leaves it where nobody knows', async () => {
      ends = new GateError('pipeline_unavailable');
      expect(await asked()).toMatchObject({ status: 503, body: { error: 'pipeline_unavailable' } });
      expect(await rows()).toEqual([]);
      now += 1_000;
      ends = new GateError('orchestrator_unavailable');
      expect(await asked()).toMatchObject({ status: 503, body: { error: 'orchestrator_unavailable' } });
      expect(await rows()).toHaveLength(1);
      ends = 'under way';
      expect(await asked()).toMatchObject({ status: 200 });
    });

    it('is refused with 429 while eight are being opened, and begins no run', async () => {
      let open = () => undefined as void;
      const mayOpen = new Promise<void>((resolve) => (open = resolve));
      await service.close();
      service = start({
        simulatorTenant: 'acme',
        starter: {
          async start(call, store) {
            started.push(call);
            await mayOpen;
            await store();
            return 'under way';
          },
        },
      });
      const eight = Array.from({ length: 8 }, (_, n) => asked({ correlation_id: correlation(n + 1) }));
      await eventually('eight runs', () => started.length === 8);
      const ninth = await asked({ correlation_id: correlation(9) });
      expect(ninth).toMatchObject({ status: 429, body: { error: 'rate_limited', retry_after_secs: 1 } });
      open();
      expect((await Promise.all(eight)).map(({ status }) => status)).toEqual(eight.map(() => 201));
      expect(started).toHaveLength(8);
      expect((await asked({ correlation_id: correlation(9) })).status).toBe(201);
    });

    it.each([
      ['U+0000', { risk_summary: 'a\0b' }],
      ['half of a surrogate pair in a name', { agent_id: 'bot\ud800' }],
      ['half of one in the method', { method: '\ud800' }],
      [
        'half of one in the request',
        { request_payload: { method: 'tools/call', params: { name: 'x', note: '\ud800' } } },
      ],
    ])('is refused where no store keeps it, and begins no run: %s', async (_what, over) => {
      expect(await asked(over)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      expect(started).toEqual([]);
    });

    it("begins no run where as many were opened as may be, and leaves the agent's calls their room", async () => {
      await service.close();
      await reviews.close();
      const target = { file: join(directory, 'hil.db') };
      reviews = await openReviewStore({
        target,
        payloadKeys,
        clock: () => now,
        perAgent: { rows: 1, bytes: 1_000_000 },
        rehearsals: 1,
      });
      service = start({
        simulatorTenant: 'acme',
        starter: {
          async start(call, store) {
            started.push(call);
            await store();
            return 'under way';
          },
        },
      });
      expect((await asked()).status).toBe(201);
      expect(await asked({ correlation_id: correlation(2), agent_id: 'another' })).toMatchObject({
        status: 429,
        body: { error: 'review_backlog_full', scope: 'rehearsals', key: 'acme', retry_after_secs: expect.any(Number) },
      });
      const call = pendingBody({ correlation_id: correlation(3) });
      expect(await ask('POST', '/pending', { as: 'proxy', body: call })).toMatchObject({ status: 201 });
      expect((await asked()).status).toBe(200);
      expect(started.map((call) => call.correlation_id)).toEqual([correlation(1), correlation(1)]);
    });

    it('is not decided by who asked for it', async () => {
      const { body } = await asked();
      expect(await decide(body.id, { decision: 'approve' }, { as: 'simulator' })).toMatchObject({
        status: 403,
        body: { error: 'own_request' },
      });
      expect(await decide(body.id)).toMatchObject({ status: 200, body: { status: 'approved' } });
    });
  });
});

describe('who may call HIL', () => {
  it.each([
    ['POST', '/pending', 'console'],
    ['POST', `/decide/${correlation(1)}`, 'proxy'],
    ['POST', `/decide/${correlation(1)}`, 'ledger'],
    ['GET', '/pending', 'brain'],
    ['POST', `/pending/${correlation(1)}/settle`, 'console'],
    ['POST', `/pending/${correlation(1)}/escalated`, 'console'],
    ['POST', '/admin/tenants/acme/lifecycle', 'proxy'],
    ['GET', '/admin/tenants/acme/lifecycle', 'proxy'],
    ['DELETE', `/pending/by-correlation/${correlation(1)}`, 'console'],
  ] as const)('%s %s is refused to %s before anything is read', async (method, url, as) => {
    const answer = await ask(method, url, { as, tenant: 'acme', token: TOKEN, body: method === 'GET' ? undefined : 5 });
    expect(answer).toMatchObject({ status: 403, body: { error: 'capability_denied' } });
  });

  it.each(['gate_demo_session=x', 'gate_hil_session=y; gate_demo_session='])(
    'nobody with a session of a demonstration, on any route and whatever stands beside it: %s',
    async (cookie) => {
      const routes = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].filter(
        ({ service, built }) => service === 'hil' && built,
      );
      expect(routes.length).toBeGreaterThan(30);
      for (const { method, path, callers } of routes) {
        const url = path.replaceAll(/\{\w+\}/g, correlation(1));
        const as = callers === 'public' ? 'console' : (callers[0] ?? '').replace('service-', '');
        const answer = await ask(method as 'GET', url, { as, tenant: 'acme', token: TOKEN, headers: { cookie } });
        expect([path, answer.status, answer.body]).toMatchObject([path, 401, { error: 'unauthenticated' }]);
      }
      expect(
        (await ask('GET', '/pending', { tenant: 'acme', headers: { cookie: 'my_gate_demo_session=x' } })).status,
      ).toBe(200);
    },
  );

  it('a caller without a SPIFFE id is 401', async () => {
    expect(await ask('GET', '/pending', { as: null })).toMatchObject({
      status: 401,
      body: { error: 'caller_spiffe_missing' },
    });
  });
});

describe('a row that nobody has decided yet', () => {
  it('is escalated by the pipeline, once, and counted', async () => {
    const row = await park();
    const at = new Date(T0 + 300_000).toISOString();
    const escalate = (body: unknown) => ask('POST', `/pending/${row.id}/escalated`, { as: 'proxy', body });
    expect(await escalate({ escalated_at: 'soon' })).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(await escalate({ escalated_at: at })).toMatchObject({ status: 204 });
    expect(await escalate({ escalated_at: new Date(T0 + 400_000).toISOString() })).toMatchObject({ status: 204 });
    expect((await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).body).toMatchObject({
      status: 'pending',
      escalated_at: at,
    });
    expect(await registry.metrics()).toContain('gate_hil_escalations_total 1');
    const again = { escalated_at: at, escalated_again_at: [new Date(T0 + 480_000).toISOString()] };
    expect(await escalate({ ...again, escalated_again_at: Array.from({ length: 8 }, () => at) })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
    for (let n = 0; n < 2; n += 1) expect(await escalate(again)).toMatchObject({ status: 204 });
    expect((await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).body).toMatchObject(again);
    expect(await registry.metrics()).toContain('gate_hil_escalations_total 2');
  });
});

describe('the life of a tenant', () => {
  const operation = { operation_id: '10000000-0000-4000-8000-000000000001', kind: 'offboard' };
  const lifecycle = (body: unknown = operation, over: Ask = {}, tenant = 'acme') =>
    ask('POST', `/admin/tenants/${tenant}/lifecycle`, { token: TOKEN, body, ...over });

  it('ends with a receipt: what waited is denied as Gate itself, and no row comes after it', async () => {
    const row = await park();
    const first = await lifecycle();
    expect(first).toMatchObject({ status: 200, body: { state: 'offboarded', generation: 1, pending_denied: 1 } });
    expect((await lifecycle()).body).toEqual(first.body);
    expect(sender.received).toMatchObject([
      { decision: 'deny', principal: { subject: 'system:tenant-offboard', method: 'system' } },
    ]);
    expect(await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).toMatchObject({ status: 404 });
    expect(
      await ask('POST', '/pending', { as: 'proxy', body: pendingBody({ correlation_id: correlation(2) }) }),
    ).toMatchObject({ status: 409, body: { error: 'tenant_offboarded' } });
  });

  it('is unfinished while somebody reads the file, in whose log the deleted rows may be; the same request ends it', async () => {
    const row = await park();
    const reader = new DatabaseSync(join(directory, 'hil.db'));
    reader.exec('begin; select count(*) from reviews');
    const unfinished = { error: 'operation_unfinished', reason: expect.stringContaining('in the log of the store') };
    for (let n = 0; n < 2; n += 1) expect(await lifecycle()).toMatchObject({ status: 503, body: unfinished });
    expect(await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).toMatchObject({ status: 404 });
    reader.exec('commit');
    expect(await lifecycle()).toMatchObject({ status: 200, body: { state: 'offboarded', rows_erased: 1 } });
    reader.close();
  });

  it.each([
    ['an operation without an id', { kind: 'offboard' }],
    ['an invalid id', { ...operation, operation_id: 'x' }],
    ['an unknown kind', { ...operation, kind: 'erase' }],
    ['a member beside them', { ...operation, force: true }],
  ])('answers 400 to %s', async (_, body) => {
    expect(await lifecycle(body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  it('is 401 without a token, 404 for another tenant, 409 for an id that means something else', async () => {
    expect(await lifecycle(operation, { token: null, tenant: 'acme' })).toMatchObject({ status: 401 });
    expect(await lifecycle(operation, {}, 'globex')).toMatchObject({ status: 404, body: { error: 'not_found' } });
    await lifecycle();
    expect(await lifecycle({ ...operation, kind: 'provision' })).toMatchObject({
      status: 409,
      body: { error: 'operation_conflict' },
    });
  });

  it('is told to the console of that tenant: what was begun, by whom, and what it came to', async () => {
    const known = (tenant = 'acme', scope = 'acme') =>
      ask('GET', `/admin/tenants/${tenant}/lifecycle`, { tenant: scope });
    expect(await known()).toMatchObject({ status: 200, body: { tenant: 'acme', state: 'active', operations: [] } });
    const { body: receipt } = await lifecycle();
    expect(await known()).toMatchObject({
      status: 200,
      body: {
        state: 'offboarded',
        operations: [{ kind: 'offboard', generation: 1, asked_by: 'operator:dev', receipt }],
      },
    });
    expect(await known('acme', 'globex')).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect((await known('globex', 'globex')).body).toMatchObject({ state: 'active', operations: [] });
  });

  it('is 503 where the engine is away, and the door is closed all the same', async () => {
    const row = await park();
    const honest = sender.decide;
    sender.decide = async () => {
      throw new GateError('orchestrator_unavailable');
    };
    expect(await lifecycle()).toMatchObject({ status: 503, body: { error: 'operation_unfinished' } });
    expect(
      await ask('POST', '/pending', { as: 'proxy', body: pendingBody({ correlation_id: correlation(2) }) }),
    ).toMatchObject({ body: { error: 'tenant_offboarded' } });
    sender.decide = honest;
    // Nothing is approved behind the closed door; denying is what would come anyway.
    expect(await decide(row.id)).toMatchObject({ status: 409, body: { error: 'tenant_offboarded' } });
    expect(sender.received).toEqual([]);
    expect(await lifecycle()).toMatchObject({ status: 200, body: { pending_denied: 1 } });
  });
});

describe('the demonstration', () => {
  it('is cleaned up by the console alone, in the tenant of its scope, with an empty body', async () => {
    await park({ state_namespace: 'demo' });
    await park({ correlation_id: correlation(2) });
    const clean = (over: Ask) => ask('POST', '/admin/namespaces/demo/cleanup', { token: TOKEN, ...over });
    expect(await clean({ as: 'proxy' })).toMatchObject({ status: 403 });
    expect(await clean({ token: null, tenant: 'acme' })).toMatchObject({ status: 401 });
    expect(await clean({ body: { everything: true } })).toMatchObject({ status: 400 });
    expect(await clean({ token: GLOBEX })).toMatchObject({ status: 200, body: { selected: 0, retained_operator: 0 } });
    expect(await clean({})).toMatchObject({ status: 200, body: { selected: 1, deleted: 1, retained_operator: 1 } });
    expect(await clean({})).toMatchObject({ status: 200, body: { selected: 0, retained_operator: 1 } });
  });
});

describe('reading review rows', () => {
  it('gives a row by its id and by its correlation id', async () => {
    const row = await park();
    for (const url of [`/pending/${row.id}`, `/pending/by-correlation/${correlation(1)}`])
      expect(await ask('GET', url, { tenant: 'acme' })).toMatchObject({ status: 200, body: row });
  });

  it('says of a single row what changed since the last such call, to whoever may read the row', async () => {
    await park();
    const row = await park({ correlation_id: correlation(2), created_at: new Date(T0 + 1_000).toISOString() });
    const since_last_call = { correlation_id: correlation(1), arguments: 'same' };
    for (const url of [`/pending/${row.id}`, `/pending/by-correlation/${correlation(2)}`])
      expect((await ask('GET', url, { tenant: 'acme' })).body).toMatchObject({ since_last_call });
    const listed = await ask('GET', `/pending?id=${row.id}`, { tenant: 'acme' });
    expect(listed.body).toMatchObject([{ since_last_call }]);
    expect((await ask('GET', `/pending/${row.id}`, { tenant: 'globex' })).status).toBe(404);
    expect((await ask('GET', '/pending', { tenant: 'acme' })).body[0]).not.toHaveProperty('since_last_call');
  });

  it('lists an array, newest first, and says in a header where to go on', async () => {
    for (let n = 1; n <= 3; n += 1)
      await park({ correlation_id: correlation(n), created_at: new Date(T0 + n * 1000).toISOString() });
    const first = await ask('GET', '/pending?limit=2', { tenant: 'acme' });
    expect(first.body).toMatchObject([{ correlation_id: correlation(3) }, { correlation_id: correlation(2) }]);
    const before = String(first.headers['x-gate-next-before']);
    const second = await ask('GET', `/pending?limit=2&before=${before}`, { tenant: 'acme' });
    expect(second.body).toMatchObject([{ correlation_id: correlation(1) }]);
    expect(second.headers['x-gate-next-before']).toBeUndefined();
  });

  it('lists by status and agent, pending unless asked', async () => {
    const row = await park();
    await park({ correlation_id: correlation(2), agent_id: 'other' });
    await decide(row.id, { decision: 'deny' });
    const ids = async (query: string) =>
      ((await ask('GET', `/pending${query}`, { tenant: 'acme' })).body as unknown as PendingRequest[]).map(
        (found) => found.correlation_id,
      );
    expect(await ids('')).toEqual([correlation(2)]);
    expect(await ids('?status=denied')).toEqual([correlation(1)]);
    expect(await ids('?status=approved')).toEqual([]);
    expect(await ids('?agent_id=payments-agent')).toEqual([]);
    // A day after its deadline, a row that nobody closed is shown as expired.
    now = T0 + 600_000 + 86_400_000;
    expect(await ids('')).toEqual([]);
    expect(await ids('?status=expired')).toEqual([correlation(2)]);
  });

  it.each(['?status=open', '?limit=0', '?limit=1001', '?limit=x', '?before=x', `?before=${correlation(9)}`])(
    'answers 400 to the list query %s',
    async (query) => {
      expect(await ask('GET', `/pending${query}`, { tenant: 'acme' })).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    },
  );

  it('answers 400 to an id that is no UUID', async () => {
    expect(await ask('GET', '/pending/abc', { tenant: 'acme' })).toMatchObject({ status: 400 });
  });

  it('answers 503 for a row whose payload cannot be decrypted', async () => {
    const row = await park();
    const path = join(directory, 'hil.db');
    await service.close();
    await reviews.close();
    const editor = new DatabaseSync(path);
    editor.exec('update reviews set payload = null');
    editor.close();
    reviews = await openReviewStore({ target: { file: path }, payloadKeys, clock: () => now });
    service = start();
    expect(await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).toMatchObject({
      status: 503,
      body: { error: 'payload_unavailable' },
    });
    // A row whose payload cannot be read cannot be decided.
    expect(await decide(row.id)).toMatchObject({ status: 503, body: { error: 'payload_unavailable' } });
    expect(sender.received).toEqual([]);
  });
});

describe('every read and decision is in one tenant’s scope', () => {
  it('a foreign row and an unknown row are one answer', async () => {
    const row = await park();
    const trace = { 'x-gate-correlation-id': correlation(77) };
    for (const [foreign, unknown] of [
      [`/pending/${row.id}`, `/pending/${correlation(99)}`],
      [`/pending/by-correlation/${correlation(1)}`, `/pending/by-correlation/${correlation(99)}`],
    ] as const) {
      const a = await ask('GET', foreign, { tenant: 'globex', headers: trace });
      const b = await ask('GET', unknown, { tenant: 'globex', headers: trace });
      expect(a.status).toBe(404);
      expect(a.text).toBe(b.text);
    }
    const a = await decide(row.id, { decision: 'approve' }, { token: GLOBEX, headers: trace });
    const b = await decide(correlation(99), { decision: 'approve' }, { token: GLOBEX, headers: trace });
    expect(a).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(a.text).toBe(b.text);
    expect((await ask('GET', '/pending', { tenant: 'globex' })).body).toEqual([]);
    expect(await ask('GET', `/pending?before=${row.id}`, { tenant: 'globex' })).toMatchObject({ status: 400 });
    expect(sender.received).toEqual([]);
  });

  it('the console names its tenant, or a token that is bound to one does', async () => {
    await park();
    expect(await ask('GET', '/pending')).toMatchObject({ status: 400, body: { error: 'tenant_scope_required' } });
    expect((await ask('GET', '/pending', { token: TOKEN })).body).toHaveLength(1);
    expect((await ask('GET', '/pending', { token: GLOBEX })).body).toHaveLength(0);
    expect((await ask('GET', '/pending', { token: TOKEN, tenant: 'acme' })).body).toHaveLength(1);
  });

  it('a token that is wrong, or bound to another tenant, is 401 and never falls back to the header', async () => {
    for (const token of [`${TOKEN}x`, TOKEN.slice(0, -1), ''])
      expect(await ask('GET', '/pending', { token, tenant: 'acme' })).toMatchObject({
        status: 401,
        body: { error: 'unauthenticated' },
      });
    expect(await ask('GET', '/pending', { token: TOKEN, tenant: 'globex' })).toMatchObject({ status: 401 });
  });

  it('takes no tenant in the query, and that of a body is of no account', async () => {
    const row = await park();
    expect(await ask('GET', '/pending?tenant=acme', { tenant: 'globex' })).toMatchObject({ status: 400 });
    expect(await decide(row.id, { decision: 'approve', tenant: 'acme' }, { token: GLOBEX })).toMatchObject({
      status: 404,
    });
  });

  it('the proxy names the tenant of its agent', async () => {
    const row = await park();
    expect(await ask('GET', `/pending/${row.id}`, { as: 'proxy' })).toMatchObject({ status: 400 });
    expect(await ask('GET', `/pending/${row.id}`, { as: 'proxy', tenant: 'acme' })).toMatchObject({ status: 200 });
    expect(await ask('GET', `/pending/${row.id}`, { as: 'proxy', tenant: 'globex' })).toMatchObject({ status: 404 });
  });

  it('refuses a scope header that is no tenant', async () => {
    for (const tenant of ['a/b', '*', 'x'.repeat(64)])
      expect(await ask('GET', '/pending', { tenant })).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
  });

  it('the simulator sees its fixed tenant, names none, and is refused where none is set', async () => {
    const row = await park();
    expect(await ask('GET', '/pending', { as: 'simulator' })).toMatchObject({ status: 403 });
    await service.close();
    service = start({ simulatorTenant: 'acme' });
    expect(await ask('GET', '/pending', { as: 'simulator', tenant: 'acme' })).toMatchObject({ status: 400 });
    expect((await ask('GET', '/pending', { as: 'simulator' })).body).toHaveLength(1);
    expect(await decide(row.id, { decision: 'approve' }, { as: 'simulator', token: GLOBEX })).toMatchObject({
      status: 401,
    });
    for (const [index, decided_via] of ['console', 'signed-link', 'bulk'].entries()) {
      const asked = index === 0 ? row : await park({ correlation_id: correlation(2 + index) });
      expect(await decide(asked.id, { decision: 'approve', decided_via }, { as: 'simulator' })).toMatchObject({
        status: 200,
        body: {
          decided_by: 'spiffe://gate.local/service/simulator',
          approver_provenance: 'workload-mtls',
          decided_via: 'simulator',
        },
      });
    }
  });
});

const diffOf = (path: string[], value: string | number) => ({
  contract: 'gate.hil.modification-diff/v1',
  replacements: [{ path, value }],
});

describe('operators and the quorum', () => {
  it('names the tenants that have fewer operators than a strict call needs', () => {
    const of = (tenant: string, name: string) => ({ tenant, name, token: TOKEN });
    const operators = [of('acme', 'dev'), of('acme', 'ada'), of('globex', 'dev')];
    expect(tooFewFor(1, operators)).toEqual([]);
    expect(tooFewFor(2, operators)).toEqual([{ tenant: 'globex', operators: 1 }]);
    expect(tooFewFor(3, operators)).toHaveLength(2);
  });
});

describe('an approval of somebody who may not approve any more', () => {
  it('is marked in the row and in lists, and counts in none of them nor in an event; that of the others does', async () => {
    const quorum = { strict: 3, risky: 1, destructive: 1 };
    await service.close();
    await reviews.close();
    reviews = await openReviewStore({
      target: { file: join(directory, 'hil.db') },
      payloadKeys,
      clock: () => now,
      quorum,
    });
    const operators = [
      { name: 'dev', tenant: 'acme', token: TOKEN },
      { name: 'ada', tenant: 'acme', token: ADA },
    ];
    service = start({ quorum, operators });
    const { id } = await park({ approval_tier: 'strict' });
    const given = ['ada', 'dev'].map((name) => ({
      by: `operator:${name}`,
      provenance: 'console-bearer',
      at: new Date(T0).toISOString(),
    }));
    await reviews.settling.voted(id, given);
    const [ada, dev] = given;
    const read = async () => {
      const one = (path: string) => ask('GET', path, { tenant: 'acme' });
      const [row, [listed], summaries] = [
        (await one(`/pending/${id}`)).body,
        (await one('/pending')).body as unknown as PendingRequest[],
        (await one('/pending/summaries')).body as unknown as { items: { approvals_count: number }[] },
      ];
      return [row.approvals, listed?.approvals, summaries.items.map(({ approvals_count }) => approvals_count)];
    };
    expect(await read()).toEqual([given, given, [2]]);
    await service.close();
    service = start({ quorum, operators: operators.slice(0, 1) });
    const marked = [{ ...ada, lapsed: true }, dev];
    expect(await read()).toEqual([marked, marked, [1]]);
    // Nothing of it is stored: who may approve again counts again.
    expect((await reviews.reads.get(id, 'acme'))?.approvals).toEqual(given);
    const failed = (error: unknown) => expect(error).toBeUndefined();
    const shown = createStandingApprovals({ approversOf: async () => () => ['operator:dev'], failed })
      .over(reviews)
      .feed.changes();
    await shown.next();
    await ask('POST', `/pending/${id}/assign`, { token: TOKEN, body: { assigned_to: 'operator:dev' } });
    const { changes } = await shown.next();
    expect(changes.map(({ row }) => [row.approvals, summaryOf(row).approvals_count])).toEqual([[marked, 1]]);
  });
});

describe('a row with an approval whose request does not open', () => {
  it('is listed with the others, and the approvals of all are counted', async () => {
    const operators = [
      { name: 'dev', tenant: 'acme', token: TOKEN },
      { name: 'ada', tenant: 'acme', token: ADA },
    ];
    await service.close();
    service = start({ quorum: { strict: 3, risky: 1, destructive: 1 }, operators });
    const [one, other] = [await park({ approval_tier: 'strict' }), await park({ correlation_id: correlation(2) })];
    const approvals = ['ada', 'gone'].map((name) => ({
      by: `operator:${name}`,
      provenance: 'console-bearer',
      at: new Date(T0).toISOString(),
    }));
    await reviews.settling.voted(one.id, approvals);
    const editor = new DatabaseSync(join(directory, 'hil.db'));
    editor.prepare('update reviews set payload = null where id = ?').run(one.id);
    editor.close();
    const { status, body } = await ask('GET', '/pending/summaries', { tenant: 'acme' });
    const { items } = body as unknown as { items: { id: string; approvals_count: number }[] };
    expect([status, new Map(items.map(({ id, approvals_count }) => [id, approvals_count]))]).toEqual([
      200,
      new Map([
        [one.id, 1],
        [other.id, 0],
      ]),
    ]);
  });
});

describe('POST /decide/{id}', () => {
  it.each([
    ['approve', 'approved'],
    ['deny', 'denied'],
  ])('%s answers with the row as the workflow settled it', async (decision, status) => {
    const row = await park();
    now = T0 + 5000;
    const answer = await decide(row.id, { decision, reason: 'known payee', decided_via: 'signed-link' });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      id: row.id,
      status,
      decided_at: '2026-11-02T10:00:05.000Z',
      decided_by: 'operator:dev',
      decision_reason: 'known payee',
      decided_via: 'signed-link',
      approver_provenance: 'console-bearer',
      approver_assertion: {
        subject: 'operator:dev',
        tenant: 'acme',
        method: 'console-bearer',
        credential: `workload-mtls:sha256:${FINGERPRINT}`,
      },
      credential_kind: 'console-bearer',
      request_payload: pendingBody().request_payload,
    });
    expect((await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).body).toEqual({
      ...answer.body,
      notifications: [],
      since_last_call: null,
    });
  });

  it('sends the workflow a signed decision over row, action, principal and a life of ten seconds', async () => {
    const row = await park();
    await decide(row.id, { decision: 'approve' }, { headers: { 'x-request-id': 'click-1' } });
    expect(sender.received).toEqual([
      {
        pending_id: row.id,
        correlation_id: correlation(1),
        action_digest: row.original_payload_digest,
        decision: 'approve',
        reason: null,
        decided_via: 'console',
        principal: {
          subject: 'operator:dev',
          tenant: 'acme',
          method: 'console-bearer',
          credential: `workload-mtls:sha256:${FINGERPRINT}`,
          credential_kind: 'console-bearer',
        },
        decided_at: '2026-11-02T10:00:00.000Z',
        not_after: '2026-11-02T10:00:10.000Z',
        request_id: 'click-1',
        signature: expect.any(String),
      },
    ]);
    expect(await verifyDecision(sender.received[0] as SignedDecision, key.publicKey)).toEqual({ valid: true });
  });

  it('makes every request without an X-Request-Id a decision of its own', async () => {
    for (const n of [1, 2]) await decide((await park({ correlation_id: correlation(n) })).id);
    const [a, b] = sender.received.map((decision) => decision.request_id);
    expect(a).toMatch(/^[0-9a-f-]{36}$/);
    expect(a).not.toBe(b);
  });

  it('of modify is signed with the diff and with the digest of what it makes of the call', async () => {
    const row = await park();
    const modification_diff = diffOf(['amount'], 1);
    const answer = await decide(row.id, { decision: 'modify', modification_diff });
    expect(answer).toMatchObject({ status: 200, body: { status: 'approved' } });
    const [signed] = sender.received;
    const { params } = row.request_payload as { params: { arguments: object } };
    const candidate = { ...row.request_payload, params: { ...params, arguments: { ...params.arguments, amount: 1 } } };
    expect(signed).toMatchObject({
      decision: 'modify',
      action_digest: row.original_payload_digest,
      modification: { diff: modification_diff, reviewed_digest: canonicalDigest(candidate) },
    });
  });

  it('of modify is the same decision whatever order its replacements are sent in', async () => {
    const params = { name: 'pay', arguments: { amount: 5, to: 'a' } };
    const row = await park({ request_payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } });
    const [amount, to] = [
      { path: ['amount'], value: 1 },
      { path: ['to'], value: 'b' },
    ];
    const modify = (...replacements: object[]) => ({
      decision: 'modify',
      modification_diff: { contract: 'gate.hil.modification-diff/v1', replacements },
    });
    const first = await decide(row.id, modify(to, amount), { headers: { 'x-request-id': 'click-1' } });
    expect(first).toMatchObject({ status: 200, body: { modification_diff: { replacements: [amount, to] } } });
    expect(await decide(row.id, modify(amount, to), { headers: { 'x-request-id': 'click-1' } })).toMatchObject({
      status: 200,
      body: { modification_diff: { replacements: [amount, to] } },
    });
    expect(sender.received.map(({ modification }) => modification?.diff.replacements)).toEqual([[amount, to]]);
  });

  describe('of modify by one person, where several must agree', () => {
    const alone = () => ({ decision: 'modify', modification_diff: diffOf(['amount'], 1) });
    const refused = { status: 422, body: { error: 'modify_under_quorum' } };
    const pendingStill = async ({ id }: PendingRequest) =>
      expect((await ask('GET', `/pending/${id}`, { tenant: 'acme' })).body).toMatchObject({
        status: 'pending',
        decided_by: null,
      });

    // The worker has the changed call predicted, and holds it against what HIL signed.
    it.each([
      ['a risky effect', { strict: 1, risky: 2, destructive: 1 }, ['safe', 'destructive']],
      ['a destructive effect', { strict: 1, risky: 1, destructive: 2 }, ['safe', 'risky']],
      ['either', { strict: 1, risky: 2, destructive: 3 }, ['safe']],
      ['none', { strict: 1, risky: 1, destructive: 1 }, undefined],
    ])('is sent with the effects that one person may approve: %s needs two', async (_, quorum, effects) => {
      const row = await park();
      expect(row.required_approvers ?? 1).toBe(1);
      await service.close();
      service = start({ quorum });
      expect(await decide(row.id, alone())).toMatchObject({ status: 200 });
      expect(sender.received.map(({ approvable_effects }) => approvable_effects)).toEqual([effects]);
    });

    it('is not sent where no effect is for one person any more: the rule of its tier has changed', async () => {
      const row = await park({ approval_tier: 'strict' });
      expect(row.required_approvers ?? 1).toBe(1);
      await service.close();
      service = start({ quorum: { strict: 2, risky: 1, destructive: 1 } });
      expect(await decide(row.id, alone())).toMatchObject(refused);
      expect(sender.received).toEqual([]);
      await pendingStill(row);
    });

    it('is not sent where the tier strict needs two, nor once one of them has approved', async () => {
      const quorum = { strict: 2, risky: 1, destructive: 1 };
      await service.close();
      await reviews.close();
      reviews = await openReviewStore({
        target: { file: join(directory, 'hil.db') },
        payloadKeys,
        clock: () => now,
        quorum,
      });
      service = start({ quorum });
      const row = await park({ approval_tier: 'strict' });
      expect(row).toMatchObject({ required_approvers: 2 });
      expect(await decide(row.id, alone())).toMatchObject(refused);
      await reviews.voted(row.id, [
        { by: 'operator:ada', provenance: 'console-bearer', at: new Date(T0).toISOString() },
      ]);
      expect(await decide(row.id, alone())).toMatchObject(refused);
      expect(sender.received).toEqual([]);
      await pendingStill(row);
    });
  });

  it('is refused to whoever asked for the call: somebody else approves it, but he may deny it', async () => {
    await service.close();
    service = start({ simulatorTenant: 'acme' });
    const row = await park({ agent_spiffe: 'spiffe://gate.local/service/simulator' });
    expect(await decide(row.id, { decision: 'approve' }, { as: 'simulator' })).toMatchObject({
      status: 403,
      body: { error: 'own_request' },
    });
    const modification_diff = { contract: 'gate.hil.modification-diff/v1', replacements: [{ path: ['a'], value: 1 }] };
    expect(await decide(row.id, { decision: 'modify', modification_diff }, { as: 'simulator' })).toMatchObject({
      status: 403,
      body: { error: 'own_request' },
    });
    expect(sender.received).toEqual([]);
    expect(await decide(row.id, { decision: 'deny' }, { as: 'simulator' })).toMatchObject({ status: 200 });
  });

  describe("about a call of somebody's agent", () => {
    const owner = { operator: 'dev', tenant: 'acme', agent: 'payments-agent' };
    const owned = async (...agentOwners: (typeof owner)[]) => {
      await service.close();
      service = start({ agentOwners, simulatorTenant: 'acme' });
      const row = await park({ agent_id: 'payments-agent' });
      expect(row).toMatchObject({ tenant: 'acme', agent_id: 'payments-agent' });
      return row;
    };
    const own = { status: 403, body: { error: 'own_request' } };
    const modification_diff = { contract: 'gate.hil.modification-diff/v1', replacements: [{ path: ['a'], value: 1 }] };

    it('its owner neither approves nor changes it; another operator decides', async () => {
      const row = await owned(owner);
      expect(await decide(row.id)).toMatchObject(own);
      expect(await decide(row.id, { decision: 'modify', modification_diff })).toMatchObject(own);
      expect(sender.received).toEqual([]);
      expect(await decide(row.id, undefined, { token: ADA })).toMatchObject({ status: 200 });
    });

    it('its owner may deny it', async () => {
      const row = await owned(owner);
      expect(await decide(row.id, { decision: 'deny' })).toMatchObject({ status: 200, body: { status: 'denied' } });
    });

    it('an agent of several people is decided by none of them', async () => {
      const row = await owned(owner, { ...owner, operator: 'ada' });
      for (const token of [TOKEN, ADA]) expect(await decide(row.id, undefined, { token })).toMatchObject(own);
    });

    it("the simulator, which does not say whose operator's token it has, approves none", async () => {
      const row = await owned(owner);
      expect(await decide(row.id, { decision: 'approve' }, { as: 'simulator', token: ADA })).toMatchObject(own);
    });

    it('an agent of the same name in another tenant, and another agent, are not theirs', async () => {
      const row = await owned({ ...owner, tenant: 'globex' }, { ...owner, agent: 'other-agent' });
      expect(await decide(row.id)).toMatchObject({ status: 200 });
    });
  });

  it('is not sent where the store of the row cannot be written: 503, and the call waits on', async () => {
    const row = await park();
    await service.close();
    const ready = () => Promise.reject(new GateError('store_unavailable'));
    service = start({ reviews: { ...reviews, ready } });
    expect(await decide(row.id)).toMatchObject({ status: 503, body: { error: 'store_unavailable' } });
    expect(sender.received).toEqual([]);
  });

  it('tells operators apart by their tokens', async () => {
    const row = await park();
    expect((await decide(row.id, undefined, { token: ADA })).body.decided_by).toBe('operator:ada');
  });

  it('takes who decided from the credential, not from the body', async () => {
    const row = await park();
    const answer = await decide(row.id, {
      decision: 'approve',
      decided_by: 'operator:eve',
      tenant: 'globex',
      approver_assertion: { subject: 'operator:eve', method: 'webauthn' },
    });
    expect(answer.body).toMatchObject({ status: 'approved', decided_by: 'operator:dev', tenant: 'acme' });
    expect(answer.body.approver_assertion).toMatchObject({ subject: 'operator:dev', method: 'console-bearer' });
  });

  it('answers the second decision with 409, leaving the first unchanged', async () => {
    const row = await park();
    const first = await decide(row.id);
    for (const decision of ['approve', 'deny'])
      expect(await decide(row.id, { decision }, { token: ADA })).toMatchObject({
        status: 409,
        body: {
          error: 'already_decided',
          status: 'approved',
          decided_by: 'operator:dev',
          decided_at: '2026-11-02T10:00:00.000Z',
        },
      });
    expect((await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).body).toEqual({
      ...first.body,
      notifications: [],
      since_last_call: null,
    });
    expect(sender.received).toHaveLength(1);
  });

  it('shows in its answer what was noted on the row while the workflow decided', async () => {
    const row = await park();
    const { decide: honest } = sender;
    sender.decide = async (signed) => {
      await reviews.note(row.id, 'acme', () => ({ assigned_to: 'team:payments', assigned_by: 'operator:ada' }));
      const outcome = await honest(signed);
      if (outcome.outcome !== 'applied') throw new Error('not applied');
      await reviews.settle(whole(outcome.settled));
      return { ...outcome, row_settled: true };
    };
    expect(await decide(row.id)).toMatchObject({
      status: 200,
      body: {
        status: 'approved',
        decided_by: 'operator:dev',
        assigned_to: 'team:payments',
        assigned_by: 'operator:ada',
      },
    });
  });

  it('lets one of fifty decisions at once win and answers 49 with 409 naming the winner', async () => {
    const row = await park();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        decide(row.id, { decision: n % 2 ? 'approve' : 'deny', reason: `n${n}` }, { token: n % 3 ? TOKEN : ADA }),
      ),
    );
    const winners = answers.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    const stored = (await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).body;
    expect(stored).toEqual({ ...winners[0]?.body, notifications: [], since_last_call: null });
    const losers = answers.filter(({ status }) => status !== 200);
    expect(losers).toHaveLength(49);
    for (const { status, body } of losers)
      expect({ status, body }).toMatchObject({
        status: 409,
        body: { error: 'already_decided', status: stored.status, decided_by: stored.decided_by },
      });
  });

  it('leaves it to the call whether a decision comes too late, and shows the row as the call says', async () => {
    const row = await park();
    now = T0 + 600_000;
    const settled = {
      pending_id: row.id,
      status: 'expired' as const,
      decided_at: '2026-11-02T10:10:00.000Z',
      decided_by: 'system:ttl-sweep',
      decision_reason: null,
      decided_via: 'system:ttl-sweep',
      principal: null,
    };
    const closed = { decided_by: settled.decided_by, decided_at: settled.decided_at, status: settled.status };
    sender.decide = async () => ({ outcome: 'refused', code: 'pending_expired', settled });
    for (let time = 1; time <= 2; time += 1)
      expect(await decide(row.id)).toMatchObject({ status: 409, body: { error: 'pending_expired', ...closed } });
    expect(await reviews.get(row.id)).toMatchObject(closed);
  });

  it('says of a row past its deadline that it expired where no call waits for it any more', async () => {
    const row = await park();
    now = T0 + 600_000;
    sender.decide = async () => ({ outcome: 'refused', code: 'not_pending' });
    expect(await decide(row.id)).toMatchObject({ status: 409, body: { error: 'pending_expired' } });
  });

  it('answers 404 for an unknown and for a withdrawn row', async () => {
    expect(await decide(correlation(9))).toMatchObject({ status: 404, body: { error: 'not_found' } });
    const row = await park();
    await reviews.withdraw(correlation(1));
    expect(await decide(row.id)).toMatchObject({ status: 404 });
  });

  describe('without the operator’s proof', () => {
    it.each([
      ['no token', {}],
      ['a wrong token', { authorization: `Bearer ${TOKEN}x` }],
      ['another scheme', { authorization: `Basic ${TOKEN}` }],
      ['another spelling of the scheme', { authorization: `bearer ${TOKEN}` }],
      ['a bare token', { authorization: TOKEN }],
    ])('is 401 with %s, whatever the body and the row', async (_, headers) => {
      const row = await park();
      for (const body of [{ decision: 'approve' }, { nonsense: true }])
        for (const id of [row.id, correlation(9)])
          expect(await decide(id, body, { token: null, tenant: 'acme', headers })).toMatchObject({
            status: 401,
            body: { error: 'unauthenticated' },
          });
      expect(await reviews.get(row.id)).toEqual(row);
    });

    it('is 400 with the old identity header, also beside a good token', async () => {
      const row = await park();
      expect(await decide(row.id, undefined, { headers: { 'x-gate-decided-by': 'operator:dev' } })).toMatchObject({
        status: 400,
        body: { error: 'legacy_identity_header' },
      });
    });
  });

  describe('refuses before anything is sent', () => {
    it.each([
      [400, 'invalid_request', 'no decision', {}],
      [400, 'invalid_request', 'an unknown decision', { decision: 'allow' }],
      [400, 'invalid_request', 'an unknown key', { decision: 'approve', role: 'admin' }],
      [400, 'invalid_request', 'a long reason', { decision: 'approve', reason: 'x'.repeat(1001) }],
      [400, 'invalid_request', 'a reason no store keeps', { decision: 'approve', reason: 'a\0' }],
      [400, 'invalid_request', 'a surface no store keeps', { decision: 'approve', decided_via: '\ud800' }],
      [
        400,
        'invalid_request',
        'a surface that is Gate’s own',
        { decision: 'approve', decided_via: 'system:ttl-sweep' },
      ],
      [
        400,
        'invalid_request',
        'one that reads so, in full-width letters',
        { decision: 'approve', decided_via: 'ｓｙｓｔｅｍ：ttl-sweep' },
      ],
      [400, 'invalid_request', 'a diff with approve', { decision: 'approve', modification_diff: { a: 1 } }],
      [400, 'invalid_request', 'a diff with deny', { decision: 'deny', modification_diff: {} }],
      [400, 'modification_diff_required', 'modify without a diff', { decision: 'modify', modification_diff: null }],
      [
        422,
        'invalid_modification_diff',
        'a diff without a contract',
        { decision: 'modify', modification_diff: { replacements: [] } },
      ],
      [
        422,
        'invalid_modification_diff',
        'a diff of another row',
        { decision: 'modify', modification_diff: diffOf(['nothing'], 1) },
      ],
      [422, 'modified_payload_rejected', 'a rewritten payload', { decision: 'approve', modified_payload: { a: 1 } }],
      [422, 'modified_payload_rejected', 'a rewritten payload of null', { decision: 'deny', modified_payload: null }],
      [422, 'modified_payload_rejected', 'one beside modify', { decision: 'modify', modified_payload: {} }],
    ])('%i %s: %s', async (status, error, _, body) => {
      const row = await park();
      expect(await decide(row.id, body)).toMatchObject({ status, body: { error } });
      expect(sender.received).toEqual([]);
      expect(await reviews.get(row.id)).toEqual(row);
    });

    it('400 for a request id it cannot pass on', async () => {
      const row = await park();
      for (const id of ['a b', 'x'.repeat(129)])
        expect(await decide(row.id, undefined, { headers: { 'x-request-id': id } })).toMatchObject({ status: 400 });
      expect(sender.received).toEqual([]);
    });

    it.each([
      ['broken JSON', '{"decision":'],
      ['no body', ''],
      ['two decisions in one body', '{"decision":"deny","decision":"approve"}'],
    ])('400 for %s', async (_, body) => {
      const row = await park();
      const answer = await decide(row.id, body, { headers: { 'content-type': 'application/json' } });
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      expect(sender.received).toEqual([]);
    });
  });

  describe('when the workflow answers', () => {
    const answering = (outcome: () => DecisionOutcome | Promise<DecisionOutcome>) => {
      sender.decide = async () => outcome();
    };
    const first = (row: PendingRequest) => ({
      pending_id: row.id,
      status: 'denied' as const,
      decided_at: '2026-11-02T09:59:59.000Z',
      decided_by: 'operator:ada',
      decision_reason: null,
      decided_via: 'console',
      principal: null,
    });

    it('already decided: 409 with the first decision, and the row is written from it', async () => {
      const row = await park();
      answering(() => ({ outcome: 'refused', code: 'already_decided', settled: first(row) }));
      expect(await decide(row.id)).toMatchObject({
        status: 409,
        body: { error: 'already_decided', status: 'denied', decided_by: 'operator:ada' },
      });
      expect(await reviews.get(row.id)).toMatchObject({ status: 'denied', decided_by: 'operator:ada' });
    });

    it('expired by its own clock: 409 pending_expired', async () => {
      const row = await park();
      const settled = { ...first(row), status: 'expired' as const, decided_by: 'system:ttl-sweep' };
      answering(() => ({ outcome: 'refused', code: 'pending_expired', settled }));
      expect(await decide(row.id)).toMatchObject({
        status: 409,
        body: { error: 'pending_expired', status: 'expired', decided_by: 'system:ttl-sweep' },
      });
      expect(await reviews.get(row.id)).toMatchObject({ status: 'expired' });
    });

    it.each(DECISION_REFUSALS)(
      '%s without telling how the review stands: refused by its code, row unchanged',
      async (code) => {
        const row = await park();
        answering(() => ({ outcome: 'refused', code }));
        expect(await decide(row.id)).toMatchObject({
          status: ERROR_CODES[code].status,
          body: { error: code, status: 'pending' },
        });
        expect(await reviews.get(row.id)).toEqual(row);
      },
    );

    it('a call that ended meanwhile, by a faster decision: 409 already_decided with that decision, not only that nothing waits', async () => {
      const row = await park();
      answering(async () => {
        await reviews.settle(first(row));
        return { outcome: 'refused', code: 'not_pending' };
      });
      expect(await decide(row.id)).toMatchObject({
        status: 409,
        body: { error: 'already_decided', status: 'denied', decided_by: 'operator:ada' },
      });
    });

    it('of a call whose time was over: 409 pending_expired with the row as it ended, whatever the workflow remembers', async () => {
      const row = await park();
      const settled = { ...first(row), status: 'expired' as const, decided_by: 'system:ttl-sweep' };
      answering(() => ({ outcome: 'refused', code: 'already_decided', settled }));
      expect(await decide(row.id)).toMatchObject({
        status: 409,
        body: { error: 'pending_expired', status: 'expired', decided_by: 'system:ttl-sweep' },
      });
    });

    it('of a call that was closed as tampered: 409 call_tampered, at once and ever after, and no word of a deadline', async () => {
      const row = await park();
      const settled = { ...first(row), status: 'aborted' as const, decided_by: 'system:tamper-check' };
      answering(() => ({ outcome: 'refused', code: 'call_tampered', settled }));
      const told = await decide(row.id);
      expect(told).toMatchObject({
        status: 409,
        body: {
          error: 'call_tampered',
          reason: expect.stringContaining('not what Gate wrote'),
          status: 'aborted',
          decided_by: 'system:tamper-check',
        },
      });
      expect(JSON.stringify(told.body)).not.toMatch(/deadline/i);
      answering(() => ({ outcome: 'refused', code: 'not_pending' }));
      expect(await decide(row.id)).toMatchObject({ status: 409, body: { error: 'call_tampered' } });
    });

    it('not in time: 503, row unchanged, and the same decision may be sent again', async () => {
      const row = await park();
      const honest = honestSender();
      answering(() => Promise.reject(new GateError('orchestrator_unavailable')));
      expect(await decide(row.id)).toMatchObject({ status: 503, body: { error: 'orchestrator_unavailable' } });
      expect(await reviews.get(row.id)).toEqual(row);
      sender.decide = (decision) => honest.decide(decision);
      expect(await decide(row.id)).toMatchObject({ status: 200, body: { status: 'approved' } });
    });

    describe('not in time, and the decision took effect all the same', () => {
      const click = { headers: { 'x-request-id': 'click-1' } };
      const own = { status: 200, body: { status: 'approved', decided_by: 'operator:dev', decision_reason: 'first' } };
      const body = { decision: 'approve', reason: 'first' };
      /** `known`: whether the call's host settled the row meanwhile, or HIL does not know the result yet. */
      async function lost(known: boolean): Promise<PendingRequest> {
        const row = await park();
        const honest = honestSender();
        answering(async () => {
          const [decision] = sender.received.splice(0);
          if (decision) await honest.decide(decision);
          throw new GateError('orchestrator_unavailable');
        });
        const through = sender.decide;
        sender.decide = async (decision) => {
          const outcome = await honest.decide(decision);
          if (known && outcome.outcome !== 'voted' && outcome.settled) await reviews.settle(whole(outcome.settled));
          return through(decision);
        };
        expect(await decide(row.id, body, click)).toMatchObject({ status: 503 });
        sender.decide = (decision) => honest.decide(decision);
        now += 1_500;
        return row;
      }

      it.each([true, false])(
        'the same decision again has its own answer, as often as it is asked (row settled: %s)',
        async (known) => {
          const row = await lost(known);
          for (let again = 0; again < 3; again += 1) {
            expect(await decide(row.id, body, click)).toMatchObject(own);
            now += 1_500;
          }
          now += 86_400_000;
          expect(await decide(row.id, body, click)).toMatchObject(own);
        },
      );

      it.each<[string, unknown, Ask]>([
        ['under another request id', body, { headers: { 'x-request-id': 'click-2' } }],
        ['under none', body, {}],
        ['the other way', { decision: 'deny' }, click],
        ['by somebody else', body, { ...click, token: ADA }],
      ])('%s it is another decision, which comes too late', async (_what, other, over) => {
        for (const known of [true, false]) {
          const row = await lost(known);
          expect(await decide(row.id, other, over)).toMatchObject({
            status: 409,
            body: { error: 'already_decided', status: 'approved', decided_by: 'operator:dev' },
          });
          await reviews.close();
          await service.close();
          rmSync(directory, { recursive: true });
          directory = mkdtempSync(join(tmpdir(), 'gate-hil-'));
          await writeMigrated(join(directory, 'hil.db'), hilMigrations);
          reviews = await openReviewStore({
            target: { file: join(directory, 'hil.db') },
            payloadKeys,
            clock: () => now,
          });
          service = start();
        }
      });

      it('about another action than the row shows it is none about this row', async () => {
        const row = await lost(true);
        expect(await decide(row.id, { ...body, action_digest: 'sha256:other' }, click)).toMatchObject({ status: 409 });
        expect(await decide(row.id, { ...body, action_digest: row.original_payload_digest }, click)).toMatchObject(own);
      });
    });

    it('with something unexpected: 500 without a word of it, row unchanged', async () => {
      const row = await park();
      answering(() => Promise.reject(new Error('secret detail')));
      const answer = await decide(row.id);
      expect(answer).toMatchObject({ status: 500, body: { error: 'internal_error' } });
      expect(answer.text).not.toContain('secret detail');
      expect(await reviews.get(row.id)).toEqual(row);
    });

    it('for another review: 500, and no row is written', async () => {
      const row = await park();
      const other = await park({ correlation_id: correlation(2) });
      answering(() => ({ outcome: 'applied', settled: first(other) }));
      expect(await decide(row.id)).toMatchObject({ status: 500 });
      expect(await reviews.get(other.id)).toEqual(other);
      expect(await reviews.get(row.id)).toEqual(row);
    });

    it('and has settled the row itself meanwhile: the same settlement twice is one', async () => {
      const row = await park();
      const honest = sender.decide.bind(sender);
      sender.decide = async (decision) => {
        const outcome = await honest(decision);
        if (outcome.outcome === 'applied') await reviews.settle(whole(outcome.settled));
        return outcome;
      };
      expect(await decide(row.id)).toMatchObject({ status: 200, body: { status: 'approved' } });
    });
  });
});

describe('many decisions at once', () => {
  it('eight are under way at a time, each is signed when its turn comes, and all are taken once', async () => {
    let underWay = 0;
    let most = 0;
    const slow: DecisionSender = {
      async decide(decision) {
        expect(Date.parse(decision.not_after)).toBeGreaterThan(now);
        underWay += 1;
        most = Math.max(most, underWay);
        await eventually('eight are under way', () => most >= 8);
        await timePasses(10, 'a ninth would come');
        // Longer than a signed decision may take, for all of them together.
        now += 1_000;
        underWay -= 1;
        return sender.decide({ ...decision });
      },
    };
    service = (await service.close(), start({ sender: slow }));
    const rows = await Promise.all(Array.from({ length: 30 }, () => park({ correlation_id: randomUUID() })));
    const again = { headers: { 'x-request-id': 'again' } };
    const [first, ...others] = rows.map(({ id }) => id);
    const answers = await Promise.all([
      ...others.map((id) => decide(id)),
      decide(String(first), { decision: 'approve' }, again),
      decide(String(first), { decision: 'approve' }, again),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(most).toBe(8);
    expect(new Set(sender.received.map(({ pending_id }) => pending_id)).size).toBe(30);
  });

  it('a call that somebody else decided while its decision waited for a turn is not decided again', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun = 0;
    const hanging: DecisionSender = {
      decide: (decision) => {
        begun += 1;
        return held.then(() => sender.decide(decision));
      },
    };
    service = (await service.close(), start({ sender: hanging }));
    const rows = await Promise.all(Array.from({ length: 9 }, () => park({ correlation_id: randomUUID() })));
    const [last, ...first] = rows.map(({ id }) => id);
    const taken = Promise.all(first.map((id) => decide(id)));
    await eventually('eight decisions under way', () => begun === 8);
    const late = decide(String(last));
    await timePasses(200, 'it waits, which nobody sees');
    await reviews.settle({
      pending_id: String(last),
      status: 'denied',
      decided_at: new Date(now).toISOString(),
      decided_by: 'operator:second',
      decision_reason: null,
      decided_via: 'console',
      principal: null,
    });
    release();
    expect((await taken).map(({ status }) => status)).toEqual(first.map(() => 200));
    expect(await late).toMatchObject({
      status: 409,
      body: { error: 'already_decided', decided_by: 'operator:second' },
    });
    expect(sender.received).toHaveLength(8);
  });

  it('a stop sends those away who wait, and says that nothing was decided', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const hanging: DecisionSender = { decide: (decision) => held.then(() => sender.decide(decision)) };
    service = (await service.close(), start({ sender: hanging }));
    const rows = await Promise.all(Array.from({ length: 9 }, () => park({ correlation_id: randomUUID() })));
    const answers = Promise.all(rows.map(({ id }) => decide(id)));
    await timePasses(200, 'the last of them waits, which nobody sees');
    const closing = service.close();
    await timePasses(50, 'the service is stopping meanwhile');
    release();
    const [last, ...first] = (await answers).toSorted((a, b) => b.status - a.status);
    await closing;
    expect(first.map(({ status }) => status)).toEqual(first.map(() => 200));
    expect(last).toMatchObject({ status: 503, body: { error: 'decision_not_sent' } });
    expect(sender.received).toHaveLength(8);
  });
});

describe('Gate’s own routes for the pipeline', () => {
  const settlement = (over: object = {}) => ({
    pending_id: reviewIdOf(correlation(1)),
    status: 'expired',
    decided_at: '2026-11-02T10:10:00.000Z',
    decided_by: 'system:ttl-sweep',
    decision_reason: null,
    decided_via: 'system:ttl-sweep',
    principal: null,
    ...over,
  });
  const settle = (body: unknown, n = 1) =>
    ask('POST', `/pending/${reviewIdOf(correlation(n))}/settle`, { as: 'proxy', body });

  it('settle writes the first settlement, repeats it, and refuses another', async () => {
    await park();
    const first = await settle(settlement());
    expect(first).toMatchObject({ status: 200, body: { status: 'expired', decided_by: 'system:ttl-sweep' } });
    expect((await settle(settlement())).body).toEqual(first.body);
    expect(await settle(settlement({ status: 'denied' }))).toMatchObject({
      status: 409,
      body: { error: 'already_decided', status: 'expired' },
    });
  });

  it('settle refuses a row other than the addressed one, an unknown row, and what is no settlement', async () => {
    await park();
    expect(await settle(settlement(), 2)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    const unknown = settlement({ pending_id: reviewIdOf(correlation(2)) });
    expect(await settle(unknown, 2)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect(await settle(settlement({ status: 'pending' }))).toMatchObject({ status: 400 });
    expect(await settle(settlement({ extra: 1 }))).toMatchObject({ status: 400 });
    expect(await reviews.get(reviewIdOf(correlation(1)))).toMatchObject({ status: 'pending' });
  });

  it('withdraw hides the row, is safe to repeat, and refuses a decided one', async () => {
    const row = await park();
    const withdraw = () => ask('DELETE', `/pending/by-correlation/${correlation(1)}`, { as: 'proxy' });
    expect(await withdraw()).toMatchObject({ status: 204, text: '' });
    expect(await withdraw()).toMatchObject({ status: 204 });
    expect(await ask('GET', `/pending/${row.id}`, { tenant: 'acme' })).toMatchObject({ status: 404 });
    expect(await settle(settlement())).toMatchObject({ status: 409, body: { error: 'not_pending' } });
    const again = await park({ created_at: '2026-11-02T10:00:30.000Z' });
    await decide(again.id);
    expect(await withdraw()).toMatchObject({ status: 409, body: { error: 'already_decided', status: 'approved' } });
  });
});

describe('health and metrics of HIL', () => {
  it('is ready while the store answers and the composition’s checks hold', async () => {
    const readyz = async () => (await service.health.inject('/readyz')).json();
    expect(await readyz()).toMatchObject({ status: 'ready', checks: { storage: 'ok' } });
    await service.close();
    service = start({
      readiness: {
        orchestrator: () => {
          throw new Error('no engine');
        },
      },
    });
    expect(await readyz()).toMatchObject({ status: 'not_ready', checks: { storage: 'ok', orchestrator: 'failed' } });
  });

  it('fails the check `clock` once the worker’s clock is another one, says so once, until a decision is taken or its database says that it is right', async () => {
    const lines: string[] = [];
    const { decide: honest } = sender;
    let storeMs: number | null = null;
    await service.close();
    service = start({
      reviews: { ...reviews, clockMs: () => Promise.resolve(storeMs) },
      logger: pino({ level: 'error' }, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) }),
    });
    const clock = async () => {
      const { checks, details } = (await service.health.inject('/readyz')).json<{
        checks: Record<string, string>;
        details: Record<string, string>;
      }>();
      return [checks['clock'], details['clock']];
    };
    const apart = 'the clock of HIL is 300 s behind that of the worker';
    const row = await park();
    for (const gone of ['taken', 'asked']) {
      sender.decide = () => Promise.resolve({ outcome: 'refused', code: 'decision_refused', clock_ms: now + 300_000 });
      for (let again = 0; again < 2; again += 1)
        expect(await decide(row.id)).toMatchObject({
          status: 409,
          body: { error: 'clocks_apart', status: 'pending', reason: expect.stringContaining(apart) },
        });
      expect(await clock()).toEqual(['failed', apart]);
      storeMs = now - 300_000;
      expect(await clock()).toEqual(['failed', apart]);
      if (gone === 'asked') storeMs = now + 1_000;
      else {
        sender.decide = honest;
        expect(await decide(row.id)).toMatchObject({ status: 200 });
        // What no worker has refused yet, the database says all the same.
        expect(await clock()).toEqual(['failed', 'the clock of HIL is 300 s ahead of that of its database']);
        storeMs = null;
        await park({ correlation_id: correlation(2) }).then(({ id }) => Object.assign(row, { id }));
      }
      expect(await clock()).toEqual(['ok', undefined]);
    }
    expect(lines).toEqual(Array.from({ length: 2 }, () => expect.stringContaining(apart)));
  });

  it('signs a decision again, for as much longer as the worker’s clock is ahead, where that is less than a minute', async () => {
    const received: SignedDecision[] = [];
    const { decide: honest } = sender;
    sender.decide = async (decision) => {
      received.push(decision);
      const clock_ms = now + 12_000;
      return clock_ms > Date.parse(decision.not_after)
        ? { outcome: 'refused', code: 'decision_refused', clock_ms }
        : honest(decision);
    };
    expect(await decide((await park()).id)).toMatchObject({ status: 200, body: { status: 'approved' } });
    expect(received.map(({ not_after }) => Date.parse(not_after) - now)).toEqual([10_000, 22_000]);
    expect(received.map(({ decided_at }) => Date.parse(decided_at) - now)).toEqual([0, 0]);
  });

  it.each<[string, () => void | Promise<void>, object]>([
    ['answers', () => undefined, { available: true, reason: null }],
    [
      'is away, without the words of its client, which name addresses',
      () => Promise.reject(new Error('14 UNAVAILABLE: 10.0.0.7:7233: connection refused')),
      { available: false, reason: 'it cannot be reached' },
    ],
    ['hangs', () => new Promise(() => undefined), { available: false, reason: 'no answer within 1000 ms' }],
  ])('tells the console whether the engine answers: it %s', async (_, orchestrator, told) => {
    await service.close();
    service = start({ readiness: { orchestrator } });
    expect(await ask('GET', '/orchestrator', { tenant: 'acme' })).toMatchObject({ status: 200, body: told });
    expect(await ask('GET', '/orchestrator', { tenant: 'acme', as: 'proxy' })).toMatchObject({ status: 403 });
  });

  it('counts waiting rows, the age of the oldest, and decisions by outcome', async () => {
    const row = await park();
    await park({ correlation_id: correlation(2), created_at: '2026-11-02T10:00:10.000Z' });
    now = T0 + 30_000;
    const metrics = async () => (await service.health.inject('/metrics')).body;
    expect(await metrics()).toMatch(/gate_hil_pending_rows 2\ngate|gate_hil_pending_rows 2\n/);
    expect(await metrics()).toContain('gate_hil_oldest_pending_age_seconds 30\n');
    await decide(row.id);
    await decide(row.id, { decision: 'deny' });
    await decide(correlation(9), { decision: 'deny' });
    sender.decide = () => Promise.reject(new GateError('orchestrator_unavailable'));
    await decide(reviewIdOf(correlation(2)), { decision: 'deny' });
    const text = await metrics();
    expect(text).toContain('gate_hil_pending_rows 1\n');
    expect(text).toContain('gate_hil_oldest_pending_age_seconds 20\n');
    expect(text).toContain('gate_hil_decisions_total{decision="approve",outcome="applied"} 1\n');
    expect(text).toContain('gate_hil_decisions_total{decision="deny",outcome="already_decided"} 1\n');
    expect(text).toContain('gate_hil_decisions_total{decision="deny",outcome="failed"} 1\n');
  });

  it('shows no number it does not know while the store is gone, and answers 503 store_unavailable', async () => {
    await reviews.close();
    expect((await service.health.inject('/metrics')).body).toContain('gate_hil_pending_rows Nan\n');
    expect((await service.health.inject('/readyz')).statusCode).toBe(503);
    expect(await ask('GET', '/pending', { tenant: 'acme' })).toMatchObject({
      status: 503,
      body: { error: 'store_unavailable' },
    });
    reviews = await openReviewStore({
      target: { file: join(directory, 'hil.db') },
      payloadKeys,
    });
  });
});

describe('a body that is not what a route takes', () => {
  const CONSOLE = { rpId: 'console.example', origin: 'https://console.example' };
  const BOOTSTRAP = 'bootstrap-token-0123456789abcdefghij';
  const SLACK = 'slack-signing-secret-0123456789';
  const TEAMS = Buffer.from('teams-signing-secret-0123456789');
  const device = softwareAuthenticator(CONSOLE);
  const CHALLENGE = Buffer.alloc(32, 1).toString('base64url');
  const [made, signed] = [device.create(CHALLENGE), device.get(CHALLENGE)];
  const at = new Date(T0).toISOString();
  /** What each route takes. */
  const TAKEN: Readonly<Record<string, object>> = {
    'POST /pending': pendingBody({ correlation_id: correlation(9) }),
    'POST /pending/{id}/settle': {
      pending_id: reviewIdOf(correlation(1)),
      status: 'expired',
      decided_at: at,
      decided_by: 'system:ttl-sweep',
      decision_reason: null,
      decided_via: 'system:ttl-sweep',
      principal: null,
    },
    'POST /pending/{id}/opened-change': { sealed_diff: 'AAAA' },
    'POST /tenant-steps': {
      owner: 'hil',
      tenant: 'acme',
      operation_id: correlation(1),
      kind: 'offboard',
      step_id: 'hil_namespace',
      asked_by: 'operator:dev',
      not_after: at,
      signature: { algorithm: 'ES256', key_id: 'a'.repeat(64), value: 'AAAA' },
    },
    'POST /pending/{id}/escalated': { escalated_at: at },
    'POST /pending/by-correlation/{correlation_id}/withdrawal': { tenant: 'acme', agent_id: 'payments-agent' },
    'POST /pending/{id}/assign': { assigned_to: 'ada' },
    'PATCH /pending/{id}/incident': { incident_summary: 'looked at' },
    'POST /admin/pending/{id}/legal-hold': {
      operation_id: correlation(7),
      action: 'apply',
      hold_id: correlation(8),
      authority_reason_sha256: `sha256:${'0'.repeat(64)}`,
    },
    'POST /decide/{id}': { decision: 'deny' },
    'POST /pending/{id}/approval-challenge': { decision: 'approve' },
    'POST /decision-link/verify': { token: 'x' },
    'POST /admin/tenants/{tenant}/lifecycle': { operation_id: correlation(7), kind: 'offboard' },
    'POST /admin/namespaces/demo/cleanup': {},
    'POST /identities/upsert': { oidc_sub: 'dev', slack_user_id: 'U1' },
    'POST /identities/removals': { oidc_sub: 'dev', chat: 'slack' },
    'POST /notifications/test': {},
    'POST /auth/register/start': {},
    'POST /auth/register/finish': made,
    'POST /auth/login/start': { name: 'dev' },
    'POST /auth/login/finish': signed,
    'POST /auth/logout': {},
    'POST /auth/people/register/start': { name: 'bob', token: BOOTSTRAP },
    'POST /auth/people/register/finish': made,
    'POST /auth/people/login/start': { name: 'ana' },
    'POST /auth/enrollment/recoveries': { name: 'ada' },
    'POST /auth/enrollment/invitations': { name: 'bob' },
    'POST /auth/enrollment/removals': { name: 'ana' },
    'POST /webhook/slack': {},
    'POST /webhook/teams': {},
  };
  /** Written by browsers and chats, which add members as they like; what is read of them is checked otherwise. */
  const OTHERS_WRITE = /\/finish$|^POST \/webhook\//;
  /** These have none, and look at none. */
  const WITHOUT = [
    'DELETE /identities/{oidc_sub}/slack',
    'DELETE /identities/{oidc_sub}/teams',
    'DELETE /pending/by-correlation/{correlation_id}',
    'POST /people/standing',
    'POST /pending/{id}/rule-decision',
  ];

  /** Whatever the store holds. */
  function tables(): string {
    const file = new DatabaseSync(join(directory, 'hil.db'), { readOnly: true });
    try {
      const names = file.prepare(`select name from sqlite_master where type = 'table' order by name`).all();
      return names
        .map(({ name }) => JSON.stringify([name, file.prepare(`select * from "${String(name)}"`).all()]))
        .join('\n');
    } finally {
      file.close();
    }
  }

  let row: PendingRequest;
  let administrator: string;
  beforeEach(async () => {
    await service.close();
    service = start({
      simulatorTenant: 'acme',
      consoleUrl: CONSOLE.origin,
      bootstrapToken: BOOTSTRAP,
      chats: { slackSecret: SLACK, teamsSecret: TEAMS },
    });
    row = await park();
    administrator = await signedIn('ana');
  });

  /** The session of the first administrator, whose passkey is his only credential. */
  async function signedIn(name: string): Promise<string> {
    const own = softwareAuthenticator(CONSOLE);
    const post = async (url: string, payload: object, cookie = '') => {
      const headers = { 'x-test-caller': 'console', 'x-gate-tenant-scope': 'acme', ...(cookie && { cookie }) };
      const answer = await service.app.inject({ method: 'POST', url, headers, payload });
      expect(answer.statusCode).toBe(200);
      const cookies = [answer.headers['set-cookie'] ?? []].flat().map((each) => String(each).split(';')[0] ?? '');
      const { publicKey } = answer.json<{ publicKey?: { challenge: string } }>();
      return {
        challenge: publicKey?.challenge ?? '',
        cookie: cookies.filter((each) => !each.endsWith('=')).join('; '),
      };
    };
    const begun = await post('/auth/people/register/start', { name, token: BOOTSTRAP });
    await post('/auth/people/register/finish', own.create(begun.challenge), begun.cookie);
    const login = await post('/auth/people/login/start', { name });
    return (await post('/auth/login/finish', own.get(login.challenge), login.cookie)).cookie;
  }

  /** The headers of whoever may ask: the service of the table, with what proves the person or the chat. */
  function headersOf(name: string, payload: string): Record<string, string> {
    const { callers } = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].find(
      (one) => one.service === 'hil' && routeName(one) === name,
    ) ?? { callers: [] };
    const as = String(callers[0]).replace(/^service-/, '');
    const headers = { 'content-type': 'application/json', 'x-test-caller': as, 'x-gate-tenant-scope': 'acme' };
    const seconds = String(Math.floor(now / 1_000));
    if (name === 'POST /webhook/slack')
      return {
        ...headers,
        'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': seconds,
        'x-slack-signature': `v0=${createHmac('sha256', SLACK).update(`v0:${seconds}:${payload}`).digest('hex')}`,
      };
    if (name === 'POST /webhook/teams')
      return { ...headers, authorization: `HMAC ${createHmac('sha256', TEAMS).update(payload).digest('base64')}` };
    if (/enrollment\/(?:invitations|removals)$/.test(name)) return { ...headers, cookie: administrator };
    return as === 'console' ? { ...headers, authorization: `Bearer ${TOKEN}` } : headers;
  }

  async function sent(name: string, body: string) {
    const [method, path = ''] = name.split(' ');
    const url = path
      .replace('{id}', row.id)
      .replace('{correlation_id}', row.correlation_id)
      .replace('{tenant}', 'acme');
    const payload = name === 'POST /webhook/slack' ? `payload=${encodeURIComponent(body)}` : body;
    const headers = headersOf(name, payload);
    const { statusCode, body: text } = await service.app.inject({ method: method as 'POST', url, headers, payload });
    const { error = '', reason = '' } = JSON.parse(text || '{}') as { error?: string; reason?: string };
    return { status: statusCode, error, reason };
  }

  it('has a case for every route that takes one', () => {
    const changing = registeredRoutes(service.app).filter(({ method }) => method !== 'GET' && method !== 'HEAD');
    expect(changing.map(routeName).toSorted()).toEqual([...Object.keys(TAKEN), ...WITHOUT].toSorted());
  });

  it.each(Object.entries(TAKEN))('%s is refused with a code of its own, and nothing is stored', async (name, taken) => {
    const before = tables();
    const bodies = ['{', '[]', JSON.stringify({ ...taken, unknown_member: 1 })];
    for (const body of bodies) {
      const { status, error, reason } = await sent(name, body);
      expect([body, status, ERROR_CODES[error as keyof typeof ERROR_CODES]?.status]).toEqual([body, status, status]);
      expect([body, Math.floor(status / 100)]).toEqual([body, 4]);
      expect(error).not.toBe('chat_signature_invalid');
      if (OTHERS_WRITE.test(name)) continue;
      expect([body, status, error]).toEqual([body, 400, 'invalid_request']);
      if (body === bodies[2]) expect(reason).toContain('unknown_member');
    }
    expect(tables()).toBe(before);
    expect(sender.received).toEqual([]);
  });
});
