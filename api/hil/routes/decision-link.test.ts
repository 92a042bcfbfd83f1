import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createDecisionLinks, type DecisionLink } from '../../../domain/review/decision-link.js';
import { type HilFixture, openHil, OPERATOR, T0 } from '../../../test/support/hil.js';

const SESSION_KEY = Buffer.alloc(32, 7);
const UNKNOWN = '00000000-0000-4000-8000-000000000099';

let hil: HilFixture;
beforeEach(async () => {
  hil = await openHil('sqlite', { consoleUrl: 'https://console.example/' });
});
afterEach(() => hil.close());

const linkTo = (id: string, query = 'action=approve', tenant = 'acme') =>
  hil.ask(`/pending/${id}/decision-link?${query}`, { tenant });
const verify = async (token: unknown, tenant = 'acme') =>
  (await hil.ask('/decision-link/verify', { method: 'POST', tenant, body: { token } })).body;
const tokenOf = (link: DecisionLink, key = SESSION_KEY) => createDecisionLinks(key).tokenOf(link);
const secondsFrom = (ms: number) => Math.floor(ms / 1000);

describe('a link to a decision', () => {
  it('is the row, the action and the time under a key that is derived from the session key', async () => {
    const { id } = await hil.park(1);
    const exp = secondsFrom(T0) + 3_600;
    const key = createHmac('sha256', SESSION_KEY).update('gate.hil.decision-link/v1').digest();
    const token = `${id}.deny.${exp}.${createHmac('sha256', key).update(`${id}.deny.${exp}`).digest('hex')}`;
    expect(await linkTo(id, 'action=deny')).toMatchObject({
      status: 200,
      body: {
        token,
        action: 'deny',
        pending_id: id,
        expires_at: new Date(exp * 1000).toISOString(),
        url: `https://console.example/decide/redeem?token=${token}`,
      },
    });
  });

  it.each([
    ['59', 60],
    ['60', 60],
    ['86401', 86_400],
    ['-1', 60],
  ])('that is asked for %s seconds holds for %i', async (asked, seconds) => {
    const { id } = await hil.park(1);
    const { body } = await linkTo(id, `action=approve&ttl_secs=${asked}`);
    expect(Date.parse(String(body['expires_at'])) - T0).toBe(seconds * 1_000);
  });

  it('has no address where no console is set', async () => {
    await hil.close();
    hil = await openHil('sqlite');
    const { id } = await hil.park(1);
    expect((await linkTo(id)).body).not.toHaveProperty('url');
  });

  it.each(['action=modify', 'action=APPROVE', '', 'action=approve&ttl_secs=x', 'action=approve&more=1'])(
    'is refused with 400 for ?%s',
    async (query) => {
      const { id } = await hil.park(1);
      expect(await linkTo(id, query)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    },
  );

  it('of an unknown row and of another tenant is the same 404', async () => {
    const { id } = await hil.park(1);
    const [unknown, foreign] = [await linkTo(UNKNOWN), await linkTo(id, 'action=approve', 'globex')];
    expect(unknown).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect({ ...foreign.body, correlation_id: '' }).toEqual({ ...unknown.body, correlation_id: '' });
  });

  it('of a settled row is 409', async () => {
    const row = await hil.park(1);
    await hil.settle(row);
    expect(await linkTo(row.id)).toMatchObject({ status: 409, body: { error: 'already_decided', status: 'approved' } });
  });

  it.each([
    ['another service', { as: 'proxy' }, 403],
    ['a caller without a certificate', { as: null }, 401],
    ['a console that names no tenant', { tenant: null }, 400],
  ])('is refused to %s', async (_, asked, status) => {
    const { id } = await hil.park(1);
    expect((await hil.ask(`/pending/${id}/decision-link?action=approve`, asked)).status).toBe(status);
    expect((await hil.ask('/decision-link/verify', { method: 'POST', body: { token: 'x' }, ...asked })).status).toBe(
      status,
    );
  });
});

describe('POST /decision-link/verify', () => {
  it('says what a link leads to, and decides nothing', async () => {
    const row = await hil.park(1);
    const { token } = (await linkTo(row.id)).body;
    expect(await verify(token)).toEqual({
      valid: true,
      reason: 'ok',
      pending_id: row.id,
      action: 'approve',
      pending: {
        agent_id: 'payments-agent',
        method: 'tools/call',
        tool: 'wire_transfer',
        risk_summary: 'money movement',
        status: 'pending',
        correlation_id: row.correlation_id,
        tenant: 'acme',
      },
    });
    expect((await hil.reviews.get(row.id))?.status).toBe('pending');
  });

  it('a link is no credential: it lets nobody decide who could not', async () => {
    const { id } = await hil.park(1);
    const { token } = (await linkTo(id)).body;
    const asked = { method: 'POST', token: String(token), body: { decision: 'approve' } } as const;
    expect(await hil.ask(`/decide/${id}`, asked)).toMatchObject({ status: 401, body: { error: 'unauthenticated' } });
    expect(OPERATOR).not.toBe(token);
  });

  it('finds a link of another key, and every change to one, invalid', async () => {
    const { id } = await hil.park(1);
    const link = { pending_id: id, action: 'approve', exp: secondsFrom(T0) + 60 } as const;
    const token = tokenOf(link);
    expect((await verify(token))['reason']).toBe('ok');
    const changed = [
      tokenOf(link, Buffer.alloc(32, 8)),
      token.replace('.approve.', '.deny.'),
      token.replace(`.${link.exp}.`, `.${link.exp + 1}.`),
      token.replace(`.${link.exp}.`, `.0${link.exp}.`),
      token.replace(id, UNKNOWN),
      // One bit of the last byte, as of the first.
      `${token.slice(0, -1)}${(Number.parseInt(token.slice(-1), 16) ^ 1).toString(16)}`,
      token.slice(0, -1),
      `${token}0`,
      token.toUpperCase(),
      `${id}.modify.${link.exp}.${token.slice(-64)}`,
      // Under the key, of an action that no link has.
      tokenOf({ ...link, action: 'modify' as never }),
      '',
      'x',
    ];
    for (const each of changed) expect([each, await verify(each)]).toEqual([each, { valid: false, reason: 'invalid' }]);
  });

  it('leaves the end of a wait to the call: a row that waits is decided by a link, whatever the clock here says', async () => {
    const row = await hil.park(1);
    hil.now = Date.parse(row.created_at) + (row.ttl_seconds + 1_200) * 1_000;
    const link = await linkTo(row.id);
    expect(link.status).toBe(200);
    expect(await verify(String(link.body['token']))).toMatchObject({ valid: true, reason: 'ok' });
  });

  it('tells expired, gone and settled apart', async () => {
    const row = await hil.park(1);
    const link = { pending_id: row.id, action: 'deny', exp: secondsFrom(T0) + 60 } as const;
    expect(await verify(tokenOf(link), 'globex')).toEqual({
      valid: false,
      reason: 'gone',
      pending_id: row.id,
      action: 'deny',
    });
    expect((await verify(tokenOf({ ...link, pending_id: UNKNOWN })))['reason']).toBe('gone');
    const day = secondsFrom(hil.now) + 86_400;
    expect((await verify(tokenOf({ ...link, exp: day })))['reason']).toBe('ok');
    // By a clock that was ahead.
    expect((await verify(tokenOf({ ...link, exp: day + 3_600 })))['reason']).toBe('expired');
    await hil.settle(row, { status: 'denied' });
    expect(await verify(tokenOf(link))).toMatchObject({
      valid: false,
      reason: 'not_pending',
      pending: { status: 'denied' },
    });
    hil.now = link.exp * 1_000;
    expect(await verify(tokenOf(link))).toMatchObject({ valid: false, reason: 'expired' });
  });

  it.each([undefined, 7, 'x'.repeat(513)])('answers 400 to the token %s', async (token) => {
    expect(await verify(token)).toMatchObject({ error: 'invalid_request' });
  });
});
