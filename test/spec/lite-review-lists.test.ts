import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { machineClock } from '../../lite/clock.js';
import { echoTools, type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const AGENT = 'agent-token-0123456789-0123456789-ab';
const ACME = 'acme-token-0123456789-0123456789-ab';
const GLOBEX = 'globex-token-0123456789-0123456789';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

let gate: LiteFixture;
afterEach(() => gate.close());

const open = async (options: Parameters<typeof openLite>[1] = {}) =>
  (gate = await openLite(
    { GATE_LITE_AGENTS: `acme/bot:${AGENT}`, GATE_LITE_DECIDERS: `acme:${ACME},globex:${GLOBEX}` },
    options,
  ));
/** Lite with operators of two tenants, and one call that waits in the first. */
async function openWithParked(): Promise<JsonObject> {
  await open();
  return parked();
}
async function parked(): Promise<JsonObject> {
  // A crowded machine may judge the first call too late (503): the same call is asked again.
  const id = randomUUID();
  return eventually('a call that waits', async () => {
    const asked = { id, arguments: { amount: 5 }, decision: true, headers: bearer(AGENT) };
    const { status, body } = await gate.call('wire_transfer', asked);
    expect([202, 503]).toContain(status);
    return status === 202 && body;
  });
}
const ask = (path: string, token: string) => gate.send('GET', path, { headers: bearer(token) });

describe('an agent that is taken out of the list while its call waits', () => {
  it('has nothing executed by a later approval, and is told why once it may call again', async () => {
    const folder = await liteFolder();
    const tools = await echoTools();
    const id = randomUUID();
    const start = async (agents: string) => {
      gate = await openLite(
        { GATE_LITE_AGENTS: agents, GATE_LITE_DECIDERS: `acme:${ACME}`, GATE_LITE_UPSTREAM_URL: tools.url },
        { folder },
      );
    };
    const asked = () => gate.call('wire_transfer', { id, arguments: { amount: 5 }, headers: bearer(AGENT) });
    await start(`acme/bot:${AGENT}`);
    const { correlation_id } = await eventually('a call that waits', async () => {
      const { status, body } = await asked();
      expect([202, 503]).toContain(status);
      return status === 202 && body;
    });
    await gate.close();
    await start(`acme/other:${GLOBEX}`);
    const decided = await gate.send('POST', `/decide/${correlation_id as string}`, {
      headers: bearer(ACME),
      body: { decision: 'approve' },
    });
    expect(decided.status).toBe(200);
    await gate.close();
    await start(`acme/bot:${AGENT}`);
    const told = await eventually('the end of the call', async () => {
      const answer = await asked();
      return answer.status !== 202 && answer;
    });
    expect(told).toMatchObject({ status: 403, body: { error: 'agent_standing_changed' } });
    expect(tools.executed).toEqual([]);
    await tools.close();
    const { close } = gate;
    gate = { ...gate, close: () => close().then(() => rm(folder, { recursive: true, force: true })) };
  });
});

describe('lists for people in lite', () => {
  it('show an operator the short rows of the own tenant, and an agent nothing', async () => {
    const { correlation_id } = await openWithParked();
    expect(await ask('/pending/summaries', ACME)).toMatchObject({
      status: 200,
      body: {
        items: [{ correlation_id, tool: 'wire_transfer', agent_id: 'bot' }],
        next_cursor: null,
        searched_to: null,
        pending_count: 1,
      },
    });
    expect((await ask('/pending/summaries', GLOBEX)).body).toEqual({
      items: [],
      next_cursor: null,
      searched_to: null,
      pending_count: 0,
    });
    expect((await ask('/pending/summaries', AGENT)).status).toBe(401);
    expect((await ask('/pending/summaries?cursor=x', ACME)).body).toMatchObject({ error: 'invalid_cursor' });
  });

  it('count the decisions of the own tenant', async () => {
    const { correlation_id } = await openWithParked();
    const decided = await gate.send('POST', `/decide/${correlation_id as string}`, {
      headers: bearer(ACME),
      body: { decision: 'deny' },
    });
    expect([decided.status, decided.body]).toEqual([200, decided.body]);
    expect((await ask('/approvals/stats?window=1h', ACME)).body).toMatchObject({
      pending_count: 0,
      denied: 1,
      by_approver: [{ decided_by: decided.body['decided_by'], count: 1, deny_rate: 1 }],
    });
    expect((await ask('/approvals/stats', GLOBEX)).body).toMatchObject({ denied: 0, by_approver: [] });
    expect((await ask('/approvals/stats', AGENT)).status).toBe(401);
  });

  it('hold what operators of the own tenant note on a row', async () => {
    const { pending_id } = await openWithParked();
    const note = (method: string, path: string, body: unknown, token: string) =>
      gate.send(method, `/pending/${pending_id as string}/${path}`, { headers: bearer(token), body });
    const assign = (token: string) => note('POST', 'assign', { assigned_to: 'ada' }, token);
    const incident = (token: string) => note('PATCH', 'incident', { incident_summary: 'paid twice' }, token);
    expect([(await assign(GLOBEX)).status, (await assign(AGENT)).status]).toEqual([404, 401]);
    expect(await assign(ACME)).toMatchObject({ status: 200, body: { assigned_to: 'ada', status: 'pending' } });
    expect((await ask('/pending/summaries', ACME)).body).toMatchObject({ items: [{ assigned_to: 'ada' }] });
    expect(await incident(ACME)).toMatchObject({ status: 409, body: { error: 'still_pending' } });
    await note('POST', 'decide', { decision: 'deny' }, ACME);
    expect([(await incident(GLOBEX)).status, (await incident(AGENT)).status]).toEqual([404, 401]);
    expect(await incident(ACME)).toMatchObject({
      status: 200,
      body: { incident_summary: 'paid twice', status: 'denied' },
    });
    expect(await assign(ACME)).toMatchObject({ status: 409, body: { error: 'not_pending' } });
  });

  it('lose the requests of the past by themselves, and keep one whose row is held', async () => {
    const folder = await liteFolder();
    let aheadMs = 0;
    const clock = { ...machineClock, now: () => Date.now() + aheadMs };
    await open({ folder, clock });
    const ids: string[] = [];
    for (const which of [0, 1]) {
      ids[which] = (await parked())['pending_id'] as string;
      await gate.send('POST', `/pending/${ids[which]}/decide`, { headers: bearer(ACME), body: { decision: 'deny' } });
    }
    const [gone = '', held = ''] = ids;
    const hold = (action: 'apply' | 'release', token: string) =>
      gate.send('POST', `/admin/pending/${held}/legal-hold`, {
        headers: bearer(token),
        body: {
          operation_id: randomUUID(),
          action,
          hold_id: '00000000-0000-4000-9000-000000000100',
          authority_reason_sha256: `sha256:${'a'.repeat(64)}`,
        },
      });
    expect([(await hold('apply', GLOBEX)).status, (await hold('apply', AGENT)).status]).toEqual([404, 401]);
    expect(await hold('apply', ACME)).toMatchObject({ status: 200, body: { state: 'held' } });
    await gate.close();
    aheadMs = 8 * 86_400_000;
    await open({ folder, clock });
    const { close } = gate;
    gate = { ...gate, close: () => close().then(() => rm(folder, { recursive: true, force: true })) };
    type Row = { readonly id: string; readonly retention: JsonObject };
    const rows = async () => (await ask('/pending?status=denied', ACME)).body as unknown as Row[];
    const of = async (id: string) => (await rows()).find((row) => row.id === id)?.retention;
    await eventually('the request goes', async () => (await of(gone))?.['payload_availability'] === 'purged');
    expect(await of(held)).toMatchObject({ payload_availability: 'minimized', legal_hold: { by: expect.any(String) } });
    expect(await hold('release', ACME)).toMatchObject({ status: 200, body: { deletion_disposition: 'deleted' } });
    expect(await of(held)).toMatchObject({ payload_availability: 'purged' });
  });

  it('tell an operator of the own tenant what changes, and end with the process', async () => {
    const { correlation_id, pending_id } = await openWithParked();
    const stream = async (token: string, last: string) => {
      const { status, body } = await fetch(`${gate.lite.url}/pending/stream`, {
        headers: { ...bearer(token), 'last-event-id': last },
      });
      const told = { status, text: '', ended: false };
      void (async () => {
        for await (const chunk of body ?? []) told.text += Buffer.from(chunk as Uint8Array).toString('utf8');
        told.ended = true;
      })().catch(() => (told.ended = true));
      return told;
    };
    expect((await stream(AGENT, '1')).status).toBe(401);
    const [acme, globex] = [await stream(ACME, '1'), await stream(GLOBEX, '1')];
    await eventually('both streams', () => [acme, globex].every(({ text }) => text.includes('event: reset')));
    await gate.send('POST', `/decide/${correlation_id as string}`, {
      headers: bearer(ACME),
      body: { decision: 'deny' },
    });
    await eventually('the decision', () => acme.text.includes('event: decided'));
    expect(acme.text).toContain(pending_id as string);
    const { folder } = gate;
    await gate.close();
    gate = { ...gate, close: () => rm(folder, { recursive: true, force: true }) };
    await eventually('the end', () => acme.ended && globex.ended);
    expect(globex.text).not.toContain('event: decided');
  });
});
