import { mkdtempSync, rmSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TenantBudget } from '../../contracts/identity.js';
import type { JsonObject } from '../../contracts/json.js';
import type { TenantSpend } from '../../contracts/spend.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import type { AgentClient, Reply } from '../support/agent.js';
import { commandLine } from '../support/command.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { upstreamsFile } from '../support/upstreams-file.js';
import { eventually } from '../support/waiting.js';

/** Gate as a user runs it, with tools that have prices. */
let folder: string;
let bank: DemoUpstream;
let gate: TestStack;
let spender: AgentClient;
let payer: AgentClient;
const command = commandLine(() => gate.stateDir);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-budgets-'));
  bank = await startDemoUpstream({ port: 0, dataDir: folder });
  const prices = { price_micros: 300, tool_prices_micros: { wire_transfer: 500, get_balance: 0 } };
  gate = await startStack({
    env: { GATE_UPSTREAMS: upstreamsFile(folder, { name: 'bank', url: bank.url, ...prices }) },
  });
  [spender, payer] = [await gate.agent('spender-bot'), await gate.agent('payer-bot')];
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await command.stop();
  await gate?.stop();
  await bank?.close();
  rmSync(folder, { recursive: true, force: true });
}, 150_000);

const cli = async (...args: string[]): Promise<string> => {
  const { code, out } = await command.done(args, { GATE_STATE_DIR: gate.stateDir });
  expect([code, out]).toEqual([0, out]);
  return out;
};
const shown = async () =>
  JSON.parse(await cli('budget', 'get', '--json')) as { budget: TenantBudget; spend: TenantSpend };
const sums = async () => {
  const { spend } = await shown();
  return [spend.spent_micros, spend.reserved_micros];
};
const decisionOf = async (reply: Reply, kind: string): Promise<Record<string, unknown>> => {
  const row = (await gate.rows(reply.correlationId, (kinds) => kinds.includes(kind))).find(
    (one) => one.event_kind === kind,
  );
  return { ...(row?.policy_decision as JsonObject), signal: row?.signal ?? null, reasoning: row?.reasoning ?? '' };
};
const TRANSFER = { from: 'operating', to: 'vendor', amount: 25 };
/** Until the proxy and the worker have heard of it: the first of these calls that is answered so. */
const answered = (bot: AgentClient, status: number, code?: string) =>
  eventually(`a call is answered ${status}`, async () => {
    const reply = await bot.call('bank__get_balance', { account: 'operating' });
    return reply.status === status && (code === undefined || reply.body['error'] === code) ? reply : null;
  });

describe('a budget, in the full edition', () => {
  it('counts what tools cost before anybody set one', async () => {
    const reply = await spender.call('bank__list_files', {});
    expect(reply.status).toBe(200);
    expect(await decisionOf(reply, 'upstream.outcome')).toMatchObject({ stage: 'completed', price_micros: 300 });
    expect(await decisionOf(reply, 'proxy.verdict')).toMatchObject({
      spend: { reserved_micros: 300, prices: { bank__list_files: 300 } },
    });
    expect(await sums()).toEqual([300, 0]);
    // A call that costs nothing has nothing of it.
    const free = await spender.call('bank__get_balance', { account: 'operating' });
    expect(await decisionOf(free, 'proxy.verdict')).not.toHaveProperty('spend');
  }, 120_000);

  it('lets as much through as it bears, and a replay costs nothing more', async () => {
    expect(await cli('budget', 'set', '0.0009', '--reason', 'a small one')).toContain('may spend 0.0009 in a month');
    const idempotencyId = randomUUID();
    await eventually('the proxy has heard of it', async () => {
      const reply = await spender.call('bank__get_balance', { account: 'operating' });
      const { spend } = await decisionOf(reply, 'proxy.verdict');
      return spend !== undefined;
    });
    for (let again = 0; again < 3; again += 1)
      expect((await spender.call('bank__list_files', {}, { idempotencyId })).status).toBe(200);
    expect(await sums()).toEqual([600, 0]);
    const denied = await spender.call('bank__delete_file', { path: 'notes/todo.txt' });
    expect([denied.status, await sums()]).toEqual([403, [600, 0]]);
    expect((await spender.call('bank__list_files', {})).status).toBe(200);
    const refused = await payer.call('bank__list_files', {});
    expect([refused.status, refused.body]).toEqual([
      429,
      expect.objectContaining({ error: 'quota_exceeded', scope: 'tenant', key: 'acme' }),
    ]);
    expect(JSON.stringify(refused.body)).not.toMatch(/900|micros/);
    expect(await decisionOf(refused, 'proxy.verdict')).toMatchObject({
      signal: 'quota_exceeded_tenant',
      budget_micros: 900,
      spent_micros: 900,
      reserved_micros: 0,
      asked_micros: 300,
    });
    expect(bank.state().counts['list_files']).toBe(3);
    expect(await cli('budget', 'get')).toMatch(/tenant acme .*0\.0009 .*0\.0009 .*0\.00 /);
  }, 120_000);

  it('of an agent that is spent denies by the rules, with the sums in what they were told', async () => {
    await cli('budget', 'set', '1');
    await cli('budget', 'set', '0.0009', '--agent', 'spender-bot');
    const denied = await answered(spender, 403, 'policy_denied');
    expect(denied.body['reasons']).toEqual(['Violation: the budget of this agent is spent.']);
    const rows = await gate.rows(denied.correlationId, (kinds) => kinds.includes('policy.evaluated'));
    const judged = rows.find(({ event_kind: kind }) => kind === 'policy.evaluated');
    expect(judged?.authorized).toBe(false);
    expect(await decisionOf(denied, 'proxy.verdict')).toMatchObject({
      spend: { reserved_micros: 0, budget: { of: 'agent', budget_micros: 900, spent_micros: 900 } },
    });
    expect(rows.find(({ event_kind: kind }) => kind === 'brain.inspection')?.reasoning).toContain('not inspected');
    await answered(payer, 200);
    await cli('budget', 'set', 'none', '--agent', 'spender-bot');
    await answered(spender, 200);
  }, 120_000);

  it('keeps what a call that waits reserved, and gives it back where nobody lets it run', async () => {
    const parked = await payer.call('bank__wire_transfer', TRANSFER);
    expect([parked.status, await sums()]).toEqual([202, [900, 500]]);
    await cli('decide', parked.correlationId, 'deny');
    await eventually('it is given back', async () => (await sums())[1] === 0);
    expect(await sums()).toEqual([900, 0]);
  }, 120_000);

  it('that was lowered while a call waited lets it not run, although somebody approved it', async () => {
    const idempotencyId = randomUUID();
    const ask = () => payer.call('bank__wire_transfer', TRANSFER, { idempotencyId });
    const parked = await ask();
    expect(parked.status).toBe(202);
    await cli('budget', 'set', '0.001');
    await answered(payer, 429, 'quota_exceeded');
    const decided = await command.done(['decide', parked.correlationId, 'approve'], { GATE_STATE_DIR: gate.stateDir });
    expect(decided).toMatchObject({ code: 1, out: expect.stringContaining('the budget of its tenant does not bear') });
    const ended = await eventually('it has ended', async () => {
      const reply = await ask();
      return reply.status === 202 ? null : reply;
    });
    expect([ended.status, ended.body['error']]).toEqual([403, 'budget_changed']);
    expect(await decisionOf(parked, 'upstream.outcome')).toMatchObject({ code: 'budget_changed', price_micros: 0 });
    expect([bank.state().counts['wire_transfer'] ?? 0, await sums()]).toEqual([0, [900, 0]]);
  }, 120_000);

  it('of nothing stops everything of the tenant, and its changes are rows of the ledger', async () => {
    await cli('budget', 'set', '0');
    await answered(spender, 429, 'quota_exceeded');
    await cli('budget', 'set', 'none');
    await answered(spender, 200);
    const rows = JSON.parse(await cli('audit', 'gate-identity', '--json', '--limit', '50')) as {
      event_kind: string;
      policy_decision: JsonObject;
    }[];
    const changes = rows.filter(({ event_kind: kind }) => kind === 'tenant.budget_changed');
    expect(changes.map(({ policy_decision: said }) => said['budget_micros'])).toEqual(
      expect.arrayContaining([900, 1_000_000, 1_000, 0, null]),
    );
  }, 120_000);
});
