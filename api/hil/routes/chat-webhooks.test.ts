import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PendingRequest, SettledReview, SignedDecision } from '../../../contracts/review.js';
import type { DecisionOutcome, DecisionSender } from '../../../domain/review/ports.js';
import { GateError } from '../../../domain/errors.js';
import { type HilAsk, type HilFixture, openHil, OPERATOR, OTHER_OPERATOR, T0 } from '../../../test/support/hil.js';
import { STORES } from '../../../test/support/ledger.js';

const SLACK = 'slack-signing-secret-0123456789';
const TEAMS = Buffer.from('teams-signing-secret-0123456789');
const UNKNOWN = '00000000-0000-4000-8000-000000000099';
const ADA = 'ada-token-0123456789abcdefghijklmnop';

/** Judges as the call's workflow: the first decision stands, and a call that needs several collects their votes. */
function judge(): DecisionSender & { received: SignedDecision[]; needs: number; down: boolean } {
  const settled = new Map<string, SettledReview>();
  const votes = new Map<string, SignedDecision[]>();
  return {
    received: [],
    needs: 1,
    down: false,
    async decide(decision): Promise<DecisionOutcome> {
      if (this.down) throw new GateError('orchestrator_unavailable');
      this.received.push(decision);
      const first = settled.get(decision.pending_id);
      if (first) return { outcome: 'refused', code: 'already_decided', settled: first };
      const cast = votes.get(decision.pending_id) ?? [];
      if (!cast.some(({ principal }) => principal.subject === decision.principal.subject)) cast.push(decision);
      votes.set(decision.pending_id, cast);
      if (decision.decision === 'approve' && cast.length < this.needs)
        return {
          outcome: 'voted',
          approvals: cast.map(({ principal, decided_at }) => ({
            by: principal.subject,
            provenance: principal.method,
            at: decided_at,
          })),
        };
      const outcome: SettledReview = {
        pending_id: decision.pending_id,
        status: decision.decision === 'deny' ? 'denied' : 'approved',
        decided_at: decision.decided_at,
        decided_by: decision.principal.subject,
        decision_reason: decision.reason,
        decided_via: decision.decided_via,
        principal: decision.principal,
        request_id: decision.request_id,
      };
      settled.set(decision.pending_id, outcome);
      return { outcome: 'applied', settled: outcome };
    },
  };
}

let hil: HilFixture;
let sender: ReturnType<typeof judge>;
const open = async (kind: (typeof STORES)[number], over: Parameters<typeof openHil>[1] = {}) => {
  sender = judge();
  hil = await openHil(kind, {
    sender,
    chats: { slackSecret: SLACK, teamsSecret: TEAMS },
    operators: [
      { name: 'dev', tenant: 'acme', token: OPERATOR },
      { name: 'ada', tenant: 'acme', token: ADA },
      { name: 'glx', tenant: 'globex', token: OTHER_OPERATOR },
    ],
    ...over,
  });
};
afterEach(() => hil.close());

const link = (body: unknown, asked: HilAsk = {}) =>
  hil.ask('/identities/upsert', { method: 'POST', token: OPERATOR, body, ...asked });

interface Sent {
  readonly secret?: string;
  readonly at?: number;
  readonly headers?: Record<string, string>;
  readonly as?: string;
}
const form = (payload: unknown): string =>
  `payload=${encodeURIComponent(typeof payload === 'string' ? payload : JSON.stringify(payload))}`;
const block = (id: string, { action = 'approve', user = 'U1' } = {}) => ({
  type: 'block_actions',
  user: { id: user },
  actions: [{ action_id: `${action}:${id}` }],
});
let clicks = 0;
/** As Slack sends it; the time makes each click another one, as a person is not that fast. */
const slack = (payload: unknown, { secret = SLACK, at = hil.now, headers, as }: Sent = {}) => {
  const body = form(payload);
  const timestamp = String(Math.floor(at / 1_000));
  return hil.ask('/webhook/slack', {
    method: 'POST',
    tenant: null,
    ...(as !== undefined && { as }),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`,
      ...headers,
    },
    body,
  });
};
const click = (id: string, over: { action?: string; user?: string } = {}, sent: Sent = {}) =>
  slack({ ...block(id, over), trigger_id: String((clicks += 1)) }, sent);
const teams = (
  body: Record<string, unknown>,
  { secret = TEAMS as Uint8Array, headers = {} as Record<string, string> } = {},
) => {
  const text = JSON.stringify({ timestamp: new Date(hil.now).toISOString(), ...body });
  return hil.ask('/webhook/teams', {
    method: 'POST',
    tenant: null,
    headers: {
      'content-type': 'application/json',
      authorization: `HMAC ${createHmac('sha256', secret).update(text).digest('base64')}`,
      ...headers,
    },
    body: text,
  });
};
const rowOf = async ({ id }: PendingRequest) => (await hil.reviews.get(id)) as PendingRequest;

describe.each(STORES)('clicks in chats, on %s', (kind) => {
  beforeEach(() => open(kind), 60_000);

  it('a click in Slack decides as the person whose account it is, and answers with the card', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    const answer = await click(row.id);
    expect(answer).toMatchObject({ status: 200, body: { replace_original: true, text: 'Gate: A call was approved' } });
    expect(answer.text).not.toContain('"actions"');
    expect(await rowOf(row)).toMatchObject({
      status: 'approved',
      decided_by: 'operator:dev',
      decided_via: 'slack-card',
      approver_provenance: 'slack-card',
      credential_kind: 'console-bearer',
    });
    expect((await hil.ask('/identities/dev')).body['last_verified']).toBe(new Date(T0).toISOString());
  });

  it('a click in Teams does the same, with a card that replaces the old one', async () => {
    await link({ oidc_sub: 'dev', teams_user_id: '29:1abc' });
    const row = await hil.park(1);
    expect(await teams({ action: 'deny', pending_id: row.id, user: '29:1abc' })).toMatchObject({
      status: 200,
      body: { type: 'AdaptiveCard', fallbackText: 'Gate: A call was denied' },
    });
    expect(await rowOf(row)).toMatchObject({ status: 'denied', decided_by: 'operator:dev', decided_via: 'teams-card' });
  });

  it('the same click is accepted once, by whichever process', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    const payload = block(row.id, { action: 'deny' });
    const answers = await Promise.all(Array.from({ length: 8 }, () => slack(payload)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(7);
    await hil.serve({});
    expect(await slack(payload)).toMatchObject({ status: 401, body: { error: 'chat_signature_invalid' } });
    expect(sender.received).toHaveLength(1);
  });

  it('a click that came to nothing here may come again, as one decision', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    const payload = block(row.id);
    sender.down = true;
    expect(await slack(payload)).toMatchObject({ status: 503, body: { error: 'orchestrator_unavailable' } });
    sender.down = false;
    expect(await slack(payload)).toMatchObject({ status: 200 });
    expect((await rowOf(row)).status).toBe('approved');
  });

  it('a link that was put into the store, or edited there, is nobody’s', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    await hil.place.sql(`update chat_links set slack_user_id = 'U666'`);
    const row = await hil.park(1);
    expect(await click(row.id, { user: 'U666' })).toMatchObject({
      status: 404,
      body: { error: 'identity_not_linked' },
    });
    expect(await hil.ask('/identities/dev')).toMatchObject({ status: 404 });
    expect(sender.received).toEqual([]);
  });
});

describe('a click', () => {
  beforeEach(() => open('sqlite'));

  it('is one vote of its person, whom two channels do not make two people', async () => {
    sender.needs = 2;
    await link({ oidc_sub: 'dev', slack_user_id: 'U1', teams_user_id: 'T1' });
    await link({ oidc_sub: 'ada', slack_user_id: 'U2' }, { token: ADA });
    const row = await hil.park(1, { approval_tier: 'strict' });
    expect(await click(row.id)).toMatchObject({ status: 200 });
    expect(await teams({ action: 'approve', pending_id: row.id, user: 'T1' })).toMatchObject({ status: 200 });
    const once = await hil.ask(`/decide/${row.id}`, { method: 'POST', token: OPERATOR, body: { decision: 'approve' } });
    expect(once.status).toBe(200);
    expect(await rowOf(row)).toMatchObject({
      status: 'pending',
      approvals: [{ by: 'operator:dev', provenance: 'slack-card' }],
    });
    expect(await click(row.id, { user: 'U2' })).toMatchObject({
      status: 200,
      body: { text: 'Gate: A call was approved' },
    });
  });

  it('after another decision is 409 with who decided', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    await link({ oidc_sub: 'ada', slack_user_id: 'U2' }, { token: ADA });
    const row = await hil.park(1);
    await click(row.id, { action: 'deny' });
    expect(await click(row.id, { user: 'U2' })).toMatchObject({
      status: 409,
      body: { error: 'already_decided', decided_by: 'operator:dev', status: 'denied' },
    });
  });

  it.each([
    ['another secret', { secret: 'x'.repeat(20) }],
    ['no signature', { headers: { 'x-slack-signature': '' } }],
    ['another version', { headers: { 'x-slack-signature': `v1=${'0'.repeat(64)}` } }],
    ['a time that is none', { headers: { 'x-slack-request-timestamp': 'now' } }],
    ['another time than was signed', { headers: { 'x-slack-request-timestamp': String(T0 / 1_000 + 1) } }],
    ['a time five minutes and a second ago', { at: T0 - 301_000 }],
    ['a time five minutes and a second ahead', { at: T0 + 301_000 }],
  ] as [string, Sent][])('of Slack with %s is 401, and nothing is decided', async (_, sent) => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    expect(await click(row.id, {}, sent)).toMatchObject({ status: 401, body: { error: 'chat_signature_invalid' } });
    expect(sender.received).toEqual([]);
  });

  it('of Slack within five minutes either way is accepted', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    for (const [n, at] of [T0 - 300_000, T0 + 300_000].entries())
      expect((await click((await hil.park(n + 1)).id, {}, { at })).status).toBe(200);
  });

  it('that was accepted is remembered for as long as its time allows it', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    const payload = block(row.id);
    const at = T0 + 300_000;
    expect((await slack(payload, { at })).status).toBe(200);
    hil.now = T0 + 600_000;
    expect((await slack(payload, { at })).status).toBe(401);
    hil.now = T0 + 601_000;
    expect((await slack(payload, { at })).status).toBe(401);
    expect(sender.received).toHaveLength(1);
  });

  it.each([
    ['another secret', {}, { secret: Buffer.from('another') }],
    ['no authorization', {}, { headers: { authorization: '' } }],
    ['an operator’s token', {}, { headers: { authorization: `Bearer ${OPERATOR}` } }],
    ['an old time', { timestamp: new Date(T0 - 301_000).toISOString() }, {}],
  ])('of Teams with %s is 401, and nothing is decided', async (_, body, sent) => {
    await link({ oidc_sub: 'dev', teams_user_id: 'T1' });
    const row = await hil.park(1);
    const answer = await teams({ action: 'approve', pending_id: row.id, user: 'T1', ...body }, sent);
    expect(answer).toMatchObject({ status: 401, body: { error: 'chat_signature_invalid' } });
    expect(sender.received).toEqual([]);
  });

  it('of a chat whose secret is not set is 401', async () => {
    await hil.serve({ chats: {} });
    const row = await hil.park(1);
    expect((await click(row.id)).status).toBe(401);
    expect((await teams({ action: 'approve', pending_id: row.id, user: 'T1' })).status).toBe(401);
  });

  it('of an account that nobody linked is 404 and says what to do', async () => {
    const row = await hil.park(1);
    expect(await click(row.id)).toMatchObject({
      status: 404,
      body: { error: 'identity_not_linked', reason: expect.stringContaining('Link') },
    });
  });

  it('on an unknown row and on another tenant’s is the same 404', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const foreign = await hil.park(1, { tenant: 'globex' });
    const answers = [await click(UNKNOWN), await click(foreign.id)];
    for (const { status, body } of answers) expect([status, body['error']]).toEqual([404, 'not_found']);
    expect(sender.received).toEqual([]);
  });

  it('of somebody who may not decide any more is 403', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    await hil.serve({ operators: [{ name: 'ada', tenant: 'acme', token: ADA }] });
    expect(await click(row.id)).toMatchObject({ status: 403, body: { error: 'capability_denied' } });
  });

  it.each([
    ['a button that leads to the console', { ...block(UNKNOWN), actions: [{ action_id: 'console-open' }] }],
    ['modify', { ...block(UNKNOWN), actions: [{ action_id: `modify:${UNKNOWN}` }] }],
    ['something else than a click', { ...block(UNKNOWN), type: 'view_submission' }],
  ])('on %s does nothing: 200', async (_, payload) => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    expect(await slack(payload)).toMatchObject({ status: 200, body: {} });
    expect(sender.received).toEqual([]);
  });

  it.each([
    '',
    '{',
    '[]',
    '{"type":"block_actions","type":"x"}',
    JSON.stringify({ ...block(UNKNOWN), user: { id: '<x>' } }),
  ])('that is signed and cannot be read is 400: %s', async (payload) => {
    expect(await slack(payload)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });

  it('of a megabyte is 413, and only the console passes clicks on', async () => {
    expect((await slack('x'.repeat(100_000))).status).toBe(413);
    expect((await click(UNKNOWN, {}, { as: 'proxy' })).status).toBe(403);
  });

  it('no console can say that it was one', async () => {
    const row = await hil.park(1);
    for (const decided_via of ['slack-card', 'Teams-Card'])
      expect(
        await hil.ask(`/decide/${row.id}`, {
          method: 'POST',
          token: OPERATOR,
          body: { decision: 'approve', decided_via },
        }),
      ).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });
});

describe('the link of a person to accounts in chats', () => {
  beforeEach(() => open('sqlite'));

  it('is made, completed, read, and gone with its last account', async () => {
    const made = await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const linked_at = new Date(T0).toISOString();
    const expected = { oidc_sub: 'dev', slack_user_id: 'U1', teams_user_id: null, linked_at, last_verified: null };
    expect([made.status, made.body]).toEqual([200, expected]);
    await link({ oidc_sub: 'dev', teams_user_id: 'T1' });
    expect((await hil.ask('/identities/dev')).body).toEqual({ ...expected, teams_user_id: 'T1' });
    const cleared: unknown[] = [];
    for (const chat of ['slack', 'slack', 'teams', 'teams'])
      cleared.push((await hil.ask(`/identities/dev/${chat}`, { method: 'DELETE', token: OPERATOR })).body);
    const typed = { 'content-type': 'application/json' };
    for (const sized of [{}, { 'content-length': '0' }, { 'transfer-encoding': 'chunked' }])
      cleared.push(
        (await hil.ask('/identities/dev/slack', { method: 'DELETE', token: OPERATOR, headers: { ...typed, ...sized } }))
          .body,
      );
    expect(cleared.splice(4)).toEqual(Array.from({ length: 3 }, () => ({ cleared: false })));
    expect(cleared).toEqual([{ cleared: true }, { cleared: false }, { cleared: true }, { cleared: false }]);
    expect(await hil.ask('/identities/dev')).toMatchObject({ status: 404, body: { error: 'not_found' } });
  });

  it('is for one person of a tenant: an account that is linked is 409', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    expect(await link({ oidc_sub: 'ada', slack_user_id: 'U1' }, { token: ADA })).toMatchObject({
      status: 409,
      body: { error: 'channel_already_linked' },
    });
    expect(
      await link({ oidc_sub: 'glx', slack_user_id: 'U1' }, { token: OTHER_OPERATOR, tenant: 'globex' }),
    ).toMatchObject({
      status: 200,
    });
  });

  it('is made and cleared by that person alone', async () => {
    expect(await link({ oidc_sub: 'ada', slack_user_id: 'U1' })).toMatchObject({
      status: 403,
      body: { error: 'capability_denied' },
    });
    await link({ oidc_sub: 'ada', slack_user_id: 'U2' }, { token: ADA });
    expect(await hil.ask('/identities/ada/slack', { method: 'DELETE', token: OPERATOR })).toMatchObject({
      status: 403,
    });
    expect(await link({ oidc_sub: 'dev', slack_user_id: 'U1' }, { tenant: 'globex' })).toMatchObject({ status: 401 });
    expect(await hil.ask('/identities/ada', { tenant: 'globex' })).toMatchObject({ status: 404 });
  });

  it.each([
    ['no account', { oidc_sub: 'dev' }, 400],
    ['an account that is no id', { oidc_sub: 'dev', slack_user_id: '<@U1>' }, 400],
    ['an unknown member', { oidc_sub: 'dev', slack_user_id: 'U1', tenant: 'globex' }, 400],
  ])('with %s is refused', async (_, body, status) => {
    expect((await link(body)).status).toBe(status);
  });

  it('needs an operator’s token, and the console', async () => {
    const body = { oidc_sub: 'dev', slack_user_id: 'U1' };
    expect((await hil.ask('/identities/upsert', { method: 'POST', body })).status).toBe(401);
    expect((await link(body, { as: 'simulator', tenant: null })).status).toBe(403);
  });
});
