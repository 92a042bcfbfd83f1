import { createHmac, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentClient } from '../../support/agent.js';
import { answers, CALLBACK_SECRET as SECRET, callbacks, gate } from '../../support/running-reviews.js';
import { eventually, timePasses } from '../../support/waiting.js';

const at = (path: string) => callbacks.received.filter((call) => call.path === path);
const arrives = (path: string, count = 1) =>
  eventually(`${count} callbacks at ${path}`, () => (at(path).length >= count ? at(path) : null));

let bot: AgentClient;
let origin: string;
beforeAll(async () => {
  origin = `http://${callbacks.host}`;
  bot = await gate.agent('callback-bot');
});
afterEach(() => answers.clear());

const park = async (path: string, tool = 'wire_transfer', args = { from: 'operating', to: 'vendor', amount: 1 }) => {
  const parked = await bot.call(tool, args, { callback: origin + path });
  expect(parked.status).toBe(202);
  return parked;
};
const aWhile = () => timePasses(1_500, 'a callback that should not come would have come');

describe('the callback of a call', () => {
  it('reports an approval once, to the address of the call, signed over time and body', async () => {
    const parked = await park('/hooks/approved');
    await gate.operator.decide(parked.correlationId, 'approve', 'fine');
    const [call] = await arrives('/hooks/approved');
    expect(JSON.parse(call?.body ?? '')).toEqual({
      correlation_id: parked.correlationId,
      pending_id: parked.body.pending_id,
      status: 'approved',
      decision: 'allow',
      decision_kind: 'approve',
      decider_note: 'fine',
      decided_at: expect.any(String),
    });
    expect(call?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-gate-correlation-id': parked.correlationId,
    });
    const timestamp = call?.headers['x-gate-timestamp'];
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
    expect(call?.headers['x-gate-signature']).toBe(
      `v1=${createHmac('sha256', SECRET)
        .update(`${String(timestamp)}.${call?.body}`)
        .digest('hex')}`,
    );
    await aWhile();
    expect(at('/hooks/approved')).toHaveLength(1);
    const rows = await gate.rows(parked.correlationId, (found) => found.includes('callback.delivered'));
    expect(rows.filter((row) => row.event_kind === 'callback.delivered')).toEqual([
      expect.objectContaining({ tenant: 'acme', authorized: true, policy_decision: { status: 'approved' } }),
    ]);
  });

  it('reports a denial', async () => {
    const parked = await park('/hooks/denied');
    await gate.operator.decide(parked.correlationId, 'deny', 'not today');
    const [call] = await arrives('/hooks/denied');
    expect(JSON.parse(call?.body ?? '')).toMatchObject({
      status: 'denied',
      decision: 'deny',
      decision_kind: 'deny',
      decider_note: 'not today',
    });
  });

  it('reports an expiry as expired, never as a denial', async () => {
    const parked = await bot.call('db_write', { target_env: 'production' }, { callback: `${origin}/hooks/expired` });
    const [call] = await arrives('/hooks/expired');
    expect(JSON.parse(call?.body ?? '')).toMatchObject({
      correlation_id: parked.correlationId,
      status: 'expired',
      decision: null,
      decision_kind: null,
    });
  });

  it('is for parked calls alone: an allow and a deny send none', async () => {
    expect((await bot.call('list_files', {}, { callback: `${origin}/hooks/none` })).status).toBe(200);
    expect((await bot.call('delete_file', { path: 'x' }, { callback: `${origin}/hooks/none` })).status).toBe(403);
    await aWhile();
    expect(at('/hooks/none')).toEqual([]);
  });

  it('goes to the address of the first request, whatever a replay names', async () => {
    const idempotencyId = randomUUID();
    const args = { from: 'operating', to: 'vendor', amount: 8 };
    const call = (path: string) => bot.call('wire_transfer', args, { idempotencyId, callback: origin + path });
    const parked = await call('/hooks/first');
    expect((await call('/hooks/second')).status).toBe(202);
    await gate.operator.decide(parked.correlationId, 'deny');
    await arrives('/hooks/first');
    await aWhile();
    expect(at('/hooks/second')).toEqual([]);
  });

  it('is tried again after a 5xx, with the same bytes and a fresh signature, until it is taken', async () => {
    answers.set('/hooks/flaky', (response, attempt) => response.writeHead(attempt === 1 ? 503 : 200).end());
    const parked = await park('/hooks/flaky');
    await gate.operator.decide(parked.correlationId, 'deny');
    const [first, second] = await arrives('/hooks/flaky', 2);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['x-gate-correlation-id']).toBe(parked.correlationId);
    for (const call of [first, second])
      expect(call?.headers['x-gate-signature']).toBe(
        `v1=${createHmac('sha256', SECRET)
          .update(`${String(call?.headers['x-gate-timestamp'])}.${call?.body}`)
          .digest('hex')}`,
      );
    await aWhile();
    expect(at('/hooks/flaky')).toHaveLength(2);
  });

  it('takes a redirect for a failure: not followed, not tried again', async () => {
    answers.set('/hooks/moved', (response) => response.writeHead(307, { location: '/hooks/target' }).end());
    const parked = await park('/hooks/moved');
    await gate.operator.decide(parked.correlationId, 'deny');
    await arrives('/hooks/moved');
    await aWhile();
    expect(at('/hooks/moved')).toHaveLength(1);
    expect(at('/hooks/target')).toEqual([]);
    // It was given up: a row says so, and a count that somebody is told of.
    const rows = await gate.rows(parked.correlationId, (found) => found.includes('alarm.call_stuck'));
    expect(rows.filter((row) => row.event_kind === 'alarm.call_stuck')).toEqual([
      expect.objectContaining({
        policy_decision: expect.objectContaining({ duty: 'callback' }),
        reasoning: expect.stringMatching(/^the callback of the call cannot be sent: ./),
      }),
    ]);
  });

  it('delays nothing: an approved call runs while its receiver is silent', async () => {
    const silent: ServerResponse[] = [];
    answers.set('/hooks/silent', (response) => void silent.push(response));
    const parked = await park('/hooks/silent');
    await gate.operator.decide(parked.correlationId, 'approve');
    await gate.kinds(parked.correlationId, 'upstream.outcome');
    expect((await bot.request('GET', `/pending/${parked.correlationId}`)).body).toMatchObject({
      execution: { state: 'completed' },
    });
    for (const response of silent) response.destroy();
  });
});

describe('where a callback may go', () => {
  it.each([
    ['outside the allowlist', '/elsewhere'],
    ['beside a path segment of it', '/hooksmith'],
    ['out of it by dots', '/hooks/../elsewhere'],
  ])('%s: 400, and nothing is parked', async (_what, path) => {
    const before = (await gate.operator.pending()).length;
    const reply = await bot.call('wire_transfer', { amount: 1 }, { callback: origin + path });
    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ error: 'callback_not_allowed', verdict: 'error', layer: 'gateway' });
    expect((await gate.operator.pending()).length).toBe(before);
  });

  it.each([
    'http://127.0.0.1:1/hooks',
    'http://localhost/hooks',
    'http://169.254.169.254/latest/meta-data',
    'https://example.com/hooks',
    'ftp://127.0.0.1/hooks',
    'not an address',
    '',
  ])('%s is refused with 400', async (callback) => {
    const reply = await bot.call('list_files', {}, { callback });
    expect([reply.status, reply.body.error]).toEqual([400, 'callback_not_allowed']);
  });
});
