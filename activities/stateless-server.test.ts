import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '../contracts/json.js';
import type { ClientAnswer, Listener } from '../domain/upstream/call-talks.js';
import { faultOf } from '../domain/upstream/noted-upstream.js';
import type { Upstream, UpstreamCaller } from '../domain/upstream/upstream.js';
import { type ConformanceUpstream, startStatelessUpstream } from '../test/support/conformance-upstream.js';
import { createMcpUpstream } from './mcp-upstream.js';
import { listedParams } from './stateless-server.js';
import { sessionsInMemory, type UpstreamSession } from './upstream-sessions.js';

const LIMIT = { timeoutMs: 5_000 };
const ASKED_BY: UpstreamCaller = { tenant: 'acme', agent: 'one', client_can: ['elicitation', 'sampling', 'roots'] };
const call = (name: string, given: JsonObject = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: given },
});
const accepts = (content: JsonObject): ClientAnswer => ['result', JSON.stringify({ action: 'accept', content })];

/** A client that answers by the keys of the questions, and what it was asked. */
function answering(answers: Readonly<Record<string, ClientAnswer>>) {
  const asked: string[] = [];
  const listener: Listener = {
    progress: false,
    told: () => undefined,
    async asked(method, _params, _timeoutMs, key = '') {
      asked.push(`${key}: ${method}`);
      const answer = answers[key];
      if (!answer) throw new Error('the client is gone');
      return answer;
    },
  };
  return { asked, listener };
}

describe.each([
  ['serves older revisions without sessions', false],
  ['speaks that revision alone', true],
])('an upstream of MCP 2026-07-28 that %s', (_, alone) => {
  let server: ConformanceUpstream;
  let upstream: Upstream;
  const heard: IncomingMessage['headers'][] = [];
  beforeEach(async () => {
    heard.length = 0;
    server = await startStatelessUpstream(({ headers }) => heard.push(headers), alone);
    upstream = createMcpUpstream({ url: server.url });
  });
  afterEach(async () => {
    await upstream.close();
    await server.close();
  });
  const sent = () => heard.filter((headers) => headers['mcp-method'] === 'tools/call');
  const textOf = (outcome: Awaited<ReturnType<Upstream['callTool']>>) =>
    outcome.kind === 'reply' ? outcome.text : JSON.stringify(outcome);

  it('is called, lists and introduces itself', async () => {
    const outcome = await upstream.callTool(ASKED_BY, call('test_simple_text'), LIMIT);
    expect(outcome).toMatchObject({ kind: 'reply', failed: false, statusCode: 200 });
    expect(JSON.parse(textOf(outcome))).toMatchObject({ id: 7, result: { content: [{ type: 'text' }] } });
    const asked = async (method: string) =>
      textOf((await upstream.control(ASKED_BY, { jsonrpc: '2.0', id: 1, method, params: {} }, LIMIT)) as never);
    expect(await asked('tools/list')).toContain('test_simple_text');
    expect(JSON.parse(await asked('initialize'))).toMatchObject({ result: { capabilities: { tools: {} } } });
  });

  it('asks by its own keys, round by round, and is told what it gave its client to keep', async () => {
    const { asked, listener } = answering({ step1: accepts({ name: 'Alice' }), step2: accepts({ color: 'blue' }) });
    const tool = call('test_input_required_result_multi_round');
    expect(textOf(await upstream.callTool(ASKED_BY, tool, { ...LIMIT, listener }))).toContain('Color: blue');
    expect(asked).toEqual(['step1: elicitation/create', 'step2: elicitation/create']);
    expect(sent()).toHaveLength(3);
  });

  it('begins no call from the start in another revision, once it has asked', async () => {
    const { listener } = answering({ step1: accepts({ name: 'Alice' }) });
    const kept = sessionsInMemory();
    let isAnother = false;
    const older = ({ stateless, ...session }: UpstreamSession): UpstreamSession =>
      isAnother || stateless === undefined ? session : { ...session, stateless };
    const changing = createMcpUpstream({
      url: server.url,
      sessions: { ...kept, of: async (caller, open) => older(await kept.of(caller, open)) },
    });
    const outcome = await changing.callTool(ASKED_BY, call('test_input_required_result_multi_round'), {
      ...LIMIT,
      listener: {
        ...listener,
        asked(...asked) {
          isAnother = true;
          return listener.asked(...asked);
        },
      },
    });
    await changing.close();
    expect(outcome).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('another one') });
    expect(sent()).toHaveLength(1);
  });

  it('asks several things at once', async () => {
    const { asked, listener } = answering({
      user_name: accepts({ name: 'Alice' }),
      greeting: ['result', '{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}'],
      client_roots: ['result', '{"roots":[]}'],
    });
    const tool = call('test_input_required_result_multiple_inputs');
    expect(textOf(await upstream.callTool(ASKED_BY, tool, { ...LIMIT, listener }))).toContain('all said');
    expect(asked.toSorted()).toEqual([
      'client_roots: roots/list',
      'greeting: sampling/createMessage',
      'user_name: elicitation/create',
    ]);
  });

  it.each<[string, ReturnType<typeof answering> | null, RegExp]>([
    ['nobody listens', null, /cannot be asked while/],
    ['the client is gone', answering({}), /the client is gone/],
    ['the client refuses', answering({ user_name: ['error', '{"code":-1,"message":"no"}'] }), /refused to answer/],
  ])('ends its call with an error of the tool where %s', async (_why, client, words) => {
    const outcome = await upstream.callTool(ASKED_BY, call('test_input_required_result_elicitation'), {
      ...LIMIT,
      ...(client && { listener: client.listener }),
    });
    expect(outcome).toMatchObject({ kind: 'reply', failed: true });
    expect(textOf(outcome)).toMatch(words);
    expect(sent()).toHaveLength(1);
  });

  it('is refused by itself what the client did not declare', async () => {
    const { asked, listener } = answering({ user_name: accepts({ name: 'Alice' }) });
    const caller = { tenant: 'acme', agent: 'one' };
    const tool = call('test_input_required_result_elicitation');
    const outcome = await upstream.callTool(caller, tool, { ...LIMIT, listener });
    expect(outcome).toMatchObject({ kind: 'reply', failed: true });
    expect(JSON.parse(textOf(outcome))).toMatchObject({ id: 7, error: { code: -32_021 } });
    expect(asked).toEqual([]);
  });

  it('says what it does meanwhile to whoever listens', async () => {
    const told: string[] = [];
    const { listener } = answering({});
    const hears = { ...listener, told: (method: string, params: string) => void told.push(`${method} ${params}`) };
    await upstream.callTool(ASKED_BY, call('test_logging_tool'), { ...LIMIT, listener: hears });
    expect(told).toEqual([expect.stringMatching(/^notifications\/message .*said only to who asks for it/)]);
    await upstream.callTool(ASKED_BY, call('test_logging_tool'), LIMIT);
    expect(told).toHaveLength(1);
  });

  it('gets the headers that its tool wants, also where nobody listed its tools before', async () => {
    const tool = call('test_mirrored_region', { region: 'zürich' });
    expect(textOf(await upstream.callTool(ASKED_BY, tool, LIMIT))).toContain('zürich');
    expect(sent().map((headers) => headers['mcp-param-region'])).toEqual([undefined, '=?base64?esO8cmljaA==?=']);
    await upstream.callTool(ASKED_BY, tool, LIMIT);
    expect(sent()).toHaveLength(3);
  });
});

describe('a server of MCP 2026-07-28 that answers with statuses', () => {
  let server: Server;
  let upstream: Upstream;
  let refusing: number;
  beforeEach(async () => {
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      const { id, method } = (await json(request)) as { id?: string; method: string };
      const error = { code: -32_000, message: `not ${method}` };
      const found = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
      const status = method === 'initialize' ? 400 : method === 'server/discover' ? 200 : refusing;
      const said = method === 'server/discover' ? { result: found } : { error };
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...said }));
    };
    server = createServer((request, response) => void answer(request, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    upstream = createMcpUpstream({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` });
  });
  afterEach(async () => {
    await upstream.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const answers = async (status: number) => {
    refusing = status;
    const request = { jsonrpc: '2.0', id: 1, method: 'prompts/list', params: {} };
    return [await upstream.callTool(ASKED_BY, call('x'), LIMIT), await upstream.control(ASKED_BY, request, LIMIT)];
  };
  const words = {
    text: expect.stringMatching(/"error":\{"code":-32000,"message":"not (?:tools\/call|prompts\/list)"/),
  };

  it.each([400, 404])('says by HTTP %i too what is wrong with a request, and is well', async (status) => {
    for (const outcome of await answers(status)) {
      expect(outcome).toMatchObject({ kind: 'reply', failed: true, statusCode: 200, ...words });
      expect(faultOf(outcome)).toBeNull();
    }
  });

  it.each([401, 403, 429, 500, 503])('is not well with HTTP %i, whatever it says beside it', async (status) => {
    for (const outcome of await answers(status)) {
      expect(outcome).toMatchObject({ kind: 'reply', failed: true, statusCode: status, ...words });
      expect(faultOf(outcome)).toBe('refused');
    }
  });
});

describe('what the tools of a list want repeated in headers', () => {
  const marked = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } };

  it.each([null, 5, 'a tool', [], true, { name: 5 }, {}])('is learned of those beside %j, which is none', (none) => {
    const params = listedParams();
    const tools = [none, { name: 'pay', inputSchema: marked }, none];
    params.heard(ASKED_BY, JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } }));
    expect(params.of(ASKED_BY, 'pay')).toEqual([{ name: 'Region', path: ['region'] }]);
  });

  it('is learned from any answer without an error, whatever a server lists', () => {
    const { heard } = listedParams();
    const tool = fc.oneof(fc.jsonValue(), fc.record({ name: fc.string(), inputSchema: fc.jsonValue() }));
    fc.assert(
      fc.property(fc.oneof(fc.array(tool), fc.jsonValue()), (tools) => {
        heard(ASKED_BY, JSON.stringify({ result: { tools, 'x-mcp-header': 1 } }));
        heard(ASKED_BY, JSON.stringify({ result: tools }));
      }),
    );
  });
});
