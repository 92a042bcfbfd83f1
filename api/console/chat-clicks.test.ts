import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { CONSOLE_HOST, type ConsoleFixture, openConsole } from '../../test/support/console-over-hil.js';
import { fixture as openedFor } from '../../test/support/fixture.js';
import { eventually } from '../../test/support/waiting.js';
import { OPERATOR } from '../../test/support/hil.js';
import { fieldsIn, formIn, wordsIn } from '../../test/support/html.js';

const SLACK = 'slack-signing-secret-0123456789';
const TEAMS = Buffer.from('teams-signing-secret-0123456789');

const told: Record<string, unknown>[] = [];
const answerSlack = (_url: string, message: object): Promise<void> =>
  Promise.resolve(void told.push(message as Record<string, unknown>));
beforeEach(() => void told.splice(0));

let fixture: ConsoleFixture;
openedFor(
  async () =>
    (fixture = await openConsole(undefined, {
      hilOptions: { chats: { slackSecret: SLACK, answerSlack, teamsSecret: TEAMS } },
    })),
  () => fixture.close(),
);

interface Sent {
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}
const send = async (path: string, payload: string | Buffer, { from = '192.0.2.7', headers = {} }: Sent) => {
  const given = Object.entries({ host: CONSOLE_HOST, ...headers }).filter(([, value]) => value !== undefined);
  const {
    statusCode,
    body,
    headers: answered,
  } = await fixture.service.app.inject({
    method: 'POST',
    url: path,
    remoteAddress: from,
    headers: Object.fromEntries(given) as Record<string, string>,
    payload,
  });
  return { status: statusCode, body: JSON.parse(body || '{}') as Record<string, unknown>, headers: answered };
};
/** As Slack sends it, signed over the bytes of the form. */
const slack = (id: string, { secret = SLACK, ...sent }: Sent & { readonly secret?: string } = {}) => {
  const click = {
    type: 'block_actions',
    user: { id: 'U1', name: 'Zoë & co' },
    response_url: 'https://hooks.slack.com/actions/T1/1/x',
    actions: [{ action_id: `approve:${id}` }],
  };
  const body = `payload=${encodeURIComponent(JSON.stringify(click)).replaceAll('%20', '+')}&x=%2B`;
  const timestamp = String(Math.floor(fixture.hil.now / 1_000));
  const signature = `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`;
  return send('/webhook/slack', body, {
    ...sent,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': signature,
      ...sent.headers,
    },
  });
};
const teams = (id: string) => {
  // Neither sorted nor tight: what is signed are the bytes.
  const at = new Date(fixture.hil.now).toISOString();
  const body = `{ "user": "T1",  "pending_id":"${id}", "action":"deny", "timestamp":"${at}" }`;
  const signature = `HMAC ${createHmac('sha256', TEAMS).update(body).digest('base64')}`;
  return send('/webhook/teams', body, { headers: { 'content-type': 'application/json', authorization: signature } });
};
const linked = () =>
  fixture.hil.ask('/identities/upsert', {
    method: 'POST',
    token: OPERATOR,
    body: { oidc_sub: 'dev', slack_user_id: 'U1', teams_user_id: 'T1' },
  });
const rowOf = ({ id }: { readonly id: string }) => fixture.hil.reviews.get(id);

describe('a click in a chat, sent to the console', () => {
  it('of Slack decides as the person whose account it is, and Slack is sent the card', async () => {
    await linked();
    const row = await fixture.hil.park(1);
    expect(await slack(row.id)).toMatchObject({ status: 200, body: {} });
    await eventually('Slack is told', () => told.length > 0);
    expect(told).toMatchObject([{ replace_original: true, text: 'Gate: A call was approved' }]);
    expect(await rowOf(row)).toMatchObject({
      status: 'approved',
      decided_by: 'operator:dev',
      decided_via: 'slack-card',
    });
  });

  it('of Teams does the same, and its answer replaces the card', async () => {
    await linked();
    const row = await fixture.hil.park(1);
    expect(await teams(row.id)).toMatchObject({
      status: 200,
      body: { type: 'AdaptiveCard' },
      headers: { 'card-update-in-body': 'true' },
    });
    expect(await rowOf(row)).toMatchObject({ status: 'denied', decided_via: 'teams-card' });
  });

  it('that the chat did not sign, or that came before, decides nothing', async () => {
    await linked();
    const row = await fixture.hil.park(1);
    const refused = { status: 401, body: { error: 'chat_signature_invalid' } };
    expect(await slack(row.id, { secret: 'x'.repeat(31) })).toMatchObject(refused);
    expect(await rowOf(row)).toMatchObject({ status: 'pending' });
    expect((await slack(row.id)).status).toBe(200);
    expect(await slack(row.id)).toMatchObject(refused);
  });

  it('is answered as the review service answers', async () => {
    const row = await fixture.hil.park(1);
    expect(await teams(row.id)).toMatchObject({ status: 404, body: { error: 'identity_not_linked' } });
    fixture.away.add('hil');
    expect(await slack(row.id)).toMatchObject({ status: 503, body: { error: 'console_neighbour_away' } });
  });

  it.each([
    ['/webhook/slack', { authorization: 'HMAC x' }],
    ['/webhook/teams', { 'x-slack-signature': 'v0=x' }],
  ])('without a signature is not passed on: %s', async (path, headers) => {
    expect(await send(path, 'payload={}', { headers: { 'content-type': 'text/plain', ...headers } })).toMatchObject({
      status: 401,
      body: { error: 'chat_signature_invalid' },
    });
    expect(fixture.reached).toEqual([]);
  });

  it('that is no UTF-8, or larger than any click, is not passed on', async () => {
    const headers = { 'content-type': 'text/plain', 'x-slack-signature': 'v0=x' };
    expect((await send('/webhook/slack', Buffer.from([0xff]), { headers })).status).toBe(401);
    expect((await send('/webhook/slack', 'x'.repeat(65_537), { headers })).status).toBe(413);
    expect(fixture.reached).toEqual([]);
  });

  it('gets nothing with it of who is signed in, and says nothing of who it is', async () => {
    const { cookie } = await fixture.browser();
    const row = await fixture.hil.park(1);
    const headers = {
      cookie: `gate_console_session=${cookie}`,
      'x-gate-tenant-scope': 'acme',
      'x-gate-operator': OPERATOR,
    };
    expect(await slack(row.id, { headers })).toMatchObject({ status: 200, body: {} });
    await eventually('Slack is told', () => told.length > 0);
    expect(told).toMatchObject([{ text: expect.stringContaining('identity_not_linked') }]);
    expect(await rowOf(row)).toMatchObject({ status: 'pending' });
  });

  it('is one of 120 within a minute that an address may send', async () => {
    const flood = { headers: { 'x-slack-signature': undefined } };
    for (let at = 0; at < 120; at += 1) expect((await slack('none', flood)).status).toBe(401);
    expect(await slack('none')).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
    expect((await slack('none', { from: '192.0.2.8' })).status).toBe(200);
  });
});

describe('the page You', () => {
  const codeOf = (): string => /The code: (\S+) /.exec(String(told.at(-1)?.['text']))?.[1] ?? '';

  it('takes the code of a click, shows whose account decides as the person, and unlinks it', async () => {
    const browser = await fixture.browser();
    const row = await fixture.hil.park(1);
    await slack(row.id);
    await eventually('Slack is told', () => told.length > 0);
    expect((await browser.get('/me')).text).toContain('No account of a chat decides as you.');
    const wrong = await browser.post('/me/link-chat', { code: `${codeOf()}x` });
    expect([wrong.status, wrong.text]).toEqual([403, expect.stringContaining('link_code_invalid')]);
    expect(await browser.post('/me/link-chat', { code: ` ${codeOf()} ` })).toMatchObject({ status: 303 });
    expect(wordsIn((await browser.get('/me')).text)).toMatch(/Slack U1.*Unlink/);
    told.splice(0);
    const again = await fixture.hil.park(2);
    await slack(again.id);
    await eventually('it is decided', async () => (await rowOf(again))?.status === 'approved');
    expect(await rowOf(again)).toMatchObject({ decided_by: 'operator:dev' });
    expect(await browser.post('/me/unlink-chat', { chat: 'slack' })).toMatchObject({ status: 303 });
    expect((await browser.get('/me')).text).toContain('No account of a chat decides as you.');
  });

  it('lets an administrator unlink the account of somebody else, by the typed name', async () => {
    const admin = await fixture.browser();
    await fixture.hil.reviews.chatLinks.upsert('acme', { oidc_sub: 'ada', slack_user_id: 'U2' });
    await fixture.hil.reviews.chatLinks.upsert('globex', { oidc_sub: 'glx', slack_user_id: 'U3' });
    expect((await admin.get('/me')).text).toContain('action="/me/unlink-chat-of"');
    const unlink = { name: ' operator:ada ', chat: 'slack' };
    const done = await admin.post('/me/unlink-chat-of', unlink);
    expect([done.status, wordsIn(done.text)]).toEqual([
      200,
      expect.stringContaining('No account of Slack decides as operator:ada any more.'),
    ]);
    expect(await fixture.hil.reviews.chatLinks.get('acme', 'ada')).toBeNull();
    const none = await admin.post('/me/unlink-chat-of', unlink);
    expect([none.status, none.text]).toEqual([404, expect.stringContaining('No account of Slack decides as')]);
    const kept = await admin.post('/me/unlink-chat-of', { name: 'ada', chat: 'teams' });
    expect(fieldsIn(formIn(kept.text, '/me/unlink-chat-of'))).toMatchObject({ name: 'ada', chat: 'teams' });
    // Somebody of another tenant is nobody here.
    expect((await admin.post('/me/unlink-chat-of', { name: 'glx', chat: 'slack' })).status).toBe(404);
    expect(await fixture.hil.reviews.chatLinks.get('globex', 'glx')).toMatchObject({ slack_user_id: 'U3' });
    const approver = await fixture.browser({ role: 'approver' });
    expect((await approver.get('/me')).text).not.toContain('/me/unlink-chat-of');
    expect((await approver.post('/me/unlink-chat-of', unlink)).status).toBe(403);
  });
});
