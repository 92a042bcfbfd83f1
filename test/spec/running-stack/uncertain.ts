import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import type { AgentClient } from '../../support/agent.js';
import { commandLine } from '../../support/command.js';
import { gate } from '../../support/running-stack.js';
import { eventually } from '../../support/waiting.js';

let bot: AgentClient;
const command = commandLine(() => gate.stateDir);
beforeAll(async () => {
  bot = await gate.agent('uncertain-bot');
});
afterAll(() => command.stop());

const cli = (...args: string[]) => command.done(['uncertain', ...args], { GATE_STATE_DIR: gate.stateDir });
const asOperator = () => ({ authorization: `Bearer ${gate.development.operator_token}` });
const ask = (method: string, path: string, body?: JsonObject) =>
  gate.consoleAtProxy().request(method, path, { headers: asOperator(), ...(body && { body }) });
const ran = async () => (await gate.tools()).counts['drop_connection'] ?? 0;

describe('a call of unknown outcome, in the full edition', () => {
  it('is found out by the demonstration’s probe: completed, reconciled, run once, each step a row', async () => {
    const before = await ran();
    const idempotencyId = randomUUID();
    const args = { reference: `order-${randomUUID().slice(0, 8)}` };
    const lost = await bot.call('drop_connection', args, { idempotencyId });
    expect(lost.status).toBe(409);
    const rows = await eventually('it is reconciled', async () => {
      const all = await gate.rows(lost.correlationId, (kinds) => kinds.includes('upstream.outcome'));
      return all.some(({ policy_decision: said }) => said?.['reconciled'] === 'probe') ? all : null;
    });
    expect(
      rows
        .filter(({ event_kind: kind }) => kind === 'upstream.outcome')
        .map(({ policy_decision: said }) => said?.['stage']),
    ).toEqual(['uncertain', 'probed', 'completed']);
    const replay = await bot.call('drop_connection', args, { idempotencyId });
    expect(replay).toMatchObject({ status: 200, body: { result: { _meta: { 'gate/reconciled': { by: 'probe' } } } } });
    expect(await ran()).toBe(before + 1);
    expect(await gate.verify()).toMatchObject({ valid: true });
  }, 120_000);

  it('that no probe can tell is settled by a person', async () => {
    const idempotencyId = randomUUID();
    const lost = await bot.call('drop_connection', {}, { idempotencyId });
    expect(await cli()).toMatchObject({ code: 0, out: expect.stringContaining(lost.correlationId) });
    expect(await cli('show', lost.correlationId)).toMatchObject({
      code: 0,
      out: expect.stringContaining('waits for a person'),
    });
    expect(await cli('settle', lost.correlationId, 'ran', '--reason', 'in the journal')).toMatchObject({
      code: 0,
      out: expect.stringContaining('drop_connection ran'),
    });
    expect(
      await ask('POST', `/uncertain/${lost.correlationId}/settle`, { outcome: 'not_run', reason: 'x' }),
    ).toMatchObject({
      status: 409,
      body: { error: 'not_uncertain', state: 'completed' },
    });
    const rows = await gate.rows(
      lost.correlationId,
      (kinds) => kinds.filter((kind) => kind === 'upstream.outcome').length === 2,
    );
    expect(rows.at(-1)).toMatchObject({
      actor_sub: 'operator:dev',
      policy_decision: { reconciled: 'person', decision_reason: 'in the journal' },
    });
    expect((await bot.call('drop_connection', {}, { idempotencyId })).status).toBe(200);
  }, 120_000);

  it('is shown to operators alone', async () => {
    const headers = { authorization: 'Bearer somebody-else', 'x-gate-tenant-scope': 'acme' };
    expect((await gate.consoleAtProxy().request('GET', '/uncertain', { headers })).status).toBe(401);
    expect(await ask('GET', `/uncertain/${randomUUID()}`)).toMatchObject({ status: 404 });
  });
});
