import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import {
  answering,
  type Behaviour,
  broken,
  complete,
  type ModelStub,
  silent,
  startModelStub,
  status,
  verdictText,
} from '../../test/support/model-stub.js';
import { openAiClient } from './openai.js';

const KEY = 'sk-test-4711-never-to-be-seen';
let stub: ModelStub;
const cleanups: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  stub = await startModelStub();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  await stub.close();
});

const request = (signal = new AbortController().signal) => ({
  model: 'judge-1',
  system: 'Set "nonce" to abc. "authorized"',
  data: 'the data',
  schema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  maxOutputTokens: 64,
  signal,
});
async function client({ baseUrl = stub.url, timeoutMs = 60_000, key = KEY as string | null } = {}) {
  const { host } = new URL(baseUrl);
  const made = await openAiClient({
    baseUrl,
    timeoutMs,
    allowPrivate: host,
    ...(key !== null && { key: () => key }),
  });
  cleanups.push(() => made.close());
  return made;
}
const failure = (name: string, transient: boolean) =>
  expect.objectContaining({ name: 'ModelFailure', failure: name, transient });

describe('a question in the protocol of OpenAI', () => {
  it('keeps its own words and the judged text in roles of their own, asks for a strict schema, and sends the key', async () => {
    const reply = await (await client()).ask(request());
    expect(reply.usage).toEqual({ inputTokens: 1_000, outputTokens: 100 });
    expect(JSON.parse(reply.text)).toMatchObject({ authorized: true });
    const [asked] = stub.asked;
    expect(asked?.path).toBe('/v1/chat/completions');
    expect(asked?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(asked?.body).toMatchObject({
      model: 'judge-1',
      messages: [
        { role: 'system', content: request().system },
        { role: 'user', content: 'the data' },
      ],
      response_format: { type: 'json_schema', json_schema: { strict: true, schema: request().schema } },
      max_completion_tokens: 64,
    });
  });

  it('sends no authorization to a server without a key', async () => {
    await (await client({ key: null })).ask(request());
    expect(stub.asked[0]?.headers).not.toHaveProperty('authorization');
    expect(stub.asked[0]?.body).toMatchObject({ max_tokens: 64, temperature: 0 });
  });

  it('takes nothing from the environment that is meant for the package: no key, no address, no header', async () => {
    const meant = {
      OPENAI_API_KEY: 'sk-of-somebody-else',
      OPENAI_BASE_URL: 'https://elsewhere.example/v1',
      OPENAI_ORG_ID: 'org-x',
      OPENAI_PROJECT_ID: 'proj-x',
      OPENAI_CUSTOM_HEADERS: 'x-spy: yes',
      OPENAI_LOG: 'debug',
    };
    Object.assign(process.env, meant);
    try {
      await (await client()).ask(request());
    } finally {
      for (const name of Object.keys(meant)) delete process.env[name];
    }
    const headers: Record<string, unknown> = { ...stub.asked[0]?.headers };
    expect(headers['authorization']).toBe(`Bearer ${KEY}`);
    expect(Object.keys(headers).filter((name) => /openai|spy|stainless/.test(name))).toEqual([]);
  });

  it('is not asked without its key, and another model may be', async () => {
    const gone = () => {
      throw new Error('GATE_KEY_FILE: cannot be read (EACCES)');
    };
    const made = await openAiClient({ baseUrl: stub.url, timeoutMs: 60_000, key: gone });
    cleanups.push(() => made.close());
    await expect(made.ask(request())).rejects.toMatchObject({ failure: 'no_key', transient: true, costMicros: 0 });
    expect(stub.asked).toEqual([]);
  });

  it('is asked once: nothing is tried again', async () => {
    stub.behave(status(429));
    await expect((await client()).ask(request())).rejects.toEqual(failure('rate_limited', true));
    expect(stub.asked).toHaveLength(1);
  });
});

describe('what goes wrong has one word, and says whether another model may be asked', () => {
  const text: Behaviour = (asked, response) => complete(response, verdictText(asked).slice(0, -9));
  it.each<[string, Behaviour, string, boolean]>([
    ['429', status(429), 'rate_limited', true],
    ['408', status(408), 'rate_limited', true],
    ['425', status(425), 'rate_limited', true],
    ['503', status(503), 'unavailable', true],
    ['500', status(500), 'unavailable', false],
    ['502', status(502), 'unavailable', false],
    ['504', status(504), 'unavailable', false],
    ['401', status(401), 'authentication', false],
    ['403', status(403), 'authentication', false],
    ['400', status(400), 'invalid_input', false],
    ['413', status(413), 'invalid_input', false],
    ['404', status(404), 'unsupported', false],
    [
      'a redirect',
      (_, response) => void response.writeHead(302, { location: 'http://x/' }).end(),
      'unavailable',
      false,
    ],
    ['a connection that breaks', broken, 'ambiguous_transport', false],
    [
      'half an answer',
      (_, r) => void (r.writeHead(200, { 'content-length': '9999' }), r.write('{'), setImmediate(() => r.destroy())),
      'ambiguous_transport',
      false,
    ],
    ['no JSON', (_, r) => void r.setHeader('content-type', 'application/json').end('<html>'), 'parse', false],
    ['a page instead of JSON', (_, r) => void r.setHeader('content-type', 'text/html').end('<html>'), 'parse', false],
    ['no choice', (_, r) => void r.setHeader('content-type', 'application/json').end('{"choices":[]}'), 'parse', false],
    ['null', (_, r) => void r.setHeader('content-type', 'application/json').end('null'), 'parse', false],
    ['an empty answer', (_, r) => complete(r, ''), 'parse', false],
    ['an answer that is no text', (_, r) => complete(r, { authorized: true }), 'parse', false],
    ['a call of a tool', (_, r) => complete(r, null, { finish_reason: 'tool_calls' }), 'parse', false],
    [
      'an answer that was cut off',
      (a, r) => complete(r, verdictText(a), { finish_reason: 'length' }),
      'truncated',
      false,
    ],
    [
      'a refusal',
      (_, r) => complete(r, null, { message: { role: 'assistant', content: null, refusal: 'no' } }),
      'refused',
      false,
    ],
    ['a filter', (a, r) => complete(r, verdictText(a), { finish_reason: 'content_filter' }), 'refused', false],
    [
      'a stream of events, which nobody asked for',
      (a, r) =>
        void r
          .setHeader('content-type', 'text/event-stream')
          .end(`data: {"choices":[{"delta":{"content":${JSON.stringify(verdictText(a))}}}]}\n\ndata: [DONE]\n\n`),
      'parse',
      false,
    ],
    ['an answer without end', (_, r) => void (r.writeHead(200), r.write('x'.repeat(600_000))), 'parse', false],
  ])('%s', async (_what, behaviour, name, transient) => {
    stub.behave(behaviour);
    await expect((await client()).ask(request())).rejects.toEqual(failure(name, transient));
  });
  it('reads an answer that comes piece by piece', async () => {
    stub.behave((asked, response) => {
      // Each piece by itself on the wire.
      const inPieces = Object.create(response, {
        end: {
          value: (body: string) => {
            for (const piece of body.match(/.{1,40}/gs) ?? []) response.write(piece);
            response.end();
          },
        },
        setHeader: { value: (...header: [string, string]) => (response.setHeader(...header), inPieces) },
      }) as typeof response;
      complete(inPieces, verdictText(asked));
    });
    const { text: got } = await (await client()).ask(request());
    expect(JSON.parse(got)).toMatchObject({ nonce: 'abc' });
  });

  it('waits no longer for one that goes on coming than for one that does not come', async () => {
    const drips: NodeJS.Timeout[] = [];
    stub.behave((_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      drips.push(setInterval(() => response.write(' '), 20));
    });
    try {
      await expect((await client({ timeoutMs: 200 })).ask(request())).rejects.toEqual(
        failure('ambiguous_transport', false),
      );
    } finally {
      drips.forEach(clearInterval);
    }
  });

  it('hands on a text that is cut off in the middle of its JSON; whoever reads it refuses it', async () => {
    stub.behave(text);
    const { text: got } = await (await client()).ask(request());
    expect(() => JSON.parse(got) as unknown).toThrow(SyntaxError);
  });

  it.each([{ prompt_tokens: 1e12, completion_tokens: 1 }, { prompt_tokens: -1, completion_tokens: 1 }, {}, null])(
    'who counts %j does not count',
    async (usage) => {
      stub.behave((asked, response) => complete(response, verdictText(asked), {}, usage));
      expect((await (await client()).ask(request())).usage).toBeNull();
    },
  );

  it('a model that is too slow: nobody knows what it did, so nobody else is asked', async () => {
    stub.behave(silent);
    await expect((await client({ timeoutMs: 150 })).ask(request())).rejects.toEqual(
      failure('ambiguous_transport', false),
    );
  });

  it('an address at which nobody listens: surely nothing was sent', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    await expect((await client({ baseUrl: `http://127.0.0.1:${port}/v1` })).ask(request())).rejects.toEqual(
      failure('connect', true),
    );
  });

  it('an address inside the network that the operator did not name: nothing is sent', async () => {
    const made = await openAiClient({ baseUrl: stub.url, timeoutMs: 1_000, key: () => KEY });
    cleanups.push(() => made.close());
    await expect(made.ask(request())).rejects.toEqual(failure('connect', true));
    expect(stub.asked).toEqual([]);
  });

  it('a question that is no longer wanted is ended', async () => {
    const unwanted = new AbortController();
    stub.behave(() => unwanted.abort());
    await expect((await client()).ask(request(unwanted.signal))).rejects.toEqual(failure('ambiguous_transport', false));
  });

  it.each<[string, Behaviour]>([
    ['refuses', status(400)],
    ['refuses the key', status(401)],
    ['breaks', broken],
    ['answers nonsense', (_, r) => void r.setHeader('content-type', 'application/json').end(`${KEY} the data`)],
  ])('holds neither the key, nor what was asked, nor the words of a provider that %s', async (_what, behaviour) => {
    stub.behave(behaviour);
    const thrown = await (await client()).ask(request()).then(
      () => null,
      (error: Error) => error,
    );
    const told = JSON.stringify([thrown, String(thrown), thrown?.message, thrown?.cause ?? null]);
    expect(told).not.toMatch(/4711|the data|provider words/);
    expect(told).toContain('did not answer');
  });
});

it('the stub answers as a model does', async () => {
  stub.behave(answering(() => ({ authorized: false })));
  const { text } = await (await client()).ask(request());
  expect(JSON.parse(text)).toMatchObject({ nonce: 'abc', authorized: false });
});
