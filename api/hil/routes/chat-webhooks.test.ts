import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { cardOf, chat } from '../../../contracts/chat-link.js';
import {
  decisionSurface,
  type PendingRequest,
  type SettledReview,
  type SignedDecision,
} from '../../../contracts/review.js';
import type { DecisionOutcome, DecisionSender } from '../../../domain/review/ports.js';
import { type Vouched, vouchingText } from '../../../domain/review/vouching.js';
import { createPasskeys } from '../../../domain/review/passkeys.js';
import { GateError } from '../../../domain/errors.js';
import { noticesOf } from '../../../domain/notification/notice.js';
import { slackCard } from '../../../domain/notification/slack-card.js';
import { teamsCard } from '../../../domain/notification/teams-card.js';
import { softwareAuthenticator } from '../../../test/support/authenticator.js';
import { type HilAsk, type HilFixture, openHil, OPERATOR, OTHER_OPERATOR, T0 } from '../../../test/support/hil.js';
import { eventually } from '../../../test/support/waiting.js';
import { STORES } from '../../../test/support/ledger.js';

const SLACK = 'slack-signing-secret-0123456789';
const TEAMS = Buffer.from('teams-signing-secret-0123456789');
const UNKNOWN = '00000000-0000-4000-8000-000000000099';
const CONSOLE = 'console-decide-token-0123456789abcdef';
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

/** What Slack was told of clicks, by the address that each named. */
const toldAt = new Map<string, Record<string, unknown>[]>();
const answerSlack = (url: string, message: object): Promise<void> => {
  toldAt.set(url, [...(toldAt.get(url) ?? []), message as Record<string, unknown>]);
  return Promise.resolve();
};

let hil: HilFixture;
let sender: ReturnType<typeof judge>;
const open = async (kind: (typeof STORES)[number], over: Parameters<typeof openHil>[1] = {}) => {
  sender = judge();
  hil = await openHil(kind, {
    sender,
    chats: { slackSecret: SLACK, answerSlack, teamsSecret: TEAMS },
    operators: [
      { name: 'dev', tenant: 'acme', token: OPERATOR },
      { name: 'ada', tenant: 'acme', token: ADA },
      { name: 'glx', tenant: 'globex', token: OTHER_OPERATOR },
    ],
    ...over,
  });
};
afterEach(async () => {
  await hil.close();
  toldAt.clear();
});

const link = (body: unknown, asked: HilAsk = {}) =>
  hil.ask('/identities/upsert', { method: 'POST', token: OPERATOR, body, ...asked });

interface Sent {
  readonly secret?: string;
  readonly at?: number;
  readonly headers?: Record<string, string>;
  readonly as?: string;
}
let clicks = 0;
const form = (payload: unknown): string =>
  `payload=${encodeURIComponent(typeof payload === 'string' ? payload : JSON.stringify(payload))}`;
const block = (id: string, { action = 'approve', user = 'U1' } = {}) => ({
  type: 'block_actions',
  response_url: `https://hooks.slack.com/actions/T1/${(clicks += 1)}/secret`,
  user: { id: user },
  actions: [{ action_id: `${action}:${id}` }],
});
/** As Slack sends it; the time makes each click another one, as a person is not that fast. */
const sentBySlack = (payload: unknown, { secret = SLACK, at = hil.now, headers, as }: Sent = {}) => {
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
/** The same, and once Slack has its answer what it is then told: a card, or the code of a refusal. */
const slack = async (payload: unknown, sent: Sent = {}) => {
  const answer = await sentBySlack(payload, sent);
  const url = (payload as { response_url?: string } | null)?.response_url ?? '';
  if (answer.status !== 200) return { ...answer, code: null };
  expect(answer.text).toBe('');
  await eventually('Slack is told what came of the click', () => toldAt.has(url));
  const body = toldAt.get(url)?.at(-1) ?? {};
  toldAt.delete(url);
  const code = /\((\w+)\)$/.exec(String(body['text']))?.[1] ?? null;
  return { status: 200, body, text: JSON.stringify(body), code };
};
const click = (id: string, over: { action?: string; user?: string } = {}, sent: Sent = {}) =>
  slack(block(id, over), sent);
const teams = (
  body: Record<string, unknown> | Buffer,
  { secret = TEAMS as Uint8Array, headers = {} as Record<string, string> } = {},
) => {
  const text = Buffer.isBuffer(body) ? body : JSON.stringify({ timestamp: new Date(hil.now).toISOString(), ...body });
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
const relyingParty = { id: 'console.example', origin: 'https://console.example' };
const passkeysOf = () =>
  createPasskeys({
    store: hil.reviews.passkeys,
    relyingParty,
    required: 'registered',
    sessionKey: Buffer.alloc(32, 7),
    mayApprove: () => true,
    clock: () => hil.now,
  });
/** Registers a passkey, as its owner's browser does. */
async function passkeyOf(who: { readonly subject: string; readonly tenant: string }, recovery?: string): Promise<void> {
  const passkeys = passkeysOf();
  const { ceremony, publicKey } = await passkeys.startRegistration(who, { recovery });
  const device = softwareAuthenticator({ rpId: relyingParty.id, origin: relyingParty.origin });
  await passkeys.finishRegistration(ceremony, who, device.create(publicKey.challenge));
}
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

  it('an account of somebody who was taken out decides nothing for whoever has the name next, whenever it was linked', async () => {
    const bob = { subject: 'webauthn:bob', tenant: 'acme' };
    const invited = async () => passkeyOf(bob, (await passkeysOf().invite(bob.subject, bob.tenant)).token);
    const { chatLinks } = hil.reviews;
    await invited();
    await passkeysOf().remove({ subject: 'webauthn:ana', tenant: 'acme' }, bob.subject);
    // His request was under way when he was taken out.
    await chatLinks.upsert('acme', { oidc_sub: bob.subject, slack_user_id: 'U9' });
    hil.now += 1_000;
    await invited();
    const row = await hil.park(1);
    expect((await click(row.id, { user: 'U9' })).code).toBe('capability_denied');
    expect((await rowOf(row)).status).toBe('pending');
    await chatLinks.upsert('acme', { oidc_sub: bob.subject, slack_user_id: 'U7' });
    await click(row.id, { user: 'U7', action: 'deny' });
    expect(await rowOf(row)).toMatchObject({ status: 'denied', decided_by: bob.subject });
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

  it('a click decides the call of its card, and no other one that waits in the same row', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1', teams_user_id: '29:1abc' });
    const row = await hil.park(1);
    const other = `sha256:${'0'.repeat(64)}`;
    expect(await click(`${row.id}:${other}`)).toMatchObject({ status: 200, code: 'action_digest_mismatch' });
    const refused = { status: 409, body: { error: 'action_digest_mismatch' } };
    const body = { action: 'approve', pending_id: row.id, user: '29:1abc' };
    expect(await teams({ ...body, action_digest: other })).toMatchObject(refused);
    expect(sender.received).toEqual([]);
    const [trigger] = noticesOf(row, []);
    const card = JSON.stringify(trigger && slackCard(trigger, {}, true));
    const [, button = ''] = /"action_id":"approve:([^"]+)"/.exec(card) ?? [];
    expect(button).toContain(row.original_payload_digest);
    expect(JSON.stringify(trigger && teamsCard(trigger, {}, true))).toContain(
      JSON.stringify({ action: 'approve', pending_id: row.id, action_digest: row.original_payload_digest }),
    );
    expect(await click(button)).toMatchObject({ status: 200, code: null });
    expect(await rowOf(row)).toMatchObject({ status: 'approved', decided_by: 'operator:dev' });
  });

  it('the same click is accepted once, by whichever process', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    const payload = block(row.id, { action: 'deny' });
    const answers = await Promise.all(Array.from({ length: 8 }, () => sentBySlack(payload)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(7);
    await eventually('Slack is told what came of it', () => toldAt.size === 1);
    await hil.serve({});
    expect(await sentBySlack(payload)).toMatchObject({ status: 401, body: { error: 'chat_signature_invalid' } });
    expect(sender.received).toHaveLength(1);
  });

  it('a click that came to nothing here may come again, as one decision', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    const payload = block(row.id);
    sender.down = true;
    expect(await slack(payload)).toMatchObject({ status: 200, code: 'orchestrator_unavailable' });
    sender.down = false;
    expect(await slack(payload)).toMatchObject({ status: 200 });
    expect((await rowOf(row)).status).toBe('approved');
  });

  it('a click whose decision is in doubt is not told that it decided nothing', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    const lost = [
      new GateError('orchestrator_unavailable'),
      new GateError('store_unavailable', 'cut off', { fields: { in_doubt: true } }),
      new Error('a fault of nobody knows where'),
    ];
    const decide = sender.decide.bind(sender);
    for (const fault of lost) {
      // The workflow took it, and its answer was lost.
      sender.decide = async (decision) => {
        await decide(decision);
        throw fault;
      };
      const { text } = await slack(block(row.id));
      expect(text).toContain('it is not known whether this click decided. Look at the call before you click again.');
      expect(text).not.toMatch(/decided nothing|X-Request-Id|nobody knows where/);
    }
    sender.decide = decide;
    const other = await hil.park(2);
    expect((await slack(block(other.id, { user: 'U2' }))).text).toContain('this click decided nothing. ');
  });

  it('a link that was put into the store, or edited there, is nobody’s', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    await hil.place.sql(`update chat_links set slack_user_id = 'U666'`);
    const row = await hil.park(1);
    expect(await click(row.id, { user: 'U666' })).toMatchObject({ code: 'identity_not_linked' });
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

  it('after another decision is told, to whoever clicked alone, with who decided', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    await link({ oidc_sub: 'ada', slack_user_id: 'U2' }, { token: ADA });
    const row = await hil.park(1);
    await click(row.id, { action: 'deny' });
    expect(await click(row.id, { user: 'U2' })).toMatchObject({
      code: 'already_decided',
      body: {
        response_type: 'ephemeral',
        replace_original: false,
        text: expect.stringContaining(`It is denied, by operator:dev at ${new Date(T0).toISOString()}.`),
      },
    });
  });

  it.each([
    ['another secret', { secret: 'x'.repeat(20) }],
    ['no signature', { headers: { 'x-slack-signature': '' } }],
    ['another version', { headers: { 'x-slack-signature': `v1=${'0'.repeat(64)}` } }],
    ['an invalid time', { headers: { 'x-slack-request-timestamp': 'now' } }],
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

  it('of an account that nobody linked decides nothing and is told what to do', async () => {
    const row = await hil.park(1);
    expect(await click(row.id)).toMatchObject({
      code: 'identity_not_linked',
      body: {
        response_type: 'ephemeral',
        text: expect.stringMatching(/at the console, page You .* The code: slack\.\S+ \(/),
      },
    });
    expect(await teams({ action: 'approve', pending_id: row.id, user: 'T1' })).toMatchObject({
      status: 404,
      body: { error: 'identity_not_linked', link_code: expect.stringMatching(/^teams\./) },
    });
  });

  it('on an unknown row and on another tenant’s is told the same', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const foreign = await hil.park(1, { tenant: 'globex' });
    const answers = [await click(UNKNOWN), await click(foreign.id)];
    for (const { code } of answers) expect(code).toBe('not_found');
    expect(sender.received).toEqual([]);
  });

  it('of somebody who may not decide any more decides nothing', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    await hil.serve({ operators: [{ name: 'ada', tenant: 'acme', token: ADA }] });
    expect(await click(row.id)).toMatchObject({ code: 'capability_denied' });
    expect(await rowOf(row)).toMatchObject({ status: 'pending' });
  });

  it('of somebody who has a passkey approves nothing where whoever has one signs, and no other way does; others go on', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    await hil.serve({ passkeyRequired: 'registered', consoleUrl: 'https://console.example' });
    const [one, other, third] = [await hil.park(1), await hil.park(2), await hil.park(3)];
    expect(await click(one.id)).toMatchObject({ status: 200 });
    await passkeyOf({ subject: 'operator:dev', tenant: 'acme' });
    const refused = { status: 403, body: { error: 'passkey_required' } };
    expect(await click(other.id)).toMatchObject({ code: 'passkey_required' });
    const decide = (id: string, token: string, body: object) =>
      hil.ask(`/decide/${id}`, { method: 'POST', token, body: { decision: 'approve', ...body } });
    expect(await decide(other.id, OPERATOR, {})).toMatchObject(refused);
    const modification_diff = {
      contract: 'gate.hil.modification-diff/v1',
      replacements: [{ path: ['amount'], value: 1 }],
    };
    expect(await decide(other.id, OPERATOR, { decision: 'modify', modification_diff })).toMatchObject(refused);
    const linked = await hil.ask(`/pending/${other.id}/decision-link?action=approve`, { token: OPERATOR });
    expect(linked.status).toBe(200);
    expect(await decide(other.id, OPERATOR, { decided_via: 'decision-link' })).toMatchObject(refused);
    // Who takes his passkeys out of the store behind Gate gets no approval by that.
    await hil.place.sql('delete from passkeys returning subject');
    expect(await click(other.id)).toMatchObject({ code: 'passkey_required' });
    expect(sender.received).toHaveLength(1);
    expect(await click(other.id, { action: 'deny' })).toMatchObject({ status: 200 });
    expect(await decide(third.id, ADA, {})).toMatchObject({ status: 200, body: { status: 'approved' } });
  });

  it.each([
    ['a button that leads to the console', { ...block(UNKNOWN), actions: [{ action_id: 'console-open' }] }],
    ['modify', { ...block(UNKNOWN), actions: [{ action_id: `modify:${UNKNOWN}` }] }],
    ['something else than a click', { ...block(UNKNOWN), type: 'view_submission' }],
  ])('on %s does nothing: 200', async (_, payload) => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    expect(await sentBySlack(payload)).toMatchObject({ status: 200, text: '' });
    expect(sender.received).toEqual([]);
  });

  it.each([
    '',
    '{',
    '[]',
    '{"type":"block_actions","type":"x"}',
    JSON.stringify({ ...block(UNKNOWN), user: { id: '<x>' } }),
  ])('that is signed and cannot be read is 400: %s', async (payload) => {
    const answer = await slack(payload);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    // In one line.
    expect(answer.text).toMatch(/the click cannot be read: [a-z]/);
    expect(answer.text).not.toContain('\\n');
  });

  it('in Teams that is signed and no UTF-8 is 400: nobody knows whose id it says', async () => {
    await link({ oidc_sub: 'dev', teams_user_id: 'T\u{fffd}' });
    const row = await hil.park(1);
    const timestamp = new Date(hil.now).toISOString();
    const text = JSON.stringify({ timestamp, action: 'approve', pending_id: row.id, user: 'T\u00e9' });
    expect(await teams(Buffer.from(text, 'latin1'))).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect((await rowOf(row)).status).toBe('pending');
  });

  it.each([
    ['none', undefined],
    ['another host', 'https://hooks.slack.com.evil.example/actions/x'],
    ['a name before the host', 'https://hooks.slack.com@evil.example/actions/x'],
    ['another port', 'https://hooks.slack.com:8443/actions/x'],
    ['no https', 'http://hooks.slack.com/actions/x'],
    ['an address inside', 'http://127.0.0.1:9/x'],
    ['no address', 'hooks.slack.com'],
  ])('decides, and is told nowhere where its address is not one of Slack: %s', async (_, response_url) => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    const row = await hil.park(1);
    expect((await sentBySlack({ ...block(row.id), response_url })).status).toBe(200);
    await eventually('it is decided', async () => (await rowOf(row)).status === 'approved');
    await hil.service.close();
    expect(toldAt.size).toBe(0);
  });

  it('is answered before it is decided, and a Slack that takes no answer undoes nothing', async () => {
    await link({ oidc_sub: 'dev', slack_user_id: 'U1' });
    let letGo = (): void => undefined;
    const held = new Promise<void>((done) => (letGo = done));
    const judged = sender.decide.bind(sender);
    sender.decide = async (decision) => (await held, judged(decision));
    await hil.serve({
      chats: { slackSecret: SLACK, answerSlack: () => Promise.reject(new Error('the receiver answered 500')) },
    });
    const row = await hil.park(1);
    expect(await sentBySlack(block(row.id))).toMatchObject({ status: 200, text: '' });
    expect((await rowOf(row)).status).toBe('pending');
    letGo();
    await eventually('it is decided', async () => (await rowOf(row)).status === 'approved');
  });

  it('of a megabyte is 413, and only the console passes clicks on', async () => {
    expect((await slack('x'.repeat(100_000))).status).toBe(413);
    expect((await click(UNKNOWN, {}, { as: 'proxy' })).status).toBe(403);
  });

  it('no console can say that it was one', async () => {
    const row = await hil.park(1);
    const cards = decisionSurface.options.filter((one) => one.endsWith('-card'));
    expect(cards).toEqual(chat.options.map(cardOf));
    for (const decided_via of [...cards, 'Teams-Card', ' slack card', 'SlackCard'])
      expect(
        await hil.ask(`/decide/${row.id}`, {
          method: 'POST',
          token: OPERATOR,
          body: { decision: 'approve', decided_via },
        }),
      ).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  });
});

describe('the code that a click of nobody’s account gives', () => {
  beforeEach(() => open('sqlite', { decideToken: CONSOLE }));
  const codeOf = async (row: PendingRequest, user: string): Promise<string> =>
    /The code: (\S+) /.exec(String((await click(row.id, { user })).body['text']))?.[1] ?? '';
  const ADA_BY_OIDC = { subject: 'oidc:ada/1', method: 'oidc', role: 'approver' } as const;
  const vouched = (url: string, over: Partial<Vouched>, asked: HilAsk = {}) =>
    hil.ask(url, {
      ...asked,
      token: CONSOLE,
      headers: {
        'x-gate-decision-principal': vouchingText({
          ...ADA_BY_OIDC,
          tenant: 'acme',
          since_ms: T0,
          until_ms: null,
          ...over,
        }),
      },
    });
  const linked = (code: string, over: Partial<Vouched> = {}, oidc_sub: string = ADA_BY_OIDC.subject) =>
    vouched('/identities/upsert', over, { method: 'POST', body: { oidc_sub, link_code: code } });

  it('links that account to whoever enters it, however he signs in, and its clicks decide as he does', async () => {
    const row = await hil.park(1);
    expect(await linked(await codeOf(row, 'U9'))).toMatchObject({
      status: 200,
      body: { oidc_sub: 'oidc:ada/1', slack_user_id: 'U9', teams_user_id: null },
    });
    expect(await vouched('/identities/oidc%3Aada%2F1', {})).toMatchObject({ status: 200 });
    expect(await click(row.id, { user: 'U9' })).toMatchObject({ body: { text: 'Gate: A call was approved' } });
    expect(await rowOf(row)).toMatchObject({ decided_by: 'oidc:ada/1', decided_via: 'slack-card' });
    const cleared = await vouched('/identities/oidc%3Aada%2F1/slack', {}, { method: 'DELETE' });
    expect(cleared.body).toEqual({ cleared: true });
    expect(await click((await hil.park(2)).id, { user: 'U9' })).toMatchObject({ code: 'identity_not_linked' });
  });

  it('is one person’s who may decide now: not after the console’s word is over', async () => {
    const row = await hil.park(1);
    await linked(await codeOf(row, 'U9'));
    hil.now = T0 + 3_600_001;
    expect(await click(row.id, { user: 'U9' })).toMatchObject({ code: 'capability_denied' });
    expect(sender.received).toEqual([]);
  });

  it('works once, and ten minutes', async () => {
    const row = await hil.park(1);
    const used = await codeOf(row, 'U9');
    expect((await linked(used)).status).toBe(200);
    const refused = { status: 403, body: { error: 'link_code_invalid' } };
    expect(await linked(used)).toMatchObject(refused);
    const old = await codeOf(row, 'U10');
    hil.now = T0 + 599_000;
    expect(await linked(used)).toMatchObject(refused);
    hil.now = T0 + 600_000;
    expect(await linked(old)).toMatchObject(refused);
    // Nor does one hold for longer that was given while the clock was ahead.
    hil.now = T0 - 1_000;
    expect(await linked(old)).toMatchObject(refused);
  });

  it('works again where the link failed here, and not where it was refused', async () => {
    const code = await codeOf(await hil.park(1), 'U9');
    await hil.place.sql('alter table chat_links rename to chat_links_away');
    expect(await linked(code)).toMatchObject({ status: 503 });
    await hil.place.sql('alter table chat_links_away rename to chat_links');
    expect((await linked(code)).status).toBe(200);
    // What failed is told, also where the store takes nothing back.
    const lost = await codeOf(await hil.park(3), 'U11');
    for (const table of ['chat_links', 'chat_clicks'])
      await hil.place.sql(`alter table ${table} rename to ${table}_away`);
    expect(await linked(lost)).toMatchObject({ status: 503, body: { error: 'store_unavailable' } });
    for (const table of ['chat_links', 'chat_clicks'])
      await hil.place.sql(`alter table ${table}_away rename to ${table}`);
    const taken = await codeOf(await hil.park(2), 'U10');
    await hil.reviews.chatLinks.upsert('acme', { oidc_sub: 'oidc:bob', slack_user_id: 'U10' });
    expect((await linked(taken)).status).toBe(409);
    expect(await linked(taken)).toMatchObject({ status: 403, body: { error: 'link_code_invalid' } });
  });

  it('is Gate’s alone: of another account, time or chat it is none', async () => {
    const code = await codeOf(await hil.park(1), 'U9');
    const [chat, , until, mac] = code.split('.');
    for (const other of [
      `${chat}.${Buffer.from('U1').toString('base64url')}.${until}.${mac}`,
      code.replace('slack.', 'teams.'),
      code.replace(`.${until}.`, `.${Number(until) + 1}.`),
      `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`,
      'U9',
    ])
      expect(await linked(other)).toMatchObject({ status: 403, body: { error: 'link_code_invalid' } });
    expect((await linked(code)).status).toBe(200);
  });

  it('is entered by a person for himself, who decides', async () => {
    const code = await codeOf(await hil.park(1), 'U9');
    expect((await linked(code, {}, 'dev')).status).toBe(403);
    expect((await linked(code, { role: 'viewer' })).status).toBe(401);
    const unproved = { method: 'POST', body: { oidc_sub: ADA_BY_OIDC.subject, slack_user_id: 'U9' } } as const;
    expect(await vouched('/identities/upsert', {}, unproved)).toMatchObject({
      status: 403,
      body: { error: 'capability_denied' },
    });
    expect((await linked(code)).status).toBe(200);
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

  it.each(['operator:ada', 'operator:operator:ada'])(
    'is one, under whichever name of the person it is asked for: %s',
    async (named) => {
      const at = `/identities/${encodeURIComponent(named)}`;
      await link({ oidc_sub: 'ada', slack_user_id: 'U2' }, { token: ADA });
      const both = { oidc_sub: 'ada', slack_user_id: 'U3', teams_user_id: 'T3' };
      expect(await link({ oidc_sub: named, slack_user_id: 'U3', teams_user_id: 'T3' }, { token: ADA })).toMatchObject({
        status: 200,
        body: both,
      });
      for (const path of ['/identities/ada', at]) expect((await hil.ask(path)).body).toMatchObject(both);
      expect((await hil.ask(`${at}/teams`, { method: 'DELETE', token: ADA })).body).toEqual({ cleared: true });
      expect((await hil.ask('/identities/ada')).body).toMatchObject({ teams_user_id: null });
      const removed = await hil.ask('/identities/removals', {
        method: 'POST',
        token: OPERATOR,
        body: { oidc_sub: named, chat: 'slack' },
      });
      expect(removed).toMatchObject({ status: 200, body: { oidc_sub: 'ada' } });
      for (const user of ['U2', 'U3'])
        expect(await click((await hil.park(1)).id, { user })).toMatchObject({ code: 'identity_not_linked' });
    },
  );

  it('under the second name that an earlier Gate took is nobody’s: it decides nothing, and keeps the account from nobody', async () => {
    const { chatLinks } = hil.reviews;
    await chatLinks.upsert('acme', { oidc_sub: 'operator:ada', slack_user_id: 'U666' });
    expect(await click((await hil.park(1)).id, { user: 'U666' })).toMatchObject({ code: 'identity_not_linked' });
    expect((await hil.ask('/identities/ada')).status).toBe(404);
    expect(await link({ oidc_sub: 'dev', slack_user_id: 'U666' })).toMatchObject({ status: 200 });
  });

  describe('that an administrator takes away', () => {
    const told: Record<string, unknown>[] = [];
    beforeEach(async () => {
      told.splice(0);
      const destination = { write: (line: string) => void told.push(JSON.parse(line) as Record<string, unknown>) };
      await hil.serve({ decideToken: CONSOLE, logger: pino({ level: 'info' }, destination) });
      await link({ oidc_sub: 'ada', slack_user_id: 'U2', teams_user_id: 'T2' }, { token: ADA });
    });
    const removal = { oidc_sub: 'ada', chat: 'slack' };
    const remove = (body: object = removal, asked: HilAsk = {}) =>
      hil.ask('/identities/removals', { method: 'POST', token: OPERATOR, body, ...asked });
    const as = (role: Vouched['role'], tenant = 'acme'): HilAsk => {
      const eve = { subject: 'oidc:eve', method: 'oidc', role, tenant, since_ms: T0, until_ms: null } as const;
      return { token: CONSOLE, tenant, headers: { 'x-gate-decision-principal': vouchingText(eve) } };
    };
    const removals = () => told.filter(({ event }) => event === 'chat_link_removed');

    it('decides nothing any more; the other account stays, and the log says who took it from whom', async () => {
      expect(await remove()).toMatchObject({
        status: 200,
        body: { oidc_sub: 'ada', chat: 'slack', removed_by: 'operator:dev' },
      });
      expect(await slack(block((await hil.park(1)).id, { user: 'U2' }))).toMatchObject({ code: 'identity_not_linked' });
      expect((await hil.ask('/identities/ada')).body).toMatchObject({ slack_user_id: null, teams_user_id: 'T2' });
      expect(removals()).toMatchObject([{ by: 'operator:dev', who: 'operator:ada', chat: 'slack', tenant: 'acme' }]);
    });

    it('is 404 where there is none, under whichever name the person decides', async () => {
      expect((await remove({ ...removal, oidc_sub: 'operator:ada' })).status).toBe(200);
      expect(await remove()).toMatchObject({ status: 404, body: { error: 'not_found' } });
      expect((await remove({ ...removal, oidc_sub: 'nobody' })).status).toBe(404);
      expect(removals()).toHaveLength(1);
    });

    it('is that of his own tenant: of another one there is none', async () => {
      expect((await remove(removal, { token: OTHER_OPERATOR, tenant: 'globex' })).status).toBe(404);
      expect((await remove(removal, as('admin', 'globex'))).status).toBe(404);
      expect((await remove(removal, { tenant: 'globex' })).status).toBe(401);
      expect((await hil.ask('/identities/ada')).body).toMatchObject({ slack_user_id: 'U2' });
    });

    it('is taken by an administrator alone', async () => {
      for (const [asked, status] of [
        [as('approver'), 403],
        [as('viewer'), 401],
        [{ as: 'simulator', tenant: null, token: OPERATOR }, 403],
        [{}, 401],
      ] satisfies [HilAsk, number][])
        expect((await hil.ask('/identities/removals', { method: 'POST', body: removal, ...asked })).status).toBe(
          status,
        );
      expect((await remove({ ...removal, chat: 'irc' })).status).toBe(400);
      expect((await hil.ask('/identities/ada')).body).toMatchObject({ slack_user_id: 'U2' });
      expect(await remove(removal, as('admin'))).toMatchObject({ status: 200, body: { removed_by: 'oidc:eve' } });
      expect(removals()).toMatchObject([{ by: 'oidc:eve' }]);
    });
  });

  it.each([
    ['no account', { oidc_sub: 'dev' }, 400],
    ['an account and a code', { oidc_sub: 'dev', slack_user_id: 'U1', link_code: 'slack.x' }, 400],
    ['an account that is no id', { oidc_sub: 'dev', slack_user_id: '<@U1>' }, 400],
    ['an unknown member', { oidc_sub: 'dev', slack_user_id: 'U1', tenant: 'globex' }, 400],
    ['the name of nobody', { oidc_sub: 'operator:', slack_user_id: 'U1' }, 400],
  ])('with %s is refused', async (_, body, status) => {
    expect((await link(body)).status).toBe(status);
  });

  it('needs an operator’s token, and the console', async () => {
    const body = { oidc_sub: 'dev', slack_user_id: 'U1' };
    expect((await hil.ask('/identities/upsert', { method: 'POST', body })).status).toBe(401);
    expect((await link(body, { as: 'simulator', tenant: null })).status).toBe(403);
  });
});
