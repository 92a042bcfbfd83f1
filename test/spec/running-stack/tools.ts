import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import type { AgentClient, Http } from '../../support/agent.js';
import { commandLine } from '../../support/command.js';
import { gate } from '../../support/running-stack.js';

let bot: AgentClient;
let console_: Http;
const command = commandLine(() => gate.stateDir);
beforeAll(async () => {
  bot = await gate.agent('tools-bot');
  console_ = gate.consoleAtProxy();
});
afterAll(() => command.stop());

const cli = (...args: string[]) => command.done(['tools', ...args], { GATE_STATE_DIR: gate.stateDir });
const body: JsonObject = { tool: 'create_issue', class: 'change' };

it('what a first start leaves in its folder is for its owner alone: databases, the engine’s too, logs and every folder', async () => {
  const open: string[] = [];
  const found: string[] = [];
  for (const entry of await readdir(gate.stateDir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(gate.stateDir.length + 1);
    // What is put in another's place meanwhile is looked at under its own name.
    const { mode } = await stat(path).catch(() => ({ mode: 0 }));
    found.push(name);
    // Certificates and public keys are for everybody; what the demonstration's tools keep lies in a folder that is closed.
    const meant = /\.(crt|pub)$/.test(name) || name.startsWith('demo/');
    if ((mode & 0o077) !== 0 && !meant) open.push(`${(mode & 0o777).toString(8)} ${name}`);
  }
  expect(open).toEqual([]);
  expect(found).toEqual(expect.arrayContaining(['data/temporal.db', 'data/hil.db', 'data/calls.db', 'logs/gate.log']));
});

describe('gate tools, over the running stack', () => {
  it('lets a tool wait until it is classed, and run from then on', async () => {
    expect((await bot.call('create_issue', { title: 'x' })).status).toBe(202);
    expect(await cli('set', 'create_issue', 'change', '--reason', 'looked at it', '--unlisted')).toMatchObject({
      code: 0,
      out: expect.stringContaining('create_issue is change, by operator:dev'),
    });
    expect((await bot.call('create_issue', { title: 'x' })).status).toBe(200);
    expect(await cli('set', 'list_files', 'deny', '--unlisted', '--tenant', 'rival')).toMatchObject({ code: 3 });
    expect(await cli('set', 'list_files', 'deny', '--unlisted', '--tenant', 'acme')).toMatchObject({ code: 0 });
    const denied = await bot.call('list_files');
    expect({ status: denied.status, body: denied.body }).toMatchObject({
      status: 403,
      body: { reasons: ['Violation: the operator denied this tool.'] },
    });
    await cli('forget', 'list_files');
    expect((await bot.call('list_files')).status).toBe(200);
  }, 60_000);

  it('lists what agents were shown and what it did, and binds a class to the definition that was shown', async () => {
    await bot.control('tools/list');
    expect(await cli('set', 'write_flie', 'review')).toMatchObject({
      code: 4,
      out: expect.stringContaining('did you mean write_file?'),
    });
    await cli('set', 'write_file', 'review');
    const { out } = await cli('--json');
    const { upstream, tools } = JSON.parse(out) as { upstream: string; tools: JsonObject[] };
    expect(upstream).toBe('demo');
    const of = (name: string) => tools.find(({ tool }) => tool === name);
    expect(of('write_file')).toMatchObject({
      class: 'review',
      source: 'operator',
      definition_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(of('slow_task')).toMatchObject({ class: 'change', source: 'shipped' });
    expect(of('create_issue')).toMatchObject({ class: 'change', lately: { asked: 1 } });
    expect((await bot.call('write_file', { path: 'a.txt', content: 'x' })).status).toBe(202);
    expect(await gate.verify()).toMatchObject({ valid: true });
  }, 60_000);

  it.each(['a\0b', 'a\ud800b', '__proto__'])(
    'refuses the name %j, and every other tool stays as it was said',
    async (tool) => {
      const headers = { authorization: `Bearer ${gate.development.operator_token}` };
      const refused = await console_.request('POST', '/tools/class', { headers, body: { tool, class: 'read' } });
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      expect(JSON.stringify(refused.body)).toMatch(/no store keeps|no name of a tool/);
      expect((await console_.request('GET', '/tools', { headers })).status).toBe(200);
    },
  );

  it('is for the console with an operator of the tenant: no agent, no stranger, no workload without a token', async () => {
    const token = { authorization: `Bearer ${gate.development.operator_token}` };
    const post = (who: Http, headers: Record<string, string> = {}) =>
      who.request('POST', '/tools/class', { body, headers });
    expect((await post(bot, token)).status).toBe(403);
    expect((await post(gate.stranger(), token)).status).toBe(401);
    expect((await post(console_, { 'x-gate-tenant-scope': 'acme' })).status).toBe(401);
    expect((await post(console_, { authorization: 'Bearer nobodys' })).status).toBe(401);
    expect((await post(console_, { ...token, 'x-gate-tenant-scope': 'rival' })).status).toBe(401);
    expect((await bot.request('GET', '/tools', { headers: token })).status).toBe(403);
    expect((await post(console_, token)).status).toBe(200);
  });
});
