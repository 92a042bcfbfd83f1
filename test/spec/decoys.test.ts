import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DecoyHit, DecoyRecord } from '../../contracts/decoys.js';
import type { AgentRecord } from '../../contracts/identity.js';
import type { JsonObject } from '../../contracts/json.js';
import type { AgentClient, Reply } from '../support/agent.js';
import { commandLine } from '../support/command.js';
import { enrolledAgent } from '../support/enrolled-agent.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

const VALUE = 'DE02 1203 0000 0000 2020 51';
const BASE64 = Buffer.from(`pay ${VALUE} now`).toString('base64');

let folder: string;
let gate: TestStack;
let bot: AgentClient;
let other: AgentClient;
const command = commandLine(() => gate.stateDir);
const cli = async (...args: string[]): Promise<string> => {
  const { code, out } = await command.done(args, { GATE_STATE_DIR: gate.stateDir });
  expect([code, out]).toEqual([0, out]);
  return out;
};
const hits = async () => JSON.parse(await cli('decoys', 'hits', '--json')) as DecoyHit[];
const agent = async (name: string) =>
  (JSON.parse(await cli('agents', '--json')) as AgentRecord[]).find((one) => one.agent_name === name);
const verdictOf = async (reply: Reply) => {
  const rows = await gate.rows(reply.correlationId, (kinds) => kinds.includes('policy.evaluated'));
  return rows.find(({ event_kind: kind }) => kind === 'proxy.verdict');
};
/** What an agent is told, without what names its call. */
const told = ({ status, body }: Reply): JsonObject => ({ status, ...body, correlation_id: 'any' });
const listed = async (as: AgentClient): Promise<readonly JsonObject[]> => {
  const reply = await as.request('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  return (reply.body['result'] as { tools: JsonObject[] }).tools;
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-decoys-'));
  gate = await startStack();
  [bot, other] = [await enrolledAgent(gate, cli, 'bait-bot'), await enrolledAgent(gate, cli, 'canary-bot')];
  writeFileSync(join(folder, 'value'), `${VALUE}\n`);
  writeFileSync(join(folder, 'schema.json'), '{"type":"object","properties":{"to":{"type":"string"}}}');
  const shown = ['--advertise', '--schema-file', join(folder, 'schema.json'), '--description', 'Exports all.'];
  await cli('decoys', 'add', 'describe_vault', ...shown, '--reason', 'bait');
  await cli('decoys', 'add', 'canary', '--value-file', join(folder, 'value'));
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await command.stop();
  await gate?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 150_000);

describe('decoys, in the full edition', () => {
  it('are shown to operators, with the beginning of a value alone', async () => {
    const text = await cli('decoys', 'list');
    expect(text).toContain('describe_vault');
    expect(text).toContain('value DE02… (27)');
    expect(text).not.toContain('1203');
    const found = JSON.parse(await cli('decoys', 'list', '--json')) as DecoyRecord[];
    expect(found.map(({ name, action }) => [name, action])).toEqual([
      ['canary', 'force_hil'],
      ['describe_vault', 'suspend'],
    ]);
  }, 60_000);

  it('stand in lists of tools, at the same place each time', async () => {
    const name = 'describe_vault';
    await eventually('the proxy shows it', async () => (await listed(bot)).some((tool) => tool['name'] === name));
    const [first, second] = [await listed(bot), await listed(other)];
    expect(first).toEqual(second);
    expect(first.find((tool) => tool['name'] === name)).toEqual({
      name,
      description: 'Exports all.',
      inputSchema: { type: 'object', properties: { to: { type: 'string' } } },
    });
    expect(first.filter((tool) => tool['name'] === 'canary')).toEqual([]);
  }, 60_000);

  it('keep a value from being used, encoded too, and put every later call of its agent before a person', async () => {
    const allowed = await other.call('list_files', {});
    expect(allowed.status).toBe(200);
    const before = (await gate.tools()).counts['list_files'] ?? 0;
    const denied = await other.call('list_files', { note: { text: BASE64 } });
    expect(told(denied)).toMatchObject({
      status: 403,
      error: 'policy_denied',
      layer: 'policy',
      reasons: ['Violation: the operator denied this tool.'],
    });
    expect(denied.text).not.toMatch(/decoy|canary/i);
    expect((await gate.tools()).counts['list_files'] ?? 0).toBe(before);
    expect(await verdictOf(denied)).toMatchObject({
      signal: 'decoy_tripped',
      authorized: false,
      policy_decision: { decoy: { kind: 'value', action: 'force_hil' } },
    });
    await eventually('it is contained', async () => (await agent('canary-bot'))?.force_hil?.actor === 'system:decoy');
    await eventually('its calls wait', async () => (await other.call('list_files', {})).status === 202);
    expect(await hits()).toMatchObject([
      {
        decoy: 'canary',
        agent_name: 'canary-bot',
        hits: 1,
        correlation_id: denied.correlationId,
        contained: 'force_hil',
      },
    ]);
  }, 120_000);

  it('keep a value out of control calls, which count as calls do', async () => {
    const trips = async () => {
      const { text } = await gate.health('proxy', '/metrics');
      return Number(/^gate_proxy_decoy_trips_total\{action="force_hil"\} (\d+)$/m.exec(text)?.[1]);
    };
    const before = await trips();
    const params = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: VALUE } };
    const body = { jsonrpc: '2.0', id: 1, method: 'completion/complete', params };
    expect(told(await other.request('POST', '/mcp', { body }))).toMatchObject({ status: 403, error: 'policy_denied' });
    expect(await trips()).toBe(before + 1);
    await eventually('it is told', async () => (await hits()).some(({ hits: count }) => count === 2));
  }, 60_000);

  it('are denied as a tool that an operator denied is, and suspend who calls one', async () => {
    const denied = await bot.call('describe_vault', { to: 'me' });
    expect(told(denied)).toMatchObject({ status: 403, reasons: ['Violation: the operator denied this tool.'] });
    expect(denied.text).not.toMatch(/decoy|bait/i);
    await eventually('it is suspended', async () => (await agent('bait-bot'))?.state === 'suspended');
    await eventually('it may do nothing', async () => (await bot.call('list_files', {})).body['error'] !== undefined);
    expect(await verdictOf(denied)).toMatchObject({ signal: 'decoy_tripped', tool_name: 'describe_vault' });
    expect(await hits()).toContainEqual(
      expect.objectContaining({ decoy: 'describe_vault', agent_name: 'bait-bot', contained: 'suspend' }),
    );
    expect(await cli('decoys', 'hits')).toContain('bait-bot');
  }, 120_000);

  it('that are taken away are none within two seconds', async () => {
    await cli('decoys', 'remove', 'describe_vault');
    await eventually('it is in no list', async () =>
      (await listed(other)).every((tool) => tool['name'] !== 'describe_vault'),
    );
    const { code, out } = await command.done(['decoys', 'remove', 'describe_vault'], {
      GATE_STATE_DIR: gate.stateDir,
    });
    expect([code === 0, out]).toEqual([false, expect.stringContaining('not')]);
  }, 60_000);
});
