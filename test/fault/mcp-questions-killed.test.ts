import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import pg from 'pg';
import type { JsonObject } from '../../contracts/json.js';
import { ASKED, type AskingServer, startAskingServer, TELLING, type Telling, TOOL } from '../support/asking-server.js';
import { type PlainAddress, plainAddress } from '../support/plain-address.js';
import { type SeparateStack, startSeparateStack } from '../support/separate-stack.js';
import { STACK_START_LIMIT_MS } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

/** As its client is asked it. */
const TOLD = `The server of a tool, and not Gate, asks: \`${ASKED}\``;
const AGENT = 'support-bot';
const ANOTHER = 'build-bot';
const SECOND = ['proxy-2:8443', 'proxy-2:8080'] as const;
const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: TOOL, arguments: {} } };

/** The server stands outside and outlives the processes, so that what it did can be counted. */
describe('what a tool asks its client, proxy and worker being processes of their own', () => {
  let server: AskingServer;
  let stack: SeparateStack;
  const addresses: PlainAddress[] = [];
  const clients: Client[] = [];

  /** What a client without a certificate is given; it outlives its proxy. */
  const addressOf = async (name: string, agent = AGENT): Promise<PlainAddress> => {
    const file = (of: string) => stack.file('operator', of);
    const leaf = { ca: file('ca.crt'), cert: file(`${agent}.crt`), key: file(`${agent}.key`) };
    const address = await plainAddress(`https://localhost:${stack.port(name)}`, leaf);
    addresses.push(address);
    return address;
  };
  const send = (
    address: PlainAddress,
    body: JsonObject,
    headers: Record<string, string> = {},
    signal: AbortSignal | null = null,
  ) =>
    fetch(`${address.url}/mcp`, {
      method: 'POST',
      signal,
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  beforeAll(async () => {
    server = await startAskingServer();
    const tools = { GATE_UPSTREAM_URL: server.url, GATE_UPSTREAM_NAME: 'asking', GATE_UPSTREAM_TIMEOUT_SECS: '60' };
    stack = await startSeparateStack({ proxy: tools, worker: tools });
    const address = await addressOf('proxy:8443');
    await (await send(address, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).text();
    for (const tool of [TOOL, TELLING]) await stack.operator('tools', 'set', tool, 'read', '--reason', 'a test');
  }, STACK_START_LIMIT_MS);
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    for (const tool of server.telling) tool.end();
    for (const address of addresses.splice(0)) address.close();
  });
  afterAll(async () => {
    await stack?.stop();
    await server?.close();
  }, 60_000);

  /** A client of the SDK that can be asked both, and what it was asked. */
  async function client(address: PlainAddress, answer: () => Promise<void> = async () => undefined, pin?: string) {
    const asked: string[] = [];
    const made = new Client(
      { name: 'an agent', version: '1' },
      {
        capabilities: { elicitation: {}, sampling: {} },
        ...(pin !== undefined && { versionNegotiation: { mode: { pin } } }),
      },
    );
    made.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      await answer();
      return { action: 'accept' as const, content: { account: 'DE89' } };
    });
    made.setRequestHandler('sampling/createMessage', async () => {
      asked.push('sample');
      return { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'Rosalind' } };
    });
    clients.push(made);
    // As long as a proxy may take to start again.
    const reconnectionOptions = {
      initialReconnectionDelay: 200,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 1.5,
      maxRetries: 60,
    };
    await made.connect(new StreamableHTTPClientTransport(new URL(`${address.url}/mcp`), { reconnectionOptions }));
    return { made, asked };
  }
  const called = async (made: Client) =>
    JSON.stringify(await made.callTool({ name: TOOL, arguments: {} }, { timeout: 120_000 }));

  it.each([
    ['of a revision with sessions', undefined],
    ['of the revision without', '2026-07-28'],
  ])(
    'reaches a client %s, and its answers reach the tool, which runs once',
    async (_, pin) => {
      const before = server.runs();
      const { made, asked } = await client(await addressOf('proxy:8443'), undefined, pin);
      expect(await called(made)).toMatch(/accept.*DE89.*Rosalind/);
      expect([asked, server.runs() - before]).toEqual([[TOLD, 'sample'], 1]);
    },
    120_000,
  );

  it('is asked again after kill -9 of the proxy, of the client that comes back to its stream, and the tool runs once', async () => {
    const before = server.runs();
    const address = await addressOf('proxy:8443');
    let killed: Promise<void> | undefined;
    const { made, asked } = await client(address, async () => {
      if (killed) return;
      killed = stack.killed('proxy');
      await killed;
      // What is said now, nobody hears.
      throw new Error('the user is gone for a moment');
    });
    const answer = called(made);
    await eventually('it was asked', () => killed !== undefined);
    await killed;
    const open = (await kept()).filter(({ answered }) => !answered);
    expect(open).toMatchObject([{ inClear: false }]);
    await stack.back('proxy');
    expect(await answer).toMatch(/accept.*DE89.*Rosalind/);
    expect(asked.filter((what) => what === TOLD).length).toBeGreaterThan(1);
    expect(server.runs() - before).toBe(1);
  }, 180_000);

  it('is uncertain after kill -9 of the worker while it waited: no answer sends it again', async () => {
    const before = server.runs();
    const { made, asked } = await client(await addressOf('proxy:8443'), async () => {
      await stack.killed('worker');
      await stack.back('worker');
    });
    const uncertain = await called(made);
    expect(uncertain).toContain('server_execution_uncertain');
    const [, id] = /"correlation_id":"([^"]+)"/.exec(uncertain) ?? [];
    expect([asked, server.runs() - before]).toEqual([[TOLD], 1]);
    expect((await kept()).filter((one) => one.id === id)).toEqual([]);
    expect(await called((await client(await addressOf('proxy:8443'))).made)).toMatch(/accept.*DE89/);
    expect(server.runs() - before).toBe(2);
  }, 180_000);

  it('ends well where its client goes for good, in the time that tools have by default', async () => {
    await stack.killed('proxy');
    await stack.back('proxy', { GATE_UPSTREAM_TIMEOUT_SECS: '' });
    const before = server.runs();
    const address = await addressOf('proxy:8443');
    const opened = await send(address, {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: { elicitation: {}, sampling: {} },
        clientInfo: { name: 'bare', version: '1' },
      },
    });
    await opened.text();
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string };
    const hangUp = new AbortController();
    const stream = messagesOf(await send(address, { ...CALL, id: 11 }, session, hangUp.signal));
    await stream.next('elicitation/create');
    const place = stream.place();
    hangUp.abort();
    await eventually('the tool hears of it', async () => (await kept()).every(({ answered }) => answered));
    const again = messagesOf(
      await fetch(`${address.url}/mcp`, {
        headers: { accept: 'text/event-stream', ...session, 'last-event-id': place },
      }),
    );
    const answer = JSON.stringify(await again.answer());
    expect(answer).toContain('nobody holds a request');
    expect(answer).not.toContain('server_execution_uncertain');
    expect(server.runs() - before).toBe(1);
    await stack.killed('proxy');
    await stack.back('proxy');
  }, 180_000);

  describe('what a tool says meanwhile', () => {
    const WITH_PROGRESS = {
      ...CALL,
      params: { name: TELLING, arguments: {}, _meta: { progressToken: 'mine' } },
    };
    /** The run of the tool that begins now. */
    const begins = async (before: number): Promise<Telling> =>
      eventually('the tool runs', () => server.telling[before]);
    const progressOf = async (stream: ReturnType<typeof messagesOf>) =>
      (await stream.next('notifications/progress'))['params'];
    const comesBack = async (address: PlainAddress, session: Record<string, string>, place: string) =>
      messagesOf(
        await fetch(`${address.url}/mcp`, {
          headers: { accept: 'text/event-stream', ...session, 'last-event-id': place },
        }),
      );
    async function opened(address: PlainAddress) {
      const said = await send(address, {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bare', version: '1' } },
      });
      await said.text();
      return { 'mcp-session-id': said.headers.get('mcp-session-id') as string };
    }
    const keptNotes = async (): Promise<readonly string[]> =>
      (await rowsOf<{ text: string }>(`select encode(notes, 'escape') as text from gate_calls.mcp_notes`)).map(
        ({ text }) => text,
      );

    it.each([
      ['of a revision with sessions', undefined],
      ['of the revision without', '2026-07-28'],
    ])(
      'reaches a client %s on its open response, in order, the last of it before the answer',
      async (_, pin) => {
        const [before, heard] = [server.telling.length, [] as unknown[]];
        const { made } = await client(await addressOf('proxy:8443'), undefined, pin);
        made.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data));
        const answer = made.callTool(
          {
            name: TELLING,
            arguments: {},
            ...(pin !== undefined && { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }),
          },
          { timeout: 120_000, onprogress: ({ progress }) => void heard.push(progress) },
        );
        const tool = await begins(before);
        for (const at of [1, 2, 3]) {
          await tool.progress(at);
          await tool.log(`words ${at}`);
        }
        await eventually('it is heard while the tool runs', () => heard.length === 6);
        await tool.progress(4);
        await tool.log('the last words');
        tool.end();
        expect(JSON.stringify(await answer)).toContain('told');
        expect(heard).toEqual([1, 'words 1', 2, 'words 2', 3, 'words 3', 4, 'the last words']);
        expect(await keptNotes()).toEqual([]);
      },
      120_000,
    );

    it('is heard after kill -9 of the proxy by the client that comes back to its stream, what was said meanwhile first', async () => {
      const before = server.telling.length;
      const address = await addressOf('proxy:8443');
      const session = await opened(address);
      const stream = messagesOf(await send(address, { ...WITH_PROGRESS, id: 21 }, session));
      const tool = await begins(before);
      await tool.progress(1);
      expect(await progressOf(stream)).toEqual({ progressToken: 'mine', progress: 1 });
      await stack.killed('proxy');
      await tool.progress(2);
      await tool.log('aubergine');
      await eventually('it is kept', async () => (await keptNotes()).length > 0);
      expect((await keptNotes()).join()).not.toContain('aubergine');
      await stack.back('proxy');
      const again = await comesBack(address, session, stream.place());
      expect(await progressOf(again)).toEqual({ progressToken: 'mine', progress: 2 });
      expect((await again.next('notifications/message'))['params']).toMatchObject({ data: 'aubergine' });
      await tool.progress(3);
      expect(await progressOf(again)).toEqual({ progressToken: 'mine', progress: 3 });
      tool.end();
      expect(JSON.stringify(await again.answer())).toContain('told');
      expect(server.telling).toHaveLength(before + 1);
    }, 180_000);

    it('ends with kill -9 of the worker: the call is uncertain, and nothing of what was said stays', async () => {
      const before = server.telling.length;
      const address = await addressOf('proxy:8443');
      const stream = messagesOf(await send(address, { ...WITH_PROGRESS, id: 22 }, await opened(address)));
      const tool = await begins(before);
      await tool.progress(1);
      expect(await progressOf(stream)).toEqual({ progressToken: 'mine', progress: 1 });
      await stack.killed('worker');
      await tool.progress(2).catch(() => undefined);
      await stack.back('worker');
      expect(JSON.stringify(await stream.answer())).toContain('server_execution_uncertain');
      tool.end();
      expect([await keptNotes(), server.telling.length]).toEqual([[], before + 1]);
    }, 180_000);

    it('is cut short where it is too much for a client that reads nothing: its answer and other calls come all the same', async () => {
      const before = server.telling.length;
      const address = await addressOf('proxy:8443');
      const session = await opened(address);
      const slow = await send(address, { ...WITH_PROGRESS, id: 23 }, session);
      const tool = await begins(before);
      const words = 'x'.repeat(2_000);
      for (let at = 0; at < 8_000; at += 1) await tool.log(`${at} ${words}`);
      const other = await begins(await anotherRuns(await addressOf('proxy:8443')));
      other.end();
      tool.end();
      const stream = messagesOf(slow);
      expect(JSON.stringify(await stream.answer())).toContain('told');
      const logs = stream
        .passed()
        .filter(({ method }) => method === 'notifications/message')
        .map(({ params }) => params as { readonly logger?: string; readonly data: string });
      // That something was dropped, which Gate says.
      expect(logs.some(({ logger }) => logger === 'gate')).toBe(true);
      const heard = logs.filter(({ logger }) => logger !== 'gate').map(({ data }) => Number.parseInt(data, 10));
      expect(heard).toEqual(heard.toSorted((one, next) => one - next));
      expect(new Set(heard).size).toBe(heard.length);
      const metrics = await (await fetch(`http://localhost:${stack.healthPort('worker')}/metrics`)).text();
      const dropped = Number(/^gate_worker_tool_messages_dropped_total (\d+)$/m.exec(metrics)?.[1]);
      expect(dropped).toBeGreaterThan(0);
      expect(heard.length + dropped).toBeLessThanOrEqual(8_000);
    }, 180_000);

    /** A call of another client, beside; gives how many runs there were before it. */
    async function anotherRuns(address: PlainAddress): Promise<number> {
      const before = server.telling.length;
      const { made } = await client(address);
      void made.callTool({ name: TELLING, arguments: {} }, { timeout: 120_000 }).catch(() => undefined);
      return before;
    }
  });

  describe('with two proxies', () => {
    beforeAll(async () => {
      for (const name of SECOND) await stack.portOf(name);
      stack.running.set(
        'proxy-2',
        stack.start('proxy', {
          GATE_PROXY_PORT: String(stack.port(SECOND[0])),
          GATE_PROXY_HEALTH_PORT: String(stack.port(SECOND[1])),
        }),
      );
      const { child } = stack.running.get('proxy-2') as { child: { exitCode: number | null } };
      await eventually('the second proxy is ready', async () => {
        if (child.exitCode !== null) throw new Error(stack.running.get('proxy-2')?.output());
        const probe = await fetch(`http://localhost:${stack.port(SECOND[1])}/readyz`).catch(() => null);
        return probe?.status === 200;
      });
    }, 120_000);

    async function opened(address: PlainAddress) {
      const said = await send(address, {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-11-25',
          capabilities: { elicitation: {}, sampling: {} },
          clientInfo: { name: 'bare', version: '1' },
        },
      });
      await said.text();
      return { 'mcp-session-id': said.headers.get('mcp-session-id') as string };
    }
    /** A session at this proxy, and the stream of a call in it. */
    async function begun(address: PlainAddress, id: number) {
      const session = await opened(address);
      const stream = messagesOf(await send(address, { ...CALL, id }, session));
      return { session, stream };
    }

    it('is put by the one that holds the stream, answered at any, once, and from that session alone', async () => {
      const before = server.runs();
      const [first, second] = [await addressOf('proxy:8443'), await addressOf(SECOND[0])];
      const { session, stream } = await begun(first, 7);
      const other = await begun(second, 8);
      const [question, others] = [
        await stream.next('elicitation/create'),
        await other.stream.next('elicitation/create'),
      ];
      const accepts = (account: string) => ({
        jsonrpc: '2.0',
        id: question.id as string,
        result: { action: 'accept', content: { account } },
      });
      // Of another session of the same agent, and by a name that no session was given.
      for (const [body, by] of [
        [accepts('from another session'), other.session],
        [{ ...accepts('forged'), id: (question.id as string).slice(0, -1) }, session],
        [{ ...accepts('of another question'), id: others.id as string }, session],
      ] as const)
        expect((await send(second, body, by)).status).toBe(202);
      for (const account of ['DE89', 'second'])
        expect((await send(second, accepts(account), session)).status).toBe(202);
      const sample = await stream.next('sampling/createMessage');
      const said = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Rosalind' } };
      expect((await send(first, { jsonrpc: '2.0', id: sample.id as string, result: said }, session)).status).toBe(202);
      expect(JSON.stringify(await stream.answer())).toMatch(/accept.*DE89.*Rosalind/);
      const error = { code: -1, message: 'no' };
      await send(first, { jsonrpc: '2.0', id: others.id as string, error }, other.session);
      expect(JSON.stringify(await other.stream.answer())).toContain('"isError":true');
      expect(server.runs() - before).toBe(2);
      expect((await kept()).filter(({ answered }) => !answered)).toEqual([]);
    }, 120_000);

    it('of the revision without sessions: is answered at another one than the one that asked', async () => {
      const before = server.runs();
      const [first, second] = [await addressOf('proxy:8443'), await addressOf(SECOND[0])];
      const version = '2026-07-28';
      const ask = async (address: PlainAddress, brings: JsonObject): Promise<JsonObject> => {
        const _meta = {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {} },
        };
        const body = { ...CALL, params: { ...CALL.params, ...brings, _meta } };
        const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': TOOL };
        const said = await send(address, body, { ...headers, accept: 'application/json' });
        return ((await said.json()) as { result: JsonObject }).result;
      };
      const answered = (result: JsonObject, answer: JsonObject): JsonObject => {
        const [key = ''] = Object.keys(result['inputRequests'] as JsonObject);
        return { requestState: result['requestState'] as string, inputResponses: { [key]: answer } };
      };
      const asked = await ask(first, {});
      expect(JSON.stringify(asked['inputRequests'])).toContain(ASKED);
      const more = await ask(second, answered(asked, { action: 'accept', content: { account: 'DE89' } }));
      expect(JSON.stringify(more['inputRequests'])).toContain('sampling/createMessage');
      const content = { type: 'text', text: 'Rosalind' };
      const done = await ask(first, answered(more, { role: 'assistant', model: 'm', content }));
      expect([done['resultType'], JSON.stringify(done['content'])]).toEqual([
        'complete',
        expect.stringMatching(/accept.*DE89.*Rosalind/),
      ]);
      expect(server.runs() - before).toBe(1);
    }, 60_000);

    it('is told to no other agent, whatever place in a stream it names', async () => {
      const first = await addressOf('proxy:8443');
      const { session, stream } = await begun(first, 10);
      const question = await stream.next('elicitation/create');
      const stranger = await addressOf('proxy:8443', ANOTHER);
      const theirs = messagesOf(
        await fetch(`${stranger.url}/mcp`, {
          headers: { accept: 'text/event-stream', ...(await opened(stranger)), 'last-event-id': stream.place() },
        }),
      );
      expect(JSON.stringify(await theirs.answer())).toContain('no call of this agent');
      const error = { code: -1, message: 'no' };
      await send(first, { jsonrpc: '2.0', id: question.id as string, error }, session);
      expect((await stream.answer()).id).toBe(10);
      expect(theirs.passed()).toEqual([]);
    }, 60_000);

    it('goes on at another one where the one that held the stream was killed', async () => {
      const before = server.runs();
      const [first, second] = [await addressOf('proxy:8443'), await addressOf(SECOND[0])];
      const { session, stream } = await begun(first, 9);
      const question = await stream.next('elicitation/create');
      await stack.killed('proxy');
      const resumed = messagesOf(
        await fetch(`${second.url}/mcp`, {
          headers: { accept: 'text/event-stream', ...session, 'last-event-id': stream.place() },
        }),
      );
      const again = await resumed.next('elicitation/create');
      // The name that the killed one gave it still counts.
      expect(again.id).toBe(question.id);
      const result = { action: 'decline' };
      expect((await send(second, { jsonrpc: '2.0', id: question.id as string, result }, session)).status).toBe(202);
      const sample = await resumed.next('sampling/createMessage');
      const error = { code: -32_603, message: 'no model' };
      await send(second, { jsonrpc: '2.0', id: sample.id as string, error }, session);
      const answer = await resumed.answer();
      expect([answer.id, JSON.stringify(answer)]).toEqual([9, expect.stringContaining('no model')]);
      expect(server.runs() - before).toBe(1);
      await stack.back('proxy');
    }, 180_000);
  });

  /** What is kept of questions now, as whoever reads the store sees it. */
  async function kept(): Promise<readonly { id: string; inClear: boolean; answered: boolean }[]> {
    const rows = await rowsOf<{ id: string; text: string; answered: boolean }>(
      `select correlation_id as id, encode(question, 'escape') as text, answer is not null as answered from gate_calls.mcp_questions`,
    );
    return rows.map(({ text, ...row }) => ({ ...row, inClear: text.includes('aubergine') }));
  }
  async function rowsOf<Row extends object>(query: string): Promise<readonly Row[]> {
    const database = new pg.Client({ connectionString: stack.postgres.url });
    await database.connect();
    try {
      return (await database.query<Row>(query)).rows;
    } finally {
      await database.end();
    }
  }
});

type Message = JsonObject & { readonly method?: string };

/** The messages of an event stream as they come; those that were passed over are gone. */
function messagesOf(response: Response) {
  let last = '';
  const passed: Message[] = [];
  /** What is no event: an answer that is no stream. */
  let rest = '';
  const events = (async function* () {
    let text = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(chunk);
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        last = /^id: (\S+)$/m.exec(event)?.[1] ?? last;
        const data = /^data: (.+)$/m.exec(event)?.[1];
        if (data !== undefined) yield JSON.parse(data) as Message;
      }
      rest = text;
    }
  })();
  const first = async (what: string, is: (message: Message) => boolean): Promise<Message> => {
    for (;;) {
      const { value, done } = await events.next();
      if (done) throw new Error(`the stream ended before ${what}: ${rest}`);
      if (is(value)) return value;
      passed.push(value);
    }
  };
  return {
    next: (method: string) => first(method, (message) => message.method === method),
    answer: () => first('its answer', (message) => message.method === undefined),
    place: () => last,
    passed: () => passed,
  };
}
