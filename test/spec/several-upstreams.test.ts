import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../contracts/json.js';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { type ConformanceUpstream, startConformanceUpstream } from '../support/conformance-upstream.js';
import { type Edition, EDITIONS } from '../support/editions.js';
import { type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { type OddServer, oddServer, SMALL_TOOLS, upstreamsFile } from '../support/upstreams-file.js';
import { SELECTORS } from '../support/agent.js';
import { eventually } from '../support/waiting.js';

const SECRET = 'secret-of-the-bank';
const TRANSFER = { from: 'operating', to: 'vendor', amount: 25 };

describe.each(EDITIONS)('several upstreams behind %s', (_name, open, startLimitMs) => {
  let folder: string;
  let bank: DemoUpstream;
  let odd: OddServer;
  let gate: Edition;
  beforeAll(async () => {
    folder = await liteFolder();
    [bank, odd] = [await startDemoUpstream({ port: 0, dataDir: folder }), await oddServer('hangs up')];
    const upstreams = upstreamsFile(
      folder,
      { name: 'bank', url: bank.url, credentials: { kind: 'header', value: { env: 'BANK_KEY' } } },
      { name: 'small', command: SMALL_TOOLS, env: { TOOL_SETTING: { env: 'BANK_KEY' } } },
      { name: 'odd', url: odd.url, timeout_seconds: 2 },
    );
    gate = await open({ upstreams, secrets: { BANK_KEY: SECRET }, folder, agent: 'several-bot' });
  }, startLimitMs);
  afterAll(async () => {
    await gate?.stop();
    await bank?.close();
    await odd?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('have one list under their prefixes; the one that fails is named there and in the readiness', async () => {
    const { result } = (await gate.bot.control('tools/list')).body as { result: JsonObject };
    const names = (result['tools'] as JsonObject[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['bank__wire_transfer', 'bank__list_files', 'small__read_file']));
    expect(result['_meta']).toEqual({ 'gate/upstreams': { failing: [{ name: 'odd', fault: 'unreachable' }] } });
    const ready = await gate.ready();
    expect(ready['checks']).toMatchObject({ upstreams: 'ok' });
    expect((ready['details'] as JsonObject)['upstreams']).toMatch(
      /^2 of 3 answer; odd fails since \d{4}-.*Z \(unreachable\)$/,
    );
  });

  it('are told on the page of health, with the name of the one that fails and none of its addresses', async () => {
    let text = '';
    await eventually('they are told', async () =>
      />upstream tools<\/th><td><span class="tag park">partly<.*?2 of 3 answer; odd fails</.test(
        (text = await gate.health()),
      ),
    );
    expect(text).not.toContain(odd.url);
  });

  it('get what is allowed under their own names, and what they were told in confidence goes to no agent', async () => {
    const before = bank.state().counts['list_files'] ?? 0;
    expect((await gate.bot.call('bank__list_files')).body).toMatchObject({ result: { content: expect.anything() } });
    expect(bank.state().counts['list_files']).toBe(before + 1);
    const { text } = await gate.bot.call('small__read_file', { path: 'a' });
    expect(text).toContain('read_file no token [credential of Gate]');
    expect(text).not.toContain(SECRET);
  });

  it('get nothing of what a rule denies of the name behind the prefix', async () => {
    const denied = await gate.bot.call('bank__delete_file', { path: 'notes.txt' });
    expect({ status: denied.status, body: denied.body }).toMatchObject({
      status: 403,
      body: { error: 'policy_denied' },
    });
    expect(bank.state().counts['delete_file'] ?? 0).toBe(0);
  });

  it('get what a person approved, who saw the name with the prefix, and so does the ledger', async () => {
    const idempotencyId = randomUUID();
    const ask = () => gate.bot.call('bank__wire_transfer', TRANSFER, { idempotencyId });
    const parked = await ask();
    expect(parked.status).toBe(202);
    expect((await gate.reasons(parked.correlationId)).join('\n')).toContain('definition of the tool');
    expect(await gate.approve(parked.correlationId)).toBe(200);
    const answer = await eventually('the approved call has ended', async () => {
      const reply = await ask();
      return reply.status !== 202 && reply;
    });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    expect(bank.state().balances['vendor']).toBe(2_500);
    const ledger = openLedgerReadOnly(gate.ledgerFile);
    const rows = await ledger.byCorrelation(parked.correlationId);
    await ledger.close();
    expect(new Set(rows.map(({ tool_name }) => tool_name).filter(Boolean))).toEqual(new Set(['bank__wire_transfer']));
    expect(JSON.stringify(rows)).not.toContain(SECRET);
  });

  it.each(['wire_transfer', 'stranger__list_files', 'small__bank__list_files'])(
    'get nothing of %s, whose prefix nobody has or which passes for another one’s',
    async (tool) => {
      const before = JSON.stringify(bank.state().counts);
      const answer = await gate.bot.call(tool, TRANSFER);
      expect(answer.body).toMatchObject({
        error: 'tool_unknown',
        reasoning: 'no upstream has the prefix of this name; names begin with bank__, small__, odd__',
      });
      expect(answer.status).toBe(404);
      expect(JSON.stringify(bank.state().counts)).toBe(before);
    },
  );

  it('one that fails gets its calls refused as not executed, and answers again once it does', async () => {
    const refused = await gate.bot.call('odd__list_things');
    expect(refused.status).not.toBe(200);
    expect(refused.text).not.toContain('uncertain');
    expect((await gate.bot.call('bank__list_files')).status).toBe(200);
  });

  it('POST /tool/{name} is the same call as the SDKs send to /mcp: judged once, executed once, one answer', async () => {
    const idempotencyId = randomUUID();
    const headers = { ...SELECTORS['server-execution'], 'x-gate-idempotency-id': idempotencyId };
    const before = bank.state().counts['list_files'] ?? 0;
    const short = await gate.bot.request('POST', '/tool/bank__list_files', { body: {}, headers });
    expect({ status: short.status, body: short.body }).toMatchObject({
      status: 200,
      body: { id: idempotencyId, result: { content: expect.anything() } },
    });
    const whole = await gate.bot.call('bank__list_files', {}, { idempotencyId, rpcId: idempotencyId });
    expect(whole.text).toBe(short.text);
    expect(whole.headers['x-gate-server-execution-replayed']).toBe('true');
    expect(bank.state().counts['list_files']).toBe(before + 1);
  });

  it.each([
    ['without a contract', {}, '{}', 426, 'client_contract_required'],
    ['whose body is no object', SELECTORS['server-execution'], '[]', 400, 'invalid_mcp'],
    ['whose body reaches beyond the arguments', SELECTORS['server-execution'], '{}},"x":{"y":{}', 400, 'invalid_mcp'],
  ] as const)('POST /tool/{name} %s is refused', async (_what, selector, body, status, error) => {
    const refused = await gate.bot.request('POST', '/tool/bank__list_files', {
      body,
      headers: {
        ...selector,
        ...(Object.keys(selector).length > 0 && { 'x-gate-idempotency-id': randomUUID() }),
        'content-type': 'application/json',
      },
    });
    expect({ status: refused.status, body: refused.body }).toMatchObject({ status, body: { error } });
  });
});

describe('an unmodified client before several upstreams', () => {
  let folder: string;
  let suite: ConformanceUpstream;
  let bank: DemoUpstream;
  let gate: LiteFixture;
  let client: Client;
  beforeAll(async () => {
    folder = await liteFolder();
    [suite, bank] = [await startConformanceUpstream(), await startDemoUpstream({ port: 0, dataDir: folder })];
    gate = await openLite(
      { GATE_UPSTREAMS: upstreamsFile(folder, { name: 'suite', url: suite.url }, { name: 'bank', url: bank.url }) },
      { folder },
    );
    client = new Client({ name: 'an agent', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${gate.lite.url}/mcp`)) as never);
  });
  afterAll(async () => {
    await client?.close();
    await gate?.close();
    await suite?.close();
    await bank?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('is told what any of them can', () => {
    expect(Object.keys(client.getServerCapabilities() ?? {}).toSorted()).toEqual(
      expect.arrayContaining(['completions', 'logging', 'prompts', 'resources', 'tools']),
    );
  });

  it('reads resources under the addresses that the lists and answers give', async () => {
    const { resources } = await client.listResources();
    const uris = resources.map(({ uri }) => uri);
    expect(uris).toContain('suite+test://static-text');
    const { contents } = await client.readResource({ uri: 'suite+test://static-text' });
    expect(contents).toMatchObject([{ uri: 'suite+test://static-text', text: expect.stringContaining('static text') }]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['suite+test://template/{id}/data']);
    expect(await client.readResource({ uri: 'suite+test://template/7/data' })).toMatchObject({
      contents: [{ uri: 'suite+test://template/7/data' }],
    });
  });

  it('gets prompts, and has their arguments completed', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toContain('suite__test_simple_prompt');
    expect(await client.getPrompt({ name: 'suite__test_simple_prompt' })).toMatchObject({
      messages: [{ content: { text: expect.stringContaining('simple prompt') } }],
    });
    const ref = { type: 'ref/prompt', name: 'suite__test_prompt_with_arguments' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'par' } });
    expect(completion.values).toEqual(['paris', 'park', 'party']);
    await expect(
      client.complete({ ref: { type: 'ref/prompt', name: 'nobody__x' }, argument: { name: 'a', value: '' } }),
    ).rejects.toMatchObject({ code: -32_602 });
  });

  it('hears of a resource that changed under the address that it subscribed to', async () => {
    const heard: string[] = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void heard.push(params.uri));
    await client.subscribeResource({ uri: 'suite+test://watched-resource' });
    await gate.call('suite__test_change_resource', { arguments: {} });
    const parked = (await gate.send('GET', '/pending')).body as unknown as { id: string }[];
    for (const { id } of parked) await gate.send('POST', `/decide/${id}`, { body: { decision: 'approve' } });
    await eventually('the client is told', () => heard.length > 0);
    expect(heard[0]).toBe('suite+test://watched-resource');
  });
});
