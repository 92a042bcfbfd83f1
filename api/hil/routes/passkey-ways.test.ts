import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PendingRequest, SignedDecision } from '../../../contracts/review.js';
import { PASSKEY_REQUIRED, type PasskeyRequired } from '../../../domain/review/passkey-required.js';
import { vouchingText } from '../../../domain/review/vouching.js';
import { softwareAuthenticator } from '../../../test/support/authenticator.js';
import { challengeIn, type HilFixture, openHil, OPERATOR, T0 } from '../../../test/support/hil.js';
import { eventually } from '../../../test/support/waiting.js';

const CONSOLE = { rpId: 'console.example', origin: 'https://console.example' };
const BEN = 'ben-token-0123456789abcdefghijklmnop';
const DECIDE = 'decide-token-0123456789abcdefghijklm';
const BOOTSTRAP = 'bootstrap-token-0123456789abcdefghij';
const SLACK = 'slack-signing-secret-0123456789';
const TEAMS = Buffer.from('teams-signing-secret-0123456789');

let hil: HilFixture;
let sent: SignedDecision[];
let session: string;
let rows: Readonly<Record<'standard' | 'strict', PendingRequest>>;
const told = new Map<string, string>();

/** `dev` and `ana` have a passkey; `ben` has a token alone, and `ada` is known by the console's word. */
beforeAll(async () => {
  sent = [];
  hil = await openHil('sqlite', {
    consoleUrl: CONSOLE.origin,
    decideToken: DECIDE,
    bootstrapToken: BOOTSTRAP,
    quorum: { strict: 1, risky: 1, destructive: 1 },
    operators: [
      { name: 'dev', tenant: 'acme', token: OPERATOR },
      { name: 'ben', tenant: 'acme', token: BEN },
    ],
    chats: {
      slackSecret: SLACK,
      teamsSecret: TEAMS,
      answerSlack: (url, message) => (told.set(url, JSON.stringify(message)), Promise.resolve()),
    },
    // The row goes on waiting, so that each way may try.
    sender: { decide: (decision) => (sent.push(decision), Promise.resolve({ outcome: 'voted', approvals: [] })) },
  });
  const post = async (url: string, body: object, { cookie = '', token }: { cookie?: string; token?: string } = {}) => {
    const answer = await hil.ask(url, { method: 'POST', body, headers: { cookie }, ...(token && { token }) });
    expect([url, answer.status]).toEqual([url, 200]);
    return answer;
  };
  const begun = await post('/auth/register/start', {}, { token: OPERATOR });
  const devs = softwareAuthenticator(CONSOLE).create(challengeIn(begun));
  await post('/auth/register/finish', devs, { cookie: begun.cookie, token: OPERATOR });
  const anas = softwareAuthenticator(CONSOLE);
  const found = await post('/auth/people/register/start', { name: 'ana', token: BOOTSTRAP });
  await post('/auth/people/register/finish', anas.create(challengeIn(found)), found);
  const login = await post('/auth/people/login/start', { name: 'ana' });
  session = (await post('/auth/login/finish', anas.get(challengeIn(login)), login)).cookie;
  for (const name of ['dev', 'ben'])
    await hil.reviews.chatLinks.upsert('acme', { oidc_sub: name, slack_user_id: name, teams_user_id: name });
  rows = { standard: await hil.park(1), strict: await hil.park(2, { approval_tier: 'strict' }) };
});
afterAll(() => hil.close());

type Made = 'approve' | 'modify' | 'deny';
/** Says the decision; the code of a refusal, `null` when it was sent to the call. */
type Way = (row: PendingRequest, decision: Made) => Promise<string | null>;

const bodyOf = (decision: Made, decided_via?: string) => ({
  decision,
  ...(decided_via && { decided_via }),
  ...(decision === 'modify' && {
    modification_diff: {
      contract: 'gate.hil.modification-diff/v1',
      replacements: [{ path: ['amount'], value: 7 }],
    },
  }),
});
const http =
  (asked: { token?: string; as?: string; tenant?: null; headers?: Record<string, string> }, via?: string): Way =>
  async ({ id }, decision) => {
    const { status, body } = await hil.ask(`/decide/${id}`, { method: 'POST', body: bodyOf(decision, via), ...asked });
    return status === 200 ? null : String(body['error']);
  };
const simulator = (token: string): Way => http({ as: 'simulator', tenant: null, token });
/** A link is verified, which decides nothing; whoever follows it then decides as himself. */
const link =
  (token: string): Way =>
  async (row, decision) => {
    const action = decision === 'deny' ? 'deny' : 'approve';
    const made = await hil.ask(`/pending/${row.id}/decision-link?action=${action}`, { token });
    const before = sent.length;
    const body = { token: made.body['token'] };
    expect(await hil.ask('/decision-link/verify', { method: 'POST', token, body })).toMatchObject({ status: 200 });
    expect(sent).toHaveLength(before);
    return http({ token }, 'decision-link')(row, decision);
  };
let clicks = 0;
const slack =
  (user: string): Way =>
  async ({ id }, decision) => {
    const response_url = `https://hooks.slack.com/actions/T1/${(clicks += 1)}/secret`;
    const actions = [{ action_id: `${decision}:${id}` }];
    const click = JSON.stringify({ type: 'block_actions', response_url, user: { id: user }, actions });
    const body = `payload=${encodeURIComponent(click)}`;
    const timestamp = String(Math.floor(hil.now / 1_000));
    const before = sent.length;
    const signature = createHmac('sha256', SLACK).update(`v0:${timestamp}:${body}`).digest('hex');
    await hil.ask('/webhook/slack', {
      method: 'POST',
      tenant: null,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': `v0=${signature}`,
      },
      body,
    });
    await eventually('Slack is told what came of the click', () => told.has(response_url));
    return sent.length > before ? null : (/\((\w+)\)/.exec(told.get(response_url) ?? '')?.[1] ?? 'unknown');
  };
const teams =
  (user: string): Way =>
  async ({ id }, decision) => {
    hil.now += 1;
    const timestamp = new Date(hil.now).toISOString();
    const body = JSON.stringify({ timestamp, action: decision, pending_id: id, user });
    const authorization = `HMAC ${createHmac('sha256', TEAMS).update(body).digest('base64')}`;
    const headers = { 'content-type': 'application/json', authorization };
    const answer = await hil.ask('/webhook/teams', { method: 'POST', tenant: null, headers, body });
    return answer.status === 200 ? null : String(answer.body['error']);
  };
const ada = vouchingText({
  subject: 'oidc:ada',
  tenant: 'acme',
  method: 'oidc',
  role: 'approver',
  since_ms: T0,
  until_ms: null,
});

/** Each way on which a decision comes to HIL without a signature. The console's own, several at once too, are the first. */
const WAYS: readonly (readonly [way: string, isHolder: boolean, Way, changes?: boolean])[] = [
  ["the console, with an operator's token", true, http({ token: OPERATOR })],
  ['the console, with the token of one without a passkey', false, http({ token: BEN })],
  ['the console, for whom it vouches', false, http({ token: DECIDE, headers: { 'x-gate-decision-principal': ada } })],
  ["the session of somebody's passkey", true, (...of) => http({ headers: { cookie: session } })(...of)],
  ["the simulator, with an operator's token", true, simulator(OPERATOR)],
  ['the simulator, with the token of one without a passkey', false, simulator(BEN)],
  ['a link', true, link(OPERATOR)],
  ['a link that somebody without a passkey follows', false, link(BEN)],
  ['Slack', true, slack('dev'), false],
  ['Slack, somebody without a passkey', false, slack('ben'), false],
  ['Teams', true, teams('dev'), false],
  ['Teams, somebody without a passkey', false, teams('ben'), false],
];

/** Whether an approval is refused without a signature. */
const ASKED: Readonly<Record<PasskeyRequired, Record<'holder' | 'other', readonly ('standard' | 'strict')[]>>> = {
  none: { holder: [], other: [] },
  registered: { holder: ['standard', 'strict'], other: [] },
  strict: { holder: ['strict'], other: ['strict'] },
  'strict-and-registered': { holder: ['standard', 'strict'], other: ['strict'] },
  all: { holder: ['standard', 'strict'], other: ['standard', 'strict'] },
};

describe.each(PASSKEY_REQUIRED)('where %s is set, the signature of a passkey', (passkeyRequired) => {
  beforeAll(() => hil.serve({ passkeyRequired }));

  it.each(WAYS)('is asked for by this way as by every other: %s', async (_way, isHolder, way, changes = true) => {
    const asked = ASKED[passkeyRequired][isHolder ? 'holder' : 'other'];
    for (const tier of ['standard', 'strict'] as const)
      for (const decision of changes ? (['approve', 'modify', 'deny'] as const) : (['approve', 'deny'] as const)) {
        const before = sent.length;
        const isAsked = decision !== 'deny' && asked.includes(tier);
        const came = await way(rows[tier], decision);
        expect([tier, decision, came]).toEqual([tier, decision, isAsked ? 'passkey_required' : null]);
        expect(sent.length - before).toBe(isAsked ? 0 : 1);
      }
  });
});
