import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { CallToolResultSchema, CreateTaskResultSchema, GetTaskResultSchema } from '@modelcontextprotocol/core';
import { Client as TaskClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TaskTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema as TaskResult } from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../contracts/json.js';
import type { PendingRequest } from '../../contracts/review.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

let folder: string;
let tools: DemoUpstream;
let gate: LiteFixture;
const opened: { close(): Promise<void> }[] = [];
const AGENTS = { GATE_LITE_AGENTS: 'acme/one:token-of-agent-one,acme/two:token-of-agent-two' };
const ONE = { authorization: 'Bearer token-of-agent-one' };
const TWO = { authorization: 'Bearer token-of-agent-two' };
const env = () => ({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1', ...AGENTS });

beforeAll(async () => {
  folder = await liteFolder();
  tools = await startDemoUpstream({ port: 0, dataDir: folder });
});
afterAll(async () => {
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  gate = await openLite(env());
});
afterEach(async () => {
  for (const client of opened.splice(0)) await client.close();
  await gate.close();
});

const transfer = (amount: number) => ({
  name: 'wire_transfer',
  arguments: { from: 'operating', to: 'vendor', amount },
});
const ACCEPT = { accept: 'application/json, text/event-stream' };

/** A session of a client that writes its messages itself. */
async function session({ headers = ONE, version = '2025-11-25', capabilities = {} as JsonObject } = {}) {
  const params = { protocolVersion: version, capabilities, clientInfo: { name: 'bare', version: '1' } };
  const begun = await gate.send('POST', '/mcp', {
    body: { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    headers: { ...ACCEPT, ...headers },
  });
  const id = begun.headers.get('mcp-session-id') as string;
  let last = 0;
  const ask = async (method: string, given: JsonObject = {}, rpcId: number = (last += 1)) => {
    const { body } = await gate.send('POST', '/mcp', {
      body: { jsonrpc: '2.0', id: rpcId, method, params: given },
      headers: { ...ACCEPT, ...headers, 'mcp-session-id': id },
    });
    return body as JsonObject & { result: JsonObject; error: JsonObject };
  };
  /** The handle of a call. */
  const begin = async (call: JsonObject, rpcId?: number) => {
    const { result } = await ask('tools/call', { ...call, task: {} }, rpcId);
    return result['task'] as JsonObject & { taskId: string };
  };
  const ended = (taskId: string) =>
    eventually('the task is over', async () => {
      const { result } = await ask('tasks/get', { taskId });
      return result['status'] !== 'working' && result;
    });
  return { id, begun: begun.body, ask, begin, ended };
}
const rowOf = (taskId: string) =>
  eventually('its review', async () => {
    const rows = (await gate.send('GET', '/pending')).body as unknown as PendingRequest[];
    return rows.find(({ correlation_id }) => correlation_id === taskId);
  });
const decide = async (taskId: string, body: JsonObject) =>
  (await gate.send('POST', `/decide/${(await rowOf(taskId)).id}`, { body })).status;
const ran = (tool: string) => tools.state().counts[tool] ?? 0;

describe('the TypeScript SDK’s client for tasks, unmodified', () => {
  async function client(): Promise<TaskClient> {
    const made = new TaskClient({ name: 'an agent', version: '1' });
    opened.push(made);
    await made.connect(new TaskTransport(new URL(`${gate.lite.url}/mcp`), { requestInit: { headers: ONE } }) as never);
    await made.listTools();
    return made;
  }
  const told = async (
    agent: TaskClient,
    call: { name: string; arguments: JsonObject },
    onTask?: (taskId: string) => void,
  ) => {
    const types: string[] = [];
    let last: unknown;
    for await (const message of agent.experimental.tasks.callToolStream(call)) {
      types.push(message.type);
      if (message.type === 'taskCreated') onTask?.(message.task.taskId);
      last = message;
    }
    return { first: types[0], last: last as { type: string; result?: JsonObject; error?: Error } };
  };

  it('learns from the list that tools may be tasks, and gets what an allowed call came to', async () => {
    const agent = await client();
    const before = ran('list_files');
    const { first, last } = await told(agent, { name: 'list_files', arguments: {} });
    expect(first).toBe('taskCreated');
    expect(JSON.stringify(last.result)).toContain('README.txt');
    expect(ran('list_files')).toBe(before + 1);
  });

  it('is told that a denied task failed, and reads why in its result', async () => {
    const agent = await client();
    let task = '';
    const { last } = await told(agent, { name: 'delete_file', arguments: { path: 'notes/todo.txt' } }, (id) => {
      task = id;
    });
    expect([last.type, last.error?.message]).toEqual(['error', expect.stringContaining('failed')]);
    const result = await agent.experimental.tasks.getTaskResult(task, TaskResult);
    expect(result).toMatchObject({ isError: true, _meta: { 'gate/verdict': { error: 'policy_denied' } } });
  });

  it('polls while a person decides, and the tool runs once', async () => {
    const agent = await client();
    const before = ran('wire_transfer');
    let approved: Promise<number> | undefined;
    const { last } = await told(agent, transfer(31), (id) => {
      approved = decide(id, { decision: 'approve' });
    });
    expect(await approved).toBe(200);
    expect(JSON.stringify(last.result)).toContain('31.00 from operating to vendor');
    expect(ran('wire_transfer')).toBe(before + 1);
  });

  it('cancels what waits, and lists its tasks', async () => {
    const agent = await client();
    const before = ran('wire_transfer');
    let cancelled: Promise<unknown> | undefined;
    const { last } = await told(agent, transfer(32), (id) => {
      cancelled = rowOf(id).then(() => agent.experimental.tasks.cancelTask(id));
    });
    expect(await cancelled).toMatchObject({ status: 'cancelled' });
    expect(last.error?.message).toContain('was cancelled');
    expect((await agent.experimental.tasks.listTasks()).tasks).toMatchObject([{ status: 'cancelled' }]);
    expect(ran('wire_transfer')).toBe(before);
  });
});

it('serves @modelcontextprotocol/client, which knows the messages of tasks and leaves the rest to its user', async () => {
  const agent = new Client({ name: 'an agent', version: '1' });
  opened.push(agent);
  await agent.connect(
    new StreamableHTTPClientTransport(new URL(`${gate.lite.url}/mcp`), { requestInit: { headers: ONE } }),
  );
  expect(agent.getServerCapabilities()).toMatchObject({ tasks: { cancel: {}, requests: { tools: { call: {} } } } });
  const begin = async (call: { name: string; arguments: JsonObject }) =>
    (await agent.request({ method: 'tools/call', params: { ...call, task: {} } }, CreateTaskResultSchema)).task;
  const result = (taskId: string) =>
    agent.request({ method: 'tasks/result', params: { taskId } }, CallToolResultSchema);
  expect(JSON.stringify(await result((await begin({ name: 'list_files', arguments: {} })).taskId))).toContain('README');
  const denied = await begin({ name: 'delete_file', arguments: { path: 'notes/todo.txt' } });
  expect(await result(denied.taskId)).toMatchObject({ isError: true });
  const parked = await begin(transfer(33));
  const waits = result(parked.taskId);
  expect(await decide(parked.taskId, { decision: 'approve' })).toBe(200);
  expect(JSON.stringify(await waits)).toContain('33.00 from operating to vendor');
  const unwanted = await begin(transfer(34));
  await rowOf(unwanted.taskId);
  const params = { taskId: unwanted.taskId };
  expect(await agent.request({ method: 'tasks/cancel', params }, GetTaskResultSchema)).toMatchObject({
    status: 'cancelled',
  });
});

describe('a task', () => {
  it('is offered in sessions of 2025-11-25 alone, and refused where there is none', async () => {
    expect((await session()).begun).toMatchObject({
      result: { capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } } },
    });
    const older = await session({ version: '2025-06-18' });
    expect(older.begun).not.toMatchObject({ result: { capabilities: { tasks: {} } } });
    expect((await older.ask('tools/list')).result).not.toMatchObject({ tools: [{ execution: {} }] });
    const before = ran('list_files');
    expect((await older.ask('tools/call', { name: 'list_files', task: {} })).error).toMatchObject({
      code: -32_602,
      data: { error: 'unjudged_field', field: 'params.task' },
    });
    expect((await older.ask('tasks/list')).error).toMatchObject({ code: -32_601 });
    expect(ran('list_files')).toBe(before);
  });

  it('is refused to who selects a contract: that has handles of its own', async () => {
    const headers = {
      ...ONE,
      'x-gate-server-execution-contract': 'gate.server-execution/v1',
      'x-gate-idempotency-id': '5f2b0c1e-6a3d-4e57-9b8a-0c1d2e3f4a5b',
    };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_files', task: {} } };
    expect(await gate.send('POST', '/mcp', { body, headers })).toMatchObject({
      status: 400,
      body: { error: 'unjudged_field' },
    });
  });

  it('begins as working under the id of its call, and says how far that is', async () => {
    const { begin, ask, ended } = await session();
    const task = await begin(transfer(41));
    expect(task).toMatchObject({ status: 'working', pollInterval: 1_000, createdAt: expect.any(String) });
    const row = await rowOf(task.taskId);
    const { result } = await ask('tasks/get', { taskId: task.taskId });
    expect(result).toMatchObject({
      status: 'working',
      statusMessage: expect.stringMatching(new RegExp(`waits for a person until .*/hil/${row.id}`)),
    });
    expect(await decide(task.taskId, { decision: 'deny', reason: 'not this vendor' })).toBe(200);
    expect(await ended(task.taskId)).toMatchObject({
      status: 'failed',
      statusMessage: expect.stringMatching(/review_denied.*not this vendor/),
    });
    expect((await ask('tasks/result', { taskId: task.taskId }, 77)).result).toMatchObject({
      isError: true,
      _meta: {
        'gate/verdict': { error: 'review_denied', advice: { retry: 'no', person_can_help: false } },
        'io.modelcontextprotocol/related-task': { taskId: task.taskId },
      },
    });
  });

  it('that is asked for again is the same one', async () => {
    const { begin, ask } = await session();
    const [one, two] = [await begin(transfer(42), 9), await begin(transfer(42), 9)];
    expect(two.taskId).toBe(one.taskId);
    expect((await ask('tasks/list')).result['tasks']).toHaveLength(1);
  });

  it('is the same call as one without a handle, under a key of the client', async () => {
    const { begin, ask, ended } = await session();
    const before = ran('list_files');
    const call = { name: 'list_files', arguments: {}, _meta: { 'gate/idempotency-key': 'listing-1' } };
    expect((await ask('tools/call', call)).result).toMatchObject({ content: [{ type: 'text' }] });
    const { taskId } = await begin(call);
    expect(await ended(taskId)).toMatchObject({ status: 'completed' });
    expect((await ask('tools/call', call)).result).toMatchObject({ content: [{ type: 'text' }] });
    expect(ran('list_files')).toBe(before + 1);
  });

  it('gives its answer within what an agent may ask again for', async () => {
    await gate.close();
    gate = await openLite({ ...env(), GATE_LITE_REPLAY_BYTES: '1' });
    const { begin, ask, ended } = await session();
    const { taskId } = await begin({ name: 'list_files', arguments: {} });
    await ended(taskId);
    expect((await ask('tasks/result', { taskId })).result).toMatchObject({ content: [{ type: 'text' }] });
    expect((await ask('tasks/result', { taskId })).error).toMatchObject({ data: { error: 'rate_limited' } });
  });

  it('keeps the answer under the id of who asks for it, as the tool gave it', async () => {
    const { begin, ask, ended } = await session();
    const { taskId } = await begin({ name: 'list_files', arguments: {} });
    expect(await ended(taskId)).toMatchObject({ status: 'completed' });
    for (const id of [501, 502])
      expect(await ask('tasks/result', { taskId }, id)).toMatchObject({
        id,
        result: { content: [{ type: 'text' }], _meta: { 'io.modelcontextprotocol/related-task': { taskId } } },
      });
  });

  it('is nobody else’s, under any session: not found, not listed, not cancelled', async () => {
    const { begin } = await session();
    const { taskId } = await begin(transfer(43));
    const row = await rowOf(taskId);
    const other = await session({ headers: TWO });
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      expect((await other.ask(method, { taskId })).error).toMatchObject({
        code: -32_602,
        data: { error: 'task_not_found' },
      });
    expect((await other.ask('tasks/list')).result).toEqual({ tasks: [] });
    expect((await rowOf(taskId)).status).toBe(row.status);
    // Another session of the same agent has it.
    expect((await (await session()).ask('tasks/get', { taskId })).result).toMatchObject({ taskId });
  });

  it.each<[string, JsonObject]>([
    ['tasks/get', {}],
    ['tasks/result', { taskId: 7 }],
    ['tools/call', { name: 'list_files', task: 'yes' }],
    ['tools/call', { name: 'list_files', task: { ttl: 'long' } }],
    ['tools/call', { name: 'list_files', task: { priority: 1 } }],
  ])('is 400 where %s says %j', async (method, params) => {
    const { id } = await session();
    expect(
      await gate.send('POST', '/mcp', {
        body: { jsonrpc: '2.0', id: 1, method, params },
        headers: { ...ACCEPT, ...ONE, 'mcp-session-id': id },
      }),
    ).toMatchObject({ status: 400, body: { error: { code: -32_600 } } });
  });

  it('that no call is, unknown or ordinary, is not found', async () => {
    const { ask } = await session();
    const ordinary = await ask('tools/call', { name: 'list_files' });
    expect(ordinary.result).toMatchObject({ content: expect.any(Array) });
    for (const taskId of ['5f2b0c1e-6a3d-4e57-9b8a-0c1d2e3f4a5b', 'no-such-task'])
      expect((await ask('tasks/get', { taskId })).error).toMatchObject({ code: -32_602 });
    expect((await ask('tasks/list', { cursor: 'made-up' })).error).toMatchObject({ code: -32_600 });
  });

  it('of a refused call is an error and no task', async () => {
    await gate.close();
    gate = await openLite({ ...env(), GATE_LITE_VELOCITY_LIMIT: '1' });
    const { begin, ask } = await session();
    await begin({ name: 'list_files', arguments: {} });
    expect((await ask('tools/call', { name: 'list_files', task: {} })).error).toMatchObject({
      data: { error: 'rate_limited', advice: { retry: 'after_wait' } },
    });
    expect((await ask('tasks/list')).result['tasks']).toHaveLength(1);
  });

  it('is what it was after a restart', async () => {
    const { begin, id } = await session();
    const { taskId } = await begin(transfer(44));
    await rowOf(taskId);
    const { folder: home } = gate;
    await gate.lite.close();
    gate = await openLite(env(), { folder: home });
    const ask = async (method: string) =>
      (
        await gate.send('POST', '/mcp', {
          body: { jsonrpc: '2.0', id: 5, method, params: { taskId } },
          headers: { ...ACCEPT, ...ONE, 'mcp-session-id': id },
        })
      ).body as { result: JsonObject };
    expect((await ask('tasks/get')).result).toMatchObject({ taskId, status: 'working' });
    expect(await decide(taskId, { decision: 'approve' })).toBe(200);
    await eventually('the tool ran', async () => (await ask('tasks/get')).result['status'] === 'completed');
    expect((await ask('tasks/result')).result).toMatchObject({ content: expect.any(Array) });
  });
});

describe('a cancelled task', () => {
  it('is withdrawn: its review says so, a row does, and it never runs', async () => {
    const { begin, ask } = await session();
    const before = ran('wire_transfer');
    const { taskId } = await begin(transfer(51));
    const row = await rowOf(taskId);
    expect((await ask('tasks/cancel', { taskId })).result).toMatchObject({ taskId, status: 'cancelled' });
    const taken = (await gate.send('GET', '/pending?status=withdrawn')).body as unknown as PendingRequest[];
    expect(taken).toMatchObject([{ id: row.id, status: 'withdrawn', decided_by: 'system:withdrawn-by-agent' }]);
    expect(await gate.send('POST', `/decide/${row.id}`, { body: { decision: 'approve' } })).toMatchObject({
      status: 409,
      body: { error: 'already_decided' },
    });
    expect((await ask('tasks/result', { taskId })).result).toMatchObject({
      isError: true,
      _meta: { 'gate/verdict': { error: 'call_withdrawn' } },
    });
    expect(ran('wire_transfer')).toBe(before);
  });

  it('stays cancelled: who cancels again is told that it is over', async () => {
    const { begin, ask } = await session();
    const { taskId } = await begin(transfer(52));
    await rowOf(taskId);
    await ask('tasks/cancel', { taskId });
    expect((await ask('tasks/cancel', { taskId })).error).toMatchObject({
      code: -32_602,
      data: { error: 'task_not_cancellable', status: 'cancelled' },
    });
  });

  it('is none where a person decided first, or the call is over', async () => {
    const { begin, ask, ended } = await session();
    const { taskId } = await begin({ name: 'list_files', arguments: {} });
    await ended(taskId);
    expect((await ask('tasks/cancel', { taskId })).error).toMatchObject({ data: { status: 'completed' } });
    const denied = await begin(transfer(53));
    await decide(denied.taskId, { decision: 'deny' });
    expect((await ask('tasks/cancel', { taskId: denied.taskId })).error).toMatchObject({ data: { status: 'failed' } });
  });
});

describe('a client that has the stream of its session open', () => {
  it('is told when a task begins to wait, and what became of it, and nothing of another agent’s', async () => {
    const { id, begin } = await session();
    const other = await session({ headers: TWO });
    const gone = new AbortController();
    const answer = await fetch(`${gate.lite.url}/mcp`, {
      headers: { accept: 'text/event-stream', ...ONE, 'mcp-session-id': id },
      signal: gone.signal,
    });
    const heard: JsonObject[] = [];
    const all = (async () => {
      for await (const message of messages(answer)) heard.push(message['params'] as JsonObject);
    })().catch(() => undefined);
    await other.begin(transfer(71));
    const { taskId } = await begin(transfer(72));
    await eventually('it is told that the task waits', async () => heard.length > 0);
    expect(heard).toMatchObject([{ taskId, status: 'working', statusMessage: expect.stringContaining('waits') }]);
    expect(await decide(taskId, { decision: 'approve' })).toBe(200);
    await eventually('it is told that the task is over', async () => heard.at(-1)?.['status'] === 'completed');
    gone.abort();
    await all;
    expect(heard.at(-1)).toMatchObject({ taskId, status: 'completed', ttl: expect.any(Number) });
    expect(new Set(heard.map((task) => task['taskId']))).toEqual(new Set([taskId]));
  });

  it('is told the end of a task that waited before', async () => {
    const { id, begin } = await session();
    const { taskId } = await begin(transfer(73));
    await rowOf(taskId);
    const gone = new AbortController();
    const answer = await fetch(`${gate.lite.url}/mcp`, {
      headers: { accept: 'text/event-stream', ...ONE, 'mcp-session-id': id },
      signal: gone.signal,
    });
    const next = messages(answer).next();
    await decide(taskId, { decision: 'deny' });
    expect((await next).value).toMatchObject({
      method: 'notifications/tasks/status',
      params: { taskId, status: 'failed', statusMessage: expect.stringContaining('review_denied') },
    });
    gone.abort();
  });
});

/** The messages of an event stream. */
async function* messages(answer: Response): AsyncGenerator<JsonObject> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const [, data = ''] = /^data: (.+)$/m.exec(text.slice(0, end)) ?? [];
      text = text.slice(end + 2);
      if (data !== '') yield JSON.parse(data) as JsonObject;
    }
  }
}

describe('a client that opens addresses for its user', () => {
  const stream = (sessionId: string, method: string, params: JsonObject) =>
    fetch(`${gate.lite.url}/mcp`, {
      method: 'POST',
      headers: { ...ACCEPT, ...ONE, 'content-type': 'application/json', 'mcp-session-id': sessionId },
      body: JSON.stringify({ jsonrpc: '2.0', id: 61, method, params }),
    });

  it.each([
    ['a call', false],
    ['a task', true],
  ])(
    'is asked to open the page where it is decided about %s that waits, and told when that is over',
    async (_, isTask) => {
      const { id, begin } = await session({ capabilities: { elicitation: { url: {} } } });
      const task = isTask ? await begin(transfer(62)) : null;
      if (task) await rowOf(task.taskId);
      const answer = task
        ? await stream(id, 'tasks/result', { taskId: task.taskId })
        : await stream(id, 'tools/call', transfer(61));
      const heard: JsonObject[] = [];
      for await (const message of messages(answer)) {
        heard.push(message);
        if (message['method'] !== 'elicitation/create') continue;
        const { elicitationId, url, _meta } = message['params'] as JsonObject & { elicitationId: string };
        const row = await rowOf(elicitationId);
        expect(url).toBe(`${gate.lite.url}/hil/${row.id}`);
        expect(_meta).toEqual(task ? { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } } : undefined);
        // Whatever the client answers, nothing is decided by it.
        const said = await gate.send('POST', '/mcp', {
          body: { jsonrpc: '2.0', id: message['id'] as string, result: { action: 'accept' } },
          headers: { ...ACCEPT, ...ONE, 'mcp-session-id': id },
        });
        expect([said.status, (await rowOf(elicitationId)).status]).toEqual([202, 'pending']);
        expect(await decide(elicitationId, { decision: 'approve' })).toBe(200);
      }
      expect(heard.map(({ method = 'the answer' }) => method)).toEqual([
        'elicitation/create',
        'notifications/elicitation/complete',
        'the answer',
      ]);
    },
  );

  it.each([
    ['says nothing of it', {}],
    ['fills in forms alone', { elicitation: {} }],
  ])('is told in a log message, and not asked, where it %s', async (_, capabilities) => {
    const { id } = await session({ capabilities });
    const answer = await stream(id, 'tools/call', transfer(63));
    const heard: JsonObject[] = [];
    const all = (async () => {
      for await (const message of messages(answer)) heard.push(message);
    })();
    const [row] = await eventually('the call waits', async () => {
      const rows = (await gate.send('GET', '/pending')).body as unknown as PendingRequest[];
      return rows.length > 0 && rows;
    });
    await decide(row?.correlation_id ?? '', { decision: 'deny' });
    await all;
    expect(heard).toMatchObject([
      { method: 'notifications/message', params: { data: { correlation_id: row?.correlation_id } } },
      { id: 61, result: { isError: true } },
    ]);
  });
});
