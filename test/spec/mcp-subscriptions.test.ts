import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { type ConformanceUpstream, startConformanceUpstream } from '../support/conformance-upstream.js';
import { type LiteFixture, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const OPERATOR = 'the-token-of-an-operator-of-this-test';
const TOOL = 'test_change_resource';
const WATCHED = 'test://watched-resource';
const OTHER = 'test://static-text';
const STATELESS = '2026-07-28';

/** The tool says that each resource changed which its session with Gate is subscribed to, and of how many it said so. */
describe('what clients of one agent are subscribed to', () => {
  let upstream: ConformanceUpstream;
  let gate: LiteFixture;
  const env = () => ({
    GATE_LITE_UPSTREAM_URL: upstream.url,
    GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
    GATE_LITE_DECIDE_TOKEN: OPERATOR,
  });
  const leave: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    upstream = await startConformanceUpstream();
    gate = await openLite(env());
    await gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
    await gate.send('POST', '/tools/class', {
      body: { tool: TOOL, class: 'read', reason: 'a test' },
      headers: { authorization: `Bearer ${OPERATOR}` },
    });
  });
  afterEach(async () => {
    for (const one of leave.splice(0)) await one();
    await eventually('nothing is subscribed to any more', async () => (await (await session()).change()) === 0);
  });
  afterAll(async () => {
    await gate.close();
    await upstream.close();
  });

  const accept = 'application/json, text/event-stream';
  /** What comes on a stream; `close` hangs up. */
  async function listened(method: string, headers: Record<string, string>, body?: JsonObject) {
    const over = new AbortController();
    const answer = await fetch(`${gate.lite.url}/mcp`, {
      method,
      headers: { accept, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: over.signal,
    });
    expect(answer.status).toBe(200);
    const said = { text: '' };
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const part of answer.body as AsyncIterable<Uint8Array>)
        said.text += decoder.decode(part, { stream: true });
    })().catch(() => undefined);
    const close = async () => {
      over.abort();
      await reading;
    };
    leave.push(close);
    const heard = () =>
      said.text
        .split('\n')
        // The last one may not be whole yet.
        .slice(0, -1)
        .filter((line) => line.startsWith('data: {') && line.includes('notifications/resources/updated'))
        .map((line) => (JSON.parse(line.slice('data: '.length)) as { params: { uri: string } }).params.uri);
    return { close, heard };
  }

  /** A session of the agent, or one that it opened before. */
  async function session(known?: string) {
    let id = known;
    let asked = 0;
    const ask = async (method: string, params: JsonObject) =>
      gate.send('POST', '/mcp', {
        body: { jsonrpc: '2.0', id: (asked += 1), method, params },
        headers: { accept, ...(id !== undefined && { 'mcp-session-id': id }) },
      });
    if (id === undefined) {
      const clientInfo = { name: 'an agent', version: '1' };
      const { headers } = await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
      id = headers.get('mcp-session-id') as string;
    }
    const headers = { 'mcp-session-id': id };
    const end = async () => (await gate.send('DELETE', '/mcp', { headers })).status;
    leave.push(async () => void (await end()));
    return {
      id,
      end,
      on: async (uri = WATCHED) => (await ask('resources/subscribe', { uri })).body,
      off: async (uri = WATCHED) => (await ask('resources/unsubscribe', { uri })).body,
      async change(): Promise<number> {
        // Each is a call of its own.
        const { body } = await ask('tools/call', {
          name: TOOL,
          arguments: {},
          _meta: { 'gate/idempotency-key': randomUUID() },
        });
        return Number(/told of (\d{1,3})/.exec(JSON.stringify(body))?.[1]);
      },
      listen: () => listened('GET', headers),
    };
  }
  type Session = Awaited<ReturnType<typeof session>>;

  async function stream(uri = WATCHED) {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': STATELESS,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    return listened(
      'POST',
      { 'mcp-protocol-version': STATELESS, 'mcp-method': 'subscriptions/listen' },
      {
        jsonrpc: '2.0',
        id: 'news',
        method: 'subscriptions/listen',
        params: { notifications: { resourceSubscriptions: [uri] }, _meta },
      },
    );
  }

  /** Changes it until this is heard of it. */
  const changesUntil = (by: Session, what: string, isHeard: () => boolean) =>
    eventually(what, async () => (await by.change()) >= 0 && isHeard());

  const result = expect.objectContaining({ result: {} });

  it('is told to each session of what it is subscribed to alone, until it ends that itself', async () => {
    const [one, two, silent] = [await session(), await session(), await session()];
    const [first, second, third] = [await one.listen(), await two.listen(), await silent.listen()];
    for (const by of [one, two]) expect(await by.on()).toEqual(result);
    await two.on(OTHER);
    await changesUntil(silent, 'both are told', () => first.heard().length > 0 && second.heard().includes(OTHER));
    expect(await one.off()).toEqual(result);
    const before = first.heard().length;
    const since = second.heard().length;
    expect(await silent.change()).toBe(2);
    await eventually('the other is told all the same', () => second.heard().length > since + 1);
    expect([new Set(first.heard()), first.heard().length, third.heard()]).toEqual([new Set([WATCHED]), before, []]);
    for (const uri of [WATCHED, OTHER]) await two.off(uri);
    expect(await silent.change()).toBe(0);
  });

  it('ends with the session, where no other one has it', async () => {
    const [one, two, other] = [await session(), await session(), await session()];
    await one.on();
    await one.on(OTHER);
    await two.on();
    expect(await one.end()).toBe(204);
    await eventually('what it alone had is ended', async () => (await other.change()) === 1);
    await two.end();
    await eventually('so is the rest', async () => (await other.change()) === 0);
  });

  it('ends with the stream of a client without sessions, and not for others', async () => {
    const one = await session();
    const news = await stream();
    await changesUntil(one, 'it is told', () => news.heard().length > 0);
    await one.on();
    expect(await one.off()).toEqual(result);
    expect(await one.change()).toBe(1);
    await news.close();
    await eventually('it is ended', async () => (await one.change()) === 0);
    const [first, second] = [await stream(), await stream()];
    await first.close();
    await changesUntil(one, 'the other one is told', () => second.heard().length > 0);
  });

  it('is nothing where there is no session', async () => {
    const one = await session();
    const ask = (method: string) =>
      gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method, params: { uri: WATCHED } } });
    expect((await ask('resources/subscribe')).body).toEqual(result);
    expect(await one.change()).toBe(0);
    await one.on();
    expect((await ask('resources/unsubscribe')).body).toEqual(result);
    expect(await one.change()).toBe(1);
  });

  it('comes and goes at once from two sessions as if one came after the other', async () => {
    const [one, two] = [await session(), await session()];
    await one.on();
    for (let times = 0; times < 5; times += 1) {
      await Promise.all([one.off(), two.on()]);
      expect(await one.change()).toBe(1);
      await Promise.all([two.off(), one.on()]);
      expect(await one.change()).toBe(1);
    }
    await Promise.all([one.on(), two.on()]);
    await Promise.all([one.off(), two.off()]);
    expect(await one.change()).toBe(0);
  });

  it('is there after a restart of Gate, over another session with the upstream', async () => {
    const [one, two] = [await session(), await session()];
    await one.on();
    await two.on(OTHER);
    await gate.lite.close();
    gate = await openLite(env(), { folder: gate.folder });
    const [again, other] = [await session(one.id), await session()];
    const news = await again.listen();
    // It may have changed meanwhile, so that it is told at once.
    await eventually('it is told', () => news.heard().length > 0);
    await eventually('all is subscribed to', async () => (await other.change()) === 2);
    await again.off();
    await eventually('it is ended', async () => (await other.change()) === 1);
    expect(new Set(news.heard())).toEqual(new Set([WATCHED]));
    await (await session(two.id)).end();
  });
});
