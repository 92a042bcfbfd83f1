import { createHmac, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import { type AgentClient, type CallOptions, createHttp, type Http } from '../../support/agent.js';
import { PROJECT_ROOT } from '../../../config/project-root.js';
import { serviceCertificate } from '../../support/service-certificates.js';
import { chat, gate, TEAMS_SECRET } from '../../support/running-reviews.js';
import { eventually, timePasses } from '../../support/waiting.js';

let bot: AgentClient;
beforeAll(async () => {
  bot = await gate.agent('support-bot');
});

const transfer = (amount: number): JsonObject => ({ from: 'operating', to: 'vendor', amount });
const park = async (amount = 1, options: CallOptions = {}) => {
  const parked = await bot.call('wire_transfer', transfer(amount), options);
  expect(parked.status).toBe(202);
  return parked;
};
const expiring = (options: CallOptions = {}) => bot.call('db_write', { target_env: 'production' }, options);
const view = async (correlationId: string) => (await bot.request('GET', `/pending/${correlationId}`)).body;
const settled = (correlationId: string, state: string) =>
  eventually(`the call is ${state}`, async () => {
    const seen = await view(correlationId);
    return (seen.execution as JsonObject | null)?.state === state ? seen : null;
  });
const vendorHolds = async () => (await gate.tools()).balances.vendor ?? 0;

describe('an approved call', () => {
  it('is executed once by Gate itself; the result is had by replay and by the view', async () => {
    const idempotencyId = randomUUID();
    const before = await vendorHolds();
    const parked = await park(25, { idempotencyId });
    const decided = await gate.operator.decide(parked.correlationId, 'approve', 'invoice 7 is real');
    expect(decided.status).toBe(200);
    expect(decided.body).toMatchObject({
      id: parked.body.pending_id,
      correlation_id: parked.correlationId,
      status: 'approved',
      decided_by: 'operator:dev',
      decision_reason: 'invoice 7 is real',
      credential_kind: 'console-bearer',
      tenant: 'acme',
    });

    const replay = await bot.call('wire_transfer', transfer(25), { idempotencyId });
    expect(replay.status).toBe(200);
    expect(replay.correlationId).toBe(parked.correlationId);
    const again = await bot.call('wire_transfer', transfer(25), { idempotencyId });
    expect(again.text).toBe(replay.text);
    expect(await vendorHolds()).toBe(before + 2_500);

    expect(await settled(parked.correlationId, 'completed')).toMatchObject({
      status: 'approved',
      decision: 'allow',
      decider_note: 'invoice 7 is real',
      decided_at: expect.any(String),
      execution: { state: 'completed', status_code: 200, result: replay.body },
    });
  });

  it('stands in the ledger in the order in which things happened, with who decided', async () => {
    const parked = await park();
    await gate.operator.decide(parked.correlationId, 'approve', 'fine');
    const rows = await gate.rows(parked.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(rows.map((row) => row.event_kind)).toEqual([
      'proxy.verdict',
      'brain.inspection',
      'policy.evaluated',
      'hil.created',
      'hil.approved',
      'upstream.outcome',
    ]);
    expect(rows[0]).toMatchObject({ authorized: false, policy_decision: { tier: 'yellow', outcome: 'park' } });
    expect(rows[4]).toMatchObject({
      authorized: true,
      reasoning: 'fine',
      policy_decision: { status: 'approved', decided_by: 'operator:dev', credential_kind: 'console-bearer' },
    });
    expect(rows[5]).toMatchObject({ policy_decision: { stage: 'completed', status_code: 200 } });
    expect(await gate.verify()).toMatchObject({ valid: true });
  });

  it('runs once, however many replays wait for it', async () => {
    const idempotencyId = randomUUID();
    const before = await vendorHolds();
    const parked = await park(3, { idempotencyId });
    const decision = gate.operator.decide(parked.correlationId, 'approve');
    const replays = await Promise.all(
      Array.from({ length: 8 }, () => bot.call('wire_transfer', transfer(3), { idempotencyId })),
    );
    await decision;
    // Each is either still the handle or the result, never anything else.
    for (const { status } of replays) expect([200, 202]).toContain(status);
    await settled(parked.correlationId, 'completed');
    expect(await vendorHolds()).toBe(before + 300);
  });

  it('of a decision contract becomes a signed authorization, and no tool is touched', async () => {
    const options = { idempotencyId: randomUUID(), contract: 'decision' } as const;
    const before = await vendorHolds();
    const parked = await park(9, options);
    expect((await bot.request('GET', `/authorizations/${parked.correlationId}`)).status).toBe(404);
    await gate.operator.decide(parked.correlationId, 'approve');
    const replay = await bot.call('wire_transfer', transfer(9), options);
    expect(replay.status).toBe(200);
    expect(replay.body).toEqual({
      contract: 'gate.decision/v1',
      decision: 'allow',
      correlation_id: parked.correlationId,
      executable: false,
    });
    const authorization = await bot.request('GET', `/authorizations/${parked.correlationId}`);
    expect(authorization.status).toBe(200);
    expect(authorization.body).toMatchObject({
      authorization: { contract: 'gate.execution/v1', decision_principal: { subject: 'operator:dev', tenant: 'acme' } },
      identity_signature: { algorithm: 'Ed25519' },
    });
    const other = await gate.agent('build-bot');
    expect((await other.request('GET', `/authorizations/${parked.correlationId}`)).status).toBe(404);
    expect(await vendorHolds()).toBe(before);
    expect(await gate.kinds(parked.correlationId, 'hil.approved')).not.toContain('upstream.outcome');
    expect(await view(parked.correlationId)).toMatchObject({ status: 'approved', execution: null });
  });
});

describe('a denied call', () => {
  it('is a 403 to every replay, and nothing runs', async () => {
    const idempotencyId = randomUUID();
    const before = await vendorHolds();
    const parked = await park(4, { idempotencyId });
    expect((await gate.operator.decide(parked.correlationId, 'deny', 'no such invoice')).body).toMatchObject({
      status: 'denied',
      decided_by: 'operator:dev',
    });
    const replay = await bot.call('wire_transfer', transfer(4), { idempotencyId });
    expect(replay.status).toBe(403);
    expect(replay.body).toMatchObject({
      error: 'review_denied',
      verdict: 'review_denied',
      layer: 'hil',
      reasons: ['no such invoice'],
      reasoning: 'no such invoice',
      correlation_id: parked.correlationId,
    });
    expect(await gate.kinds(parked.correlationId, 'hil.denied')).toEqual([
      'proxy.verdict',
      'brain.inspection',
      'policy.evaluated',
      'hil.created',
      'hil.denied',
    ]);
    expect(await view(parked.correlationId)).toMatchObject({
      status: 'denied',
      decision: 'deny',
      decider_note: 'no such invoice',
      execution: { state: 'denied', result: null },
    });
    expect(await vendorHolds()).toBe(before);
  });
});

describe('the first accepted decision wins', () => {
  it('the same one again, under the same X-Request-Id, has its own answer', async () => {
    const parked = await park();
    const { id } = await gate.operator.rowOf(parked.correlationId);
    const approve = (requestId: string) =>
      gate.operator.request('POST', `/decide/${id}`, { decision: 'approve' }, { 'x-request-id': requestId });
    const first = await approve('click-1');
    expect(first.status).toBe(200);
    const told = async () => {
      const again = await approve('click-1');
      return { status: again.status, decided_at: (JSON.parse(again.text) as JsonObject)['decided_at'] };
    };
    const own = { status: 200, decided_at: (JSON.parse(first.text) as JsonObject)['decided_at'] };
    expect(await Promise.all([told(), told()])).toEqual([own, own]);
    await gate.rows(parked.correlationId, (seen) => seen.includes('upstream.outcome'));
    expect(await told()).toEqual(own);
    expect((await approve('click-2')).status).toBe(409);
  });

  it('a later one is 409 and changes nothing', async () => {
    const parked = await park();
    await gate.operator.decide(parked.correlationId, 'deny', 'first');
    for (const decision of ['approve', 'deny'] as const) {
      const late = await gate.operator.decide(parked.correlationId, decision, 'second');
      expect(late.status).toBe(409);
      expect(late.body).toMatchObject({ error: 'already_decided', status: 'denied', decided_by: 'operator:dev' });
    }
    expect(await gate.operator.rowOf(parked.correlationId)).toMatchObject({
      status: 'denied',
      decision_reason: 'first',
    });
    expect((await gate.rows(parked.correlationId)).map((row) => row.event_kind)).not.toContain('hil.approved');
  });

  it('of many at once exactly one is accepted', async () => {
    const parked = await park(6);
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        gate.operator.decide(parked.correlationId, index % 2 === 0 ? 'approve' : 'deny', `voice ${index}`),
      ),
    );
    const accepted = replies.filter(({ status }) => status === 200);
    expect(accepted).toHaveLength(1);
    for (const reply of replies) if (reply !== accepted[0]) expect(reply.status).toBe(409);
    const row = await gate.operator.rowOf(parked.correlationId);
    expect(row.decision_reason).toBe(accepted[0]?.body.decision_reason);
    const kinds = await gate.kinds(parked.correlationId, `hil.${row.status}`);
    expect(kinds.filter((kind) => kind === 'hil.approved' || kind === 'hil.denied')).toHaveLength(1);
  });
});

describe('a call nobody decides', () => {
  it('expires: 403 review_expired to every replay, a row, and no effect', async () => {
    const idempotencyId = randomUUID();
    const parked = await expiring({ idempotencyId });
    expect(parked.body).toMatchObject({ status: 'pending', ttl_secs: 2 });
    const row = await gate.operator.rowOf(parked.correlationId);
    expect(await gate.kinds(parked.correlationId, 'hil.expired')).toEqual([
      'proxy.verdict',
      'brain.inspection',
      'policy.evaluated',
      'hil.created',
      'hil.escalated',
      'hil.expired',
    ]);
    const replay = await expiring({ idempotencyId });
    expect(replay.status).toBe(403);
    expect(replay.body).toMatchObject({ error: 'review_expired', verdict: 'review_expired', layer: 'hil' });
    expect(await view(parked.correlationId)).toMatchObject({ status: 'expired', decision: null });
    expect(
      await eventually('the row is closed', async () => {
        const found = await gate.operator.rowOf(parked.correlationId);
        return found.status === 'pending' ? null : found;
      }),
    ).toMatchObject({ id: row.id, status: 'expired', decided_by: 'system:ttl-sweep' });
  });

  it('cannot be decided any more: 409', async () => {
    const parked = await expiring();
    await gate.kinds(parked.correlationId, 'hil.expired');
    for (const decision of ['approve', 'deny'] as const) {
      const late = await gate.operator.decide(parked.correlationId, decision);
      expect(late.status).toBe(409);
      expect(late.body.error).toBe('pending_expired');
    }
    expect((await gate.tools()).counts.db_write).toBeUndefined();
  });

  it('is expired to its caller from the deadline on, not from when somebody noticed', async () => {
    const idempotencyId = randomUUID();
    const parked = await expiring({ idempotencyId });
    const { expires_at } = await view(parked.correlationId);
    await timePasses(Date.parse(expires_at as string) - Date.now() + 5, 'the deadline passes');
    expect((await expiring({ idempotencyId })).status).toBe(403);
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(409);
  });
});

describe('who decides', () => {
  it('is derived from the credential, never taken from the body', async () => {
    const parked = await park();
    const { id } = await gate.operator.rowOf(parked.correlationId);
    const decided = await gate.operator.request('POST', `/decide/${id}`, {
      decision: 'deny',
      decided_by: 'mallory',
      tenant: 'rival',
      approver_assertion: { subject: 'mallory' },
    });
    expect(decided.status).toBe(200);
    expect(decided.body).toMatchObject({ decided_by: 'operator:dev', tenant: 'acme' });
    const rows = await gate.rows(parked.correlationId, (kinds) => kinds.includes('hil.denied'));
    expect(JSON.stringify(rows)).not.toContain('mallory');
  });

  it('is refused with a legacy identity header, a wrong token, or none', async () => {
    const parked = await park();
    const { id } = await gate.operator.rowOf(parked.correlationId);
    const decide = (headers: Record<string, string>) =>
      gate.operator.request('POST', `/decide/${id}`, { decision: 'approve' }, headers);
    expect([(await decide({ 'x-gate-decided-by': 'mallory' })).status]).toEqual([400]);
    expect((await decide({ authorization: `Bearer ${'x'.repeat(40)}` })).status).toBe(401);
    expect((await decide({ authorization: '' })).status).toBe(401);
    expect((await gate.operator.rowOf(parked.correlationId)).status).toBe('pending');
  });

  it('is no agent, not the proxy, and nobody without a certificate, whatever token they have', async () => {
    const parked = await park();
    const { id } = await gate.operator.rowOf(parked.correlationId);
    const { hil, proxy, operator_token } = gate.development;
    const asProxy = await serviceCertificate(gate.stateDir, 'proxy');
    const ca = readFileSync(proxy.ca, 'utf8');
    const as = ({ cert, key }: { cert: string; key: string }) =>
      createHttp(hil.url, { ca, cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') });
    for (const client of [as(proxy), as({ cert: asProxy.certFile, key: asProxy.keyFile })]) {
      const reply = await client.request('POST', `/decide/${id}`, {
        headers: { authorization: `Bearer ${operator_token}` },
        body: { decision: 'approve' },
      });
      expect([reply.status, reply.body.error]).toEqual([403, 'capability_denied']);
      await client.close();
    }
    const nobody = createHttp(hil.url, { ca });
    await expect(nobody.request('GET', '/pending')).rejects.toThrow();
    await nobody.close();
    expect((await gate.operator.rowOf(parked.correlationId)).status).toBe('pending');
  });
});

describe('what is no decision', () => {
  it.each<[string, JsonObject, number, string]>([
    ['an unknown decision', { decision: 'maybe' }, 400, 'invalid_request'],
    ['no decision', {}, 400, 'invalid_request'],
    ['a field nobody knows', { decision: 'approve', force: true }, 400, 'invalid_request'],
    ['modify without a diff', { decision: 'modify' }, 400, 'modification_diff_required'],
    ['a whole new payload', { decision: 'modify', modified_payload: { amount: 1 } }, 422, 'modified_payload_rejected'],
  ])('%s', async (_what, body, status, error) => {
    const parked = await park();
    const { id } = await gate.operator.rowOf(parked.correlationId);
    const reply = await gate.operator.request('POST', `/decide/${id}`, body);
    expect([reply.status, reply.body.error]).toEqual([status, error]);
    expect((await gate.operator.rowOf(parked.correlationId)).status).toBe('pending');
  });

  it('about a row nobody knows: 404', async () => {
    const reply = await gate.operator.request('POST', `/decide/${randomUUID()}`, { decision: 'approve' });
    expect([reply.status, reply.body.error]).toEqual([404, 'not_found']);
  });
});

describe('what waits for a person', () => {
  it('is listed with what the approver must see, and found by row and by call', async () => {
    const parked = await park(12);
    const listed = (await gate.operator.pending()).find((row) => row.correlation_id === parked.correlationId);
    expect(listed).toMatchObject({
      id: parked.body.pending_id,
      agent_id: 'support-bot',
      method: 'tools/call',
      status: 'pending',
      state_namespace: 'demo',
      ttl_seconds: 600,
      // The list names the arguments; what they say is in the row.
      request_payload: { params: { name: 'wire_transfer', arguments: { keys: ['from', 'to', 'amount'] } } },
      // Beside the rules' words, which definition of the tool is reviewed, and what the tool says there.
      review_reasons: [
        ...(parked.body.review_reasons as string[]),
        expect.stringMatching(/^definition of the tool /),
        expect.stringMatching(/^the tool says of itself: "/),
      ],
    });
    for (const path of [`/pending/${listed?.id}`, `/pending/by-correlation/${parked.correlationId}`])
      expect((await gate.operator.request('GET', path)).body).toMatchObject({
        id: listed?.id,
        request_payload: { params: { name: 'wire_transfer', arguments: transfer(12) } },
      });
    await gate.operator.decide(parked.correlationId, 'deny');
    expect((await gate.operator.pending()).map((row) => row.correlation_id)).not.toContain(parked.correlationId);
    expect((await gate.operator.pending('denied')).map((row) => row.correlation_id)).toContain(parked.correlationId);
  });
});

describe('a review that no call asked for', () => {
  let simulator: Http;
  beforeAll(() => {
    const pem = (end: string) => readFileSync(join(gate.stateDir, 'pki', 'services', `simulator.${end}`), 'utf8');
    const ca = readFileSync(gate.development.proxy.ca, 'utf8');
    simulator = createHttp(gate.development.hil.url, { ca, cert: pem('crt'), key: pem('key') });
  });
  afterAll(() => simulator.close());
  const body = (over: JsonObject = {}): JsonObject => ({
    agent_id: 'rehearsal-bot',
    correlation_id: randomUUID(),
    method: 'tools/call',
    request_payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: { amount: 5 } } },
    risk_summary: 'a rehearsal',
    state_namespace: 'operator',
    ttl_seconds: 600,
    ...over,
  });
  const ask = (asked: JsonObject) => simulator.request('POST', '/pending', { body: asked });

  it("waits for a person like a call, is decided once, and is in the ledger as the simulator's", async () => {
    const asked = body();
    const id = asked.correlation_id as string;
    const first = await ask(asked);
    expect([first.status, first.body]).toEqual([201, expect.objectContaining({ status: 'pending', tenant: 'acme' })]);
    expect((await ask(asked)).status).toBe(200);
    expect((await gate.operator.pending()).map((row) => row.correlation_id)).toContain(id);
    const effects = (await gate.tools()).effects.length;
    expect((await gate.operator.decide(id, 'approve', 'rehearsed')).status).toBe(200);
    expect((await gate.operator.decide(id, 'deny')).status).toBe(409);
    const rows = await gate.rows(id, (kinds) => kinds.includes('hil.approved'));
    expect(rows.map(({ event_kind, source }) => [event_kind, source])).toEqual([
      ['hil.created', 'simulator'],
      ['hil.approved', 'simulator'],
    ]);
    expect((await gate.tools()).effects).toHaveLength(effects);
    expect((await gate.verify()).valid).toBe(true);
    expect((await ask(asked)).body).toMatchObject({ status: 'approved' });
  });

  it('is opened by what the how-to page sends, and marked as a rehearsal in row and list', async () => {
    const page = readFileSync(join(PROJECT_ROOT, 'docs/how-to/rehearse-a-review.md'), 'utf8');
    const [, sent = ''] = /<<'END'\n(.*?)\n {8}END\n/s.exec(page) ?? [];
    const asked = JSON.parse(sent) as JsonObject;
    const opened = await ask(asked);
    expect([opened.status, opened.body.rehearsal]).toEqual([201, true]);
    // Each id of a call in the page is that of the request.
    const ids = page.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
    expect([...new Set(ids)]).toEqual([asked.correlation_id]);
    const marked = async (path: string) => {
      const { items } = (await gate.operator.request('GET', path)).body as { items: JsonObject[] };
      return items.filter(({ rehearsal }) => rehearsal === true).map(({ correlation_id: id }) => id);
    };
    const parked = await park(13);
    expect(await marked('/pending/summaries?limit=200')).toContain(asked.correlation_id);
    expect(await marked('/pending/summaries?limit=200')).not.toContain(parked.correlationId);
    for (const id of [asked.correlation_id as string, parked.correlationId]) await gate.operator.decide(id, 'deny');
  });

  it('is not told to the agent in whose name it is', async () => {
    const asked = body({ agent_id: 'dev-agent' });
    expect((await ask(asked)).status).toBe(201);
    const agent = await gate.agent('dev-agent');
    const polled = await agent.request('GET', `/pending/${asked.correlation_id as string}`);
    expect([polled.status, polled.body.error]).toEqual([404, 'not_found']);
  });

  it("is not approved by who asked for it, nor with an operator's token", async () => {
    const { id } = (await ask(body())).body;
    const decided = await simulator.request('POST', `/decide/${id as string}`, {
      headers: { authorization: `Bearer ${gate.development.operator_token}` },
      body: { decision: 'approve' },
    });
    expect([decided.status, decided.body.error]).toEqual([403, 'own_request']);
  });

  it('has an id of its own: the id of a call is refused, and an agent cannot ask under its id', async () => {
    const parked = await park(3);
    const taken = await ask(body({ correlation_id: parked.correlationId }));
    expect([taken.status, taken.body.error]).toEqual([409, 'pending_conflict']);
    expect((await gate.operator.rowOf(parked.correlationId)).agent_id).toBe('support-bot');
    await gate.operator.decide(parked.correlationId, 'deny');
    const late = await ask(body({ correlation_id: parked.correlationId }));
    expect([late.status, late.body.error]).toEqual([409, 'pending_conflict']);
  });
});

// Last: what is cleaned up here is hidden from every reader.
describe('the demonstration', () => {
  it('is kept apart by its agents, read by its session, and hidden by its cleanup; nobody joins it by asking', async () => {
    const { ledger, console_workload, operator_token } = gate.development;
    const [cert, key] = [readFileSync(console_workload.cert, 'utf8'), readFileSync(console_workload.key, 'utf8')];
    const asked = createHttp(ledger.url, { ca: readFileSync(gate.development.proxy.ca, 'utf8'), cert, key });
    const session = randomUUID().slice(0, 8);
    const ask = async (method: string, path: string) =>
      asked.request(method, path, { headers: { authorization: `Bearer ${operator_token}` } });
    const namespaces = async (correlationId: string) => [
      ...new Set((await gate.rows(correlationId)).map((row) => row.state_namespace)),
    ];

    const shown = await park(3, { headers: { 'X-Gate-Demo-Prefix': session } });
    expect(shown.correlationId.slice(0, 8)).toBe(session);
    expect(await namespaces(shown.correlationId)).toEqual(['demo']);

    const other = await gate.agent('dev-agent');
    const real = await other.call(
      'get_balance',
      { account: 'operating' },
      { headers: { 'X-Gate-Demo-Prefix': session } },
    );
    expect(real.correlationId.slice(0, 8)).not.toBe(session);
    expect(await namespaces(real.correlationId)).toEqual(['operator']);

    const wrong = await bot.call(
      'get_balance',
      { account: 'operating' },
      { headers: { 'X-Gate-Demo-Prefix': 'DEADBEEF' } },
    );
    expect([wrong.status, wrong.body.error]).toEqual([400, 'invalid_mcp']);

    const read = JSON.parse((await ask('GET', `/audit/support-bot?demo_session_token=${session}`)).text) as {
      correlation_id: string;
    }[];
    expect(new Set(read.map((row) => row.correlation_id))).toEqual(new Set([shown.correlationId]));

    const { body } = await ask('POST', '/admin/namespaces/demo/cleanup');
    expect(body).toMatchObject({ namespace: 'demo', selected: expect.any(Number) });
    expect(Number(body.tombstoned)).toBeGreaterThan(3);
    expect(JSON.parse((await ask('GET', `/audit/correlation/${shown.correlationId}`)).text)).toEqual([]);
    expect(await namespaces(real.correlationId)).toEqual(['operator']);
    await asked.close();
  });
});

describe('a chat', () => {
  it('has a card of a call that waits; a signed click elsewhere runs the call, and the card says who decided', async () => {
    expect(
      (await gate.operator.request('POST', '/identities/upsert', { oidc_sub: 'dev', teams_user_id: 'T1' })).status,
    ).toBe(200);
    const parked = await park(11);
    const shows = (path: string, words: string) => () =>
      chat.received.find(
        (each) => each.path === path && each.body.includes(words) && each.body.includes(parked.correlationId),
      );
    await eventually('the card', shows('/chat.postMessage', 'A call waits for a decision'));
    const row = await gate.operator.rowOf(parked.correlationId);
    const click = { action: 'approve', pending_id: row.id, user: 'T1', timestamp: new Date().toISOString() };
    const signature = createHmac('sha256', TEAMS_SECRET).update(JSON.stringify(click)).digest('base64');
    const send = () => gate.operator.request('POST', '/webhook/teams', click, { authorization: `HMAC ${signature}` });
    expect((await send()).status).toBe(200);
    expect((await send()).body).toMatchObject({ error: 'chat_signature_invalid' });
    await settled(parked.correlationId, 'completed');
    await eventually('the changed card', shows('/chat.update', 'A call was approved'));
    const rows = await gate.rows(parked.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(rows.find(({ event_kind }) => event_kind === 'hil.approved')).toMatchObject({
      policy_decision: { decided_by: 'operator:dev', decided_via: 'teams-card', approver_provenance: 'teams-card' },
    });
    expect(chat.received.map(({ body }) => body).join()).not.toContain('vendor');
    await eventually('both deliveries', async () => {
      const { notifications } = (await gate.operator.rowOf(parked.correlationId)) as { notifications?: JsonObject[] };
      return notifications?.length === 2 && notifications.every(({ state }) => state === 'delivered');
    });
  });
});
