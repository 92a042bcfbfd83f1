import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentRecord, CertifiedAgent } from '../../contracts/identity.js';
import type { UpstreamRecord } from '../../contracts/upstreams.js';
import type { AgentClient, Reply } from '../support/agent.js';
import { commandLine } from '../support/command.js';
import { enrolledAgent } from '../support/enrolled-agent.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

let folder: string;
let gate: TestStack;
let bot: AgentClient;
const command = commandLine(() => gate.stateDir);
const run = (...args: string[]) => command.done(args, { GATE_STATE_DIR: gate.stateDir });
const cli = async (...args: string[]): Promise<string> => {
  const { code, out } = await run(...args);
  expect([code, out]).toEqual([0, out]);
  return out;
};
const verdictOf = async (reply: Reply) => {
  const rows = await gate.rows(reply.correlationId, (kinds) => kinds.includes('policy.evaluated'));
  return rows.find(({ event_kind: kind }) => kind === 'proxy.verdict');
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-registries-'));
  gate = await startStack({ env: { GATE_UPSTREAM_ALLOW_PRIVATE: 'true' } });
  bot = await enrolledAgent(gate, cli, 'reg-bot');
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await command.stop();
  await gate?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 150_000);

describe('the registry of agents, at the command line', () => {
  const found = async () =>
    (JSON.parse(await cli('agents', '--json')) as AgentRecord[]).find(({ agent_name: name }) => name === 'reg-bot');

  it('says whose an agent is, what it is for, and what it passed', async () => {
    expect(await cli('agents', 'transfer', 'reg-bot', 'payments', '--reason', 'moved')).toContain('payments');
    expect(await cli('agents', 'describe', 'reg-bot', 'pays refunds')).toContain('pays refunds');
    const file = join(folder, 'passed.json');
    const cases = [{ id: 'deny-1', category: 'deny', expected: 'deny', observed: 'deny', passed: true }];
    const passed = { sdk_version: '1.4.0', proxy_url: gate.stateDir, cases, total: 1, passed: 1 };
    writeFileSync(file, JSON.stringify({ ...passed, catalog_sha256: `sha256:${'a'.repeat(64)}` }));
    const { certificate } = JSON.parse(await cli('agents', 'certify', 'reg-bot', file, '--json')) as CertifiedAgent;
    expect(certificate).toMatchObject({ agent_name: 'reg-bot', passed: 1 });
    expect(await found()).toMatchObject({
      owner_team: 'payments',
      description: 'pays refunds',
      certified_at_version: '1.4.0',
    });
    expect(await cli('agents')).toContain('payments');
    expect(await cli('agents', 'orphans')).toContain('no orphan');
    writeFileSync(file, JSON.stringify(passed));
    expect((await run('agents', 'certify', 'reg-bot', file)).code).toBe(2);
    expect((await run('agents', 'certify', 'reg-bot', join(folder, 'none'))).code).toBe(2);
  }, 90_000);

  it('ends one for good where its name is said twice', async () => {
    await cli('agents', 'enrol', 'old-bot', '--token-file', join(folder, 'token'));
    expect((await run('agents', 'decommission', 'old-bot', '--confirm', 'other')).code).toBe(2);
    expect(await cli('agents', 'decommission', 'old-bot', '--confirm', 'old-bot')).toContain('ended for good');
    const all = JSON.parse(await cli('agents', '--json')) as AgentRecord[];
    expect(all.find(({ agent_name: name }) => name === 'old-bot')).toMatchObject({ state: 'decommissioned' });
  }, 60_000);
});

describe('the registry of upstreams, in the full edition', () => {
  it('has calls say of which upstream they are, and that nobody vouched for it', async () => {
    expect((await verdictOf(await bot.call('list_files', {})))?.signal ?? null).toBeNull();
    await cli('upstreams', 'add', 'elsewhere', 'https://tools.example/mcp', '--owner-team', 'payments');
    await eventually('the proxy heard it', async () => {
      const row = await verdictOf(await bot.call('list_files', {}));
      return row?.signal === 'upstream_not_registered';
    });
    const pin = `sha256:${'0'.repeat(64)}`;
    const at = gate.development.upstream.url;
    const added = JSON.parse(await cli('upstreams', 'add', 'tools', at, '--tls-pin', pin, '--json')) as UpstreamRecord;
    // It answers over http, where it shows no key.
    await eventually('nothing is sent to it', async () => (await bot.call('list_files', {})).status !== 200);
    const before = (await gate.tools()).counts['list_files'] ?? 0;
    const unsent = await bot.call('list_files', {});
    expect(unsent.status).not.toBe(200);
    const row = await verdictOf(unsent);
    expect(row).toMatchObject({ upstream_id: added.id });
    expect(row?.signal ?? null).toBeNull();
    expect((await gate.tools()).counts['list_files'] ?? 0).toBe(before);
    expect(await cli('upstreams')).toContain('a pinned key');
    expect((await run('upstreams', 'add', 'again', at)).code).not.toBe(0);
    expect(await cli('upstreams', 'retire', 'tools', '--reason', 'moved')).toContain('retired');
    expect((await run('upstreams', 'retire', 'tools')).code).toBe(4);
    await eventually('it is sent calls again', async () => {
      const reply = await bot.call('list_files', {});
      return reply.status === 200 && (await verdictOf(reply))?.signal === 'upstream_not_registered';
    });
  }, 150_000);
});
