import type { IncomingMessage } from 'node:http';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { JsonObject } from '../../contracts/json.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import {
  type ConformanceUpstream,
  startConformanceUpstream,
  startStatelessUpstream,
} from '../support/conformance-upstream.js';
import { type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const VERSION = '2026-07-28';
const metaOf = (can: JsonObject, key?: string) => ({
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': can,
  ...(key !== undefined && { 'gate/idempotency-key': key }),
});
let ids = 0;

interface Asked {
  readonly can?: JsonObject;
  readonly brings?: Readonly<Record<string, unknown>>;
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly key?: string;
}
interface Said {
  readonly status: number;
  readonly result: JsonObject & { readonly inputRequests?: Record<string, JsonObject>; readonly requestState?: string };
  readonly error: JsonObject;
}

/** One request of a client of that revision. */
async function ask(gate: LiteFixture, params: JsonObject & { name: string }, asked: Asked = {}): Promise<Said> {
  const { can = {}, brings = {}, headers = {}, method = 'tools/call', key } = asked;
  const { status, body } = await gate.send('POST', '/mcp', {
    body: { jsonrpc: '2.0', id: (ids += 1), method, params: { ...params, ...brings, _meta: metaOf(can, key) } },
    headers: {
      accept: 'application/json',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      'mcp-name': (params['taskId'] as string | undefined) ?? params.name,
      ...headers,
    },
  });
  return { status, ...(body as unknown as Omit<Said, 'status'>) };
}
const verdictOf = ({ result }: Said) => (result['_meta'] as JsonObject)['gate/verdict'] as JsonObject;
const decide = async (gate: LiteFixture, correlationId: string, decision: string): Promise<number> => {
  const rows = (await gate.send('GET', '/pending')).body as unknown as { id: string; correlation_id: string }[];
  const row = rows.find(({ correlation_id }) => correlation_id === correlationId);
  return (await gate.send('POST', `/decide/${row?.id ?? ''}`, { body: { decision } })).status;
};
const classed = async (gate: LiteFixture, ...tools: string[]) => {
  await gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  for (const tool of tools) {
    const body = { tool, class: 'read', reason: 'a test' };
    const headers = { authorization: `Bearer ${gate.lite.ownDecideToken?.token ?? ''}` };
    expect((await gate.send('POST', '/tools/class', { body, headers })).status).toBe(200);
  }
};

describe('a call of MCP 2026-07-28 that waits for a person, for a client that knows no tasks', () => {
  let folder: string;
  let tools: DemoUpstream;
  let gate: LiteFixture;
  beforeAll(async () => {
    folder = await liteFolder();
    tools = await startDemoUpstream({ port: 0, dataDir: folder });
    gate = await openLite({
      GATE_LITE_UPSTREAM_URL: tools.url,
      GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
      GATE_LITE_AGENTS: 'acme/one:the-token-of-agent-one-0123456789,acme/two:the-token-of-agent-two-0123456789',
      GATE_LITE_DECIDE_TOKEN: OPERATOR,
    });
    await eventually('it judges', async () => {
      const said = await ask(gate, { name: 'list_files' }, { headers: as('one') });
      return said.result?.['isError'] === undefined && said.result;
    });
  });
  afterAll(async () => {
    await gate?.close();
    await tools?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const OPERATOR = 'the-token-of-an-operator-0123456789';
  const as = (agent: 'one' | 'two') => ({ authorization: `Bearer the-token-of-agent-${agent}-0123456789` });
  const transfer = (amount: number) => ({
    name: 'wire_transfer',
    arguments: { from: 'operating', to: 'vendor', amount },
  });
  const wants = (amount: number, asked: Asked = {}) =>
    ask(gate, transfer(amount), { ...asked, headers: { ...as('one'), ...asked.headers } });
  const decided = async (correlationId: unknown, decision: string) => {
    const headers = { authorization: `Bearer ${OPERATOR}` };
    const row = (await waiting()).find((one) => one['correlation_id'] === correlationId);
    return (
      await gate.send('POST', `/decide/${(row?.['id'] as string | undefined) ?? ''}`, { body: { decision }, headers })
    ).status;
  };
  const ran = () => tools.state().counts['wire_transfer'] ?? 0;

  it('gets a handle at once, and with it the answer once it was approved: the tool runs once, however often it comes back', async () => {
    const before = ran();
    const first = await wants(11);
    expect(first).toMatchObject({ status: 200, result: { resultType: 'input_required' } });
    expect(first.result.inputRequests).toBeUndefined();
    expect(verdictOf(first)).toMatchObject({ status: 'pending', correlation_id: expect.any(String) });
    expect(await decided(verdictOf(first)['correlation_id'], 'approve')).toBe(200);
    const brings = { requestState: first.result.requestState };
    const done = await eventually('the answer', async () => {
      const said = await wants(11, { brings });
      return said.result['resultType'] === 'complete' && said;
    });
    expect(JSON.stringify(done.result['content'])).toContain('11.00 from operating to vendor');
    expect((await wants(11, { brings })).result['content']).toEqual(done.result['content']);
    expect(ran()).toBe(before + 1);
  });

  it('is told that it was denied, as a result that says why', async () => {
    const before = ran();
    const first = await wants(12);
    expect(await decided(verdictOf(first)['correlation_id'], 'deny')).toBe(200);
    const said = await wants(12, { brings: { requestState: first.result.requestState } });
    expect(said.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(verdictOf(said)).toMatchObject({ error: 'review_denied' });
    expect(ran()).toBe(before);
  });

  it('is asked once to open the page on which is decided, where it can, and its answer decides nothing', async () => {
    const can = { elicitation: { url: {} } };
    const first = await wants(13, { can });
    const [[key, asked] = []] = Object.entries(first.result.inputRequests ?? {});
    expect(asked).toMatchObject({ method: 'elicitation/create', params: { mode: 'url', url: expect.any(String) } });
    const { requestState } = first.result;
    const held = wants(13, { can, brings: { requestState, inputResponses: { [key ?? '']: { action: 'accept' } } } });
    expect(await decided(verdictOf(first)['correlation_id'], 'deny')).toBe(200);
    expect(verdictOf(await held)).toMatchObject({ error: 'review_denied' });
  });

  it.each<[string, (state: string) => [JsonObject & { name: string }, Asked], string, number]>([
    [
      'a state that was changed',
      (state) => [transfer(14), { brings: { requestState: `${state}-x` } }],
      'request_state_invalid',
      -32_602,
    ],
    ['a state of nobody', () => [transfer(14), { brings: { requestState: 'AAAA' } }], 'request_state_invalid', -32_602],
    [
      'another agent’s state',
      (state) => [transfer(14), { brings: { requestState: state }, headers: as('two') }],
      'request_state_invalid',
      -32_602,
    ],
    [
      'other arguments',
      (state) => [transfer(15), { brings: { requestState: state } }],
      'request_state_mismatch',
      -32_602,
    ],
    [
      'another tool',
      (state) => [{ name: 'list_files' }, { brings: { requestState: state } }],
      'request_state_mismatch',
      -32_602,
    ],
    ['a state that is no string', () => [transfer(14), { brings: { requestState: 1 } }], 'invalid_mcp', -32_602],
    ['a text in place of answers', () => [transfer(14), { brings: { inputResponses: 'yes' } }], 'invalid_mcp', -32_602],
  ])('is refused with %s, and nothing runs or waits because of it', async (_, made, error, code) => {
    const first = await wants(14);
    const [before, effects] = [await waitingNow(), tools.state().effects.length];
    const [params, asked] = made(first.result.requestState ?? '');
    const said = await ask(gate, params, { ...asked, headers: { ...as('one'), ...asked.headers } });
    expect(said.error).toMatchObject({ code, data: { error } });
    expect([await waitingNow(), tools.state().effects.length]).toEqual([before, effects]);
  });
  const waiting = async () => {
    const headers = { authorization: `Bearer ${OPERATOR}` };
    return (await gate.send('GET', '/pending', { headers })).body as unknown as JsonObject[];
  };
  const waitingNow = async () => (await waiting()).length;

  it('is given its handle at once where Gate closes while its request is held', async () => {
    const folderOfItsOwn = await liteFolder();
    const closing = await openLite(
      { GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1' },
      { folder: folderOfItsOwn },
    );
    const first = await eventually('it waits', async () => {
      const said = await ask(closing, transfer(17));
      return said.result['resultType'] === 'input_required' && said;
    });
    const held = ask(closing, transfer(17), { brings: { requestState: first.result.requestState } });
    let isOver = false;
    void held.then(() => (isOver = true));
    await eventually('the request is there', async () => (await closing.send('GET', '/health')).status === 200);
    expect(isOver).toBe(false);
    const [said] = await Promise.all([held, closing.lite.close()]);
    expect(said.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    await rm(folderOfItsOwn, { recursive: true, force: true });
  }, 40_000);

  const STREAM = { accept: 'application/json, text/event-stream' };
  /** The messages of the answer to a request of a client that takes streams, as they come. */
  async function* streamed(
    of: LiteFixture,
    body: JsonObject & { params: JsonObject & { name: string } },
    headers = {},
  ) {
    const names = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': body.params.name };
    const answer = await fetch(`${of.lite.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...STREAM, ...names, ...headers },
      body: JSON.stringify(body),
    });
    expect(answer.headers.get('content-type')).toContain('text/event-stream');
    let text = '';
    for await (const part of answer.body as ReadableStream<Uint8Array>) {
      text += Buffer.from(part).toString('utf8');
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data: {')) yield JSON.parse(line.slice(6)) as JsonObject;
    }
  }
  const heldCall = (amount: number, meta: JsonObject = {}) => ({
    jsonrpc: '2.0',
    id: (ids += 1),
    method: 'tools/call',
    params: { ...transfer(amount), _meta: { ...metaOf({}), ...meta } },
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['as progress where it asks for that', { progressToken: 'p' }, { method: 'notifications/progress' }],
    [
      'in a log message where it asks for those',
      { 'io.modelcontextprotocol/logLevel': 'info' },
      { method: 'notifications/message', params: { level: 'warning', logger: 'gate' } },
    ],
  ])(
    'is held in its first request already where it takes a stream, told so %s, and answered there',
    async (_, meta, told) => {
      const before = ran();
      const said = streamed(gate, heldCall(18, meta), as('one'));
      const first = (await said.next()).value as JsonObject;
      expect(first).toMatchObject(told);
      const [, id] = /call (\S+) waits for a person/u.exec(JSON.stringify(first)) ?? [];
      expect(await decided(id, 'approve')).toBe(200);
      const rest = [];
      for await (const one of said) rest.push(one);
      expect(rest).toMatchObject([{ result: { resultType: 'complete', content: expect.any(Array) } }]);
      expect(ran()).toBe(before + 1);
    },
  );

  it('is told that it waits in each request that is held, not that it is under way', async () => {
    const first = await wants(19);
    const brought = heldCall(19, { progressToken: 7 });
    const said = streamed(
      gate,
      { ...brought, params: { ...brought.params, requestState: first.result.requestState ?? '' } },
      as('one'),
    );
    const id = verdictOf(first)['correlation_id'] as string;
    expect((await said.next()).value).toMatchObject({ params: { message: `call ${id} waits for a person` } });
    expect(await decided(id, 'deny')).toBe(200);
    expect(JSON.stringify((await said.next()).value)).toContain('review_denied');
  });

  it('is asked at once to open the page, also where it takes a stream', async () => {
    const first = await wants(20, { can: { elicitation: { url: {} } }, headers: STREAM });
    expect(Object.values(first.result.inputRequests ?? {})).toMatchObject([{ method: 'elicitation/create' }]);
    expect(await decided(verdictOf(first)['correlation_id'], 'deny')).toBe(200);
  });

  it('is given its handle where Gate closes while its first request is held', async () => {
    const folderOfItsOwn = await liteFolder();
    const closing = await openLite(
      { GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1' },
      { folder: folderOfItsOwn },
    );
    const said = streamed(closing, heldCall(21, { progressToken: 1 }));
    expect(JSON.stringify((await said.next()).value)).toContain('waits for a person');
    const [handle] = await Promise.all([said.next(), closing.lite.close()]);
    expect(handle.value).toMatchObject({
      result: {
        resultType: 'input_required',
        requestState: expect.any(String),
        _meta: { 'gate/verdict': { status: 'pending' } },
      },
    });
    await rm(folderOfItsOwn, { recursive: true, force: true });
  }, 40_000);

  it('is awaited by an unmodified client, which comes back by itself', async () => {
    const client = new Client({ name: 'an agent', version: '1' }, { versionNegotiation: { mode: { pin: VERSION } } });
    const address = new URL(`${gate.lite.url}/mcp`);
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers: as('one') } }));
    const before = ran();
    const known = (await waiting()).map((row) => row['correlation_id']);
    const answer = client.callTool(transfer(16));
    const id = await eventually('it waits', async () =>
      (await waiting()).map((row) => row['correlation_id']).find((one) => !known.includes(one)),
    );
    expect(await decided(id, 'approve')).toBe(200);
    expect(JSON.stringify((await answer).content)).toContain('16.00 from operating to vendor');
    expect(ran()).toBe(before + 1);
    await client.close();
  });
});

describe.each<[string, () => Promise<ConformanceUpstream>]>([
  ['in a session', startConformanceUpstream],
  ['in several rounds', () => startStatelessUpstream()],
])('what an upstream asks %s, of a client of MCP 2026-07-28', (_, start) => {
  let upstream: ConformanceUpstream;
  let gate: LiteFixture;
  const ELICITS = 'test_input_required_result_elicitation';
  beforeAll(async () => {
    upstream = await start();
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: upstream.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1' });
    await classed(gate, ELICITS, 'test_input_required_result_multi_round', 'test_input_required_result_sampling');
  });
  afterAll(async () => {
    await gate?.close();
    await upstream?.close();
  });

  const can = { elicitation: {}, sampling: {} };
  const one = ({ result }: Said): [string, JsonObject] => {
    const [first] = Object.entries(result.inputRequests ?? {});
    if (!first) throw new Error(`nothing was asked: ${JSON.stringify(result)}`);
    return first;
  };
  const accepts = (said: Said, content: JsonObject) => ({
    requestState: said.result.requestState,
    inputResponses: { [one(said)[0]]: { action: 'accept', content } },
  });

  it('ends the request, and its answer comes with the next one; sent again it is the same answer', async () => {
    const asked = await ask(gate, { name: ELICITS }, { can });
    expect(asked.result['resultType']).toBe('input_required');
    expect(one(asked)[1]).toMatchObject({
      method: 'elicitation/create',
      params: { message: 'The server of a tool, and not Gate, asks: `What is your name?`' },
    });
    const brings = accepts(asked, { name: 'Alice' });
    const done = await ask(gate, { name: ELICITS }, { can, brings });
    expect(done.result).toMatchObject({ resultType: 'complete', content: [{ text: 'Hello, Alice!' }] });
    const other = accepts(asked, { name: 'Mallory' });
    expect((await ask(gate, { name: ELICITS }, { can, brings: other })).result['content']).toEqual(
      done.result['content'],
    );
  });

  it('is asked again where the answer is missing, or is none', async () => {
    const asked = await ask(gate, { name: ELICITS }, { can });
    const { requestState } = asked.result;
    for (const inputResponses of [{}, { other: { action: 'accept' } }, { [one(asked)[0]]: { action: 'perhaps' } }]) {
      const again = await ask(gate, { name: ELICITS }, { can, brings: { requestState, inputResponses } });
      expect(one(again)).toEqual(one(asked));
    }
    const done = await ask(gate, { name: ELICITS }, { can, brings: accepts(asked, { name: 'Bob' }) });
    expect(done.result).toMatchObject({ content: [{ text: 'Hello, Bob!' }] });
  });

  it('goes on for several rounds, and an answer of an earlier one is none to a later question', async () => {
    const tool = { name: 'test_input_required_result_multi_round' };
    const first = await ask(gate, tool, { can });
    const second = await ask(gate, tool, { can, brings: accepts(first, { name: 'Alice' }) });
    expect(one(second)[1]).toMatchObject({
      params: { message: expect.stringContaining('`Step 2: What is your favorite color?`') },
    });
    const stale = await ask(gate, tool, { can, brings: accepts(first, { color: 'red' }) });
    expect(one(stale)).toEqual(one(second));
    const done = await ask(gate, tool, { can, brings: accepts(second, { color: 'blue' }) });
    expect(done.result).toMatchObject({ resultType: 'complete', content: [{ text: 'Color: blue' }] });
  });

  it('stands in the ledger by the digest of each answer that reached the tool, and in no other way', async () => {
    const tool = { name: 'test_input_required_result_multi_round', arguments: { of: 'digests' } };
    const first = await ask(gate, tool, { can });
    const answered = [
      { action: 'accept', content: { name: 'Alice' } },
      { action: 'accept', content: { color: 'blue' } },
    ];
    const second = await ask(gate, tool, { can, brings: accepts(first, { name: 'Alice' }) });
    await ask(gate, tool, { can, brings: accepts(second, { color: 'blue' }) });
    const correlationId = verdictOf(first)['correlation_id'] as string;
    const row = await eventually('the row of the outcome', async () => {
      const headers = { authorization: `Bearer ${gate.lite.ownDecideToken?.token ?? ''}` };
      const rows = await gate.send('GET', `/audit/correlation/${correlationId}`, { headers });
      return (rows.body as unknown as JsonObject[]).find(({ event_kind: kind }) => kind === 'upstream.outcome');
    });
    expect((row['policy_decision'] as JsonObject)['answers']).toEqual(
      answered.map((answer, at) => ({
        round: at + 1,
        method: 'elicitation/create',
        asked_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        answer_sha256: sha256Hex(JSON.stringify(answer)),
      })),
    );
    expect(JSON.stringify(row)).not.toContain('Alice');
  });

  it.each<[string, JsonObject]>([
    ['tasks', { extensions: { 'io.modelcontextprotocol/tasks': {} } }],
    ['no tasks', {}],
  ])('is not asked of a request with other arguments under its key, of a client that knows %s', async (_, more) => {
    const of = (account: string, brings = {}) =>
      ask(gate, { name: ELICITS, arguments: { account } }, { can: { ...can, ...more }, key, brings });
    const key = `a key, and ${Object.keys(more).length}`.replaceAll(' ', '-');
    const asked = await of('A');
    expect(one(asked)[0]).toEqual(expect.any(String));
    const refused = await of('B', { inputResponses: accepts(asked, { name: 'for B' }).inputResponses });
    expect(refused.result).toMatchObject({ isError: true });
    expect(verdictOf(refused)).toMatchObject({ error: 'server_execution_idempotency_conflict' });
    // The same request again is asked the same.
    expect(one(await of('A'))).toEqual(one(asked));
    const done = await of('A', accepts(asked, { name: 'Alice' }));
    expect(done.result).toMatchObject({ content: [{ text: 'Hello, Alice!' }] });
  });

  it('is not waited for where Gate closes: its call ends, and what came of it is told after the restart', async () => {
    const folder = await liteFolder();
    const open = () =>
      openLite({ GATE_LITE_UPSTREAM_URL: upstream.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1' }, { folder });
    const closing = await open();
    await classed(closing, ELICITS);
    const asked = await ask(closing, { name: ELICITS }, { can });
    const brings = accepts(asked, { name: 'Alice' });
    // The time that the upstream has would be longer than that of the test.
    await closing.lite.close();
    const again = await open();
    const told = await eventually('what came of it', async () => {
      const said = await ask(again, { name: ELICITS }, { can, brings });
      return said.result?.['resultType'] !== 'input_required' && said;
    });
    expect(JSON.stringify(told)).toContain('Gate closes');
    expect(JSON.stringify(told)).not.toContain('server_execution_uncertain');
    await again.close();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it('is not asked of a client that did not say that it can be', async () => {
    const said = await ask(gate, { name: ELICITS });
    expect(said.result?.['resultType']).not.toBe('input_required');
    const sampled = await ask(gate, { name: 'test_input_required_result_sampling' }, { can: { elicitation: {} } });
    expect(sampled.result?.['resultType']).not.toBe('input_required');
  });

  it('is asked by its task, where a call that waited became one', async () => {
    const KNOWS = { ...can, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const made = await ask(gate, { name: 'test_input_required_result_request_state' }, { can: KNOWS });
    const taskId = made.result['taskId'] as string;
    expect(made.result).toMatchObject({ resultType: 'task', status: 'working' });
    expect(await decide(gate, taskId, 'approve')).toBe(200);
    const about = (method: string, more: JsonObject = {}) =>
      ask(gate, { taskId, ...more } as never, { can: KNOWS, method });
    const asks = await eventually('it asks', async () => {
      const said = await about('tasks/get');
      return said.result['status'] === 'input_required' && said;
    });
    const [key] = one(asks);
    await about('tasks/update', { inputResponses: { nobody: { action: 'accept' } } });
    expect((await about('tasks/get')).result['status']).toBe('input_required');
    await about('tasks/update', { inputResponses: { [key]: { action: 'accept', content: { ok: true } } } });
    const done = await eventually('it is over', async () => {
      const said = await about('tasks/get');
      return said.result['status'] === 'completed' && said;
    });
    expect(done.result).toMatchObject({ result: { content: [{ text: 'state-ok' }] } });
  });
});

describe('parameters that a tool wants repeated in headers', () => {
  let upstream: ConformanceUpstream;
  let gate: LiteFixture;
  const heard: IncomingMessage['headers'][] = [];
  const TOOL = 'test_mirrored_region';
  beforeAll(async () => {
    upstream = await startStatelessUpstream(({ headers }) => heard.push(headers));
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: upstream.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1' });
    await classed(gate, TOOL);
  });
  afterAll(async () => {
    await gate?.close();
    await upstream?.close();
  });

  const call = (given: JsonObject, headers: Record<string, string>) =>
    ask(gate, { name: TOOL, arguments: given }, { headers });

  it('are compared with the body and sent on as the definition says', async () => {
    heard.length = 0;
    const said = await call(
      { region: 'zürich', query: 'q' },
      { 'mcp-param-region': '=?base64?esO8cmljaA==?=', 'mcp-param-other': 'x' },
    );
    expect(said.result).toMatchObject({
      resultType: 'complete',
      content: [{ text: expect.stringContaining('zürich') }],
    });
    const sent = heard.filter((headers) => headers['mcp-method'] === 'tools/call');
    expect(sent).toEqual([
      expect.objectContaining({
        'mcp-protocol-version': VERSION,
        'mcp-name': TOOL,
        'mcp-param-region': '=?base64?esO8cmljaA==?=',
      }),
    ]);
    expect(sent[0]).not.toHaveProperty('mcp-param-other');
  });

  it.each<[string, JsonObject, Record<string, string>]>([
    ['another value', { region: 'eu' }, { 'mcp-param-region': 'us' }],
    ['no header', { region: 'eu' }, {}],
    ['a header without a value', {}, { 'mcp-param-region': 'eu' }],
    ['a header that is no base64', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVs!!!bG8=?=' }],
  ])('are refused with %s, and nothing is sent', async (_, given, headers) => {
    heard.length = 0;
    expect(await call(given, headers)).toMatchObject({
      status: 400,
      error: { code: -32_020, data: { error: 'mcp_header_mismatch' } },
    });
    expect(heard.filter((sent) => sent['mcp-method'] === 'tools/call')).toEqual([]);
  });
});
