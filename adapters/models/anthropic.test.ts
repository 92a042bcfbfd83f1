import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Behaviour,
  broken,
  message,
  type ModelStub,
  silent,
  startModelStub,
  status,
  verdictText,
} from '../../test/support/model-stub.js';
import { anthropicClient } from './anthropic.js';

const KEY = 'sk-ant-test-4711-never-to-be-seen';
let stub: ModelStub;
const cleanups: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  stub = await startModelStub((asked, response) => message(response, verdictText(asked)));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
  await stub.close();
});

const request = () => ({
  model: 'judge-1',
  system: 'Set "nonce" to abc. "authorized"',
  data: 'the data',
  schema: { type: 'object', properties: {}, required: [], additionalProperties: false },
  maxOutputTokens: 64,
  signal: new AbortController().signal,
});
async function client({ timeoutMs = 60_000 } = {}) {
  const baseUrl = stub.url.replace('/v1', '');
  const made = await anthropicClient({ baseUrl, timeoutMs, allowPrivate: new URL(baseUrl).host, key: () => KEY });
  cleanups.push(() => made.close());
  return made;
}
const failure = (name: string, transient: boolean) =>
  expect.objectContaining({ name: 'ModelFailure', failure: name, transient });

describe('a question in the protocol of Anthropic', () => {
  it('keeps its own words apart from the judged text, asks for a strict schema, and sends the key', async () => {
    const reply = await (await client()).ask(request());
    expect(reply.usage).toEqual({ inputTokens: 1_000, outputTokens: 100 });
    expect(JSON.parse(reply.text)).toMatchObject({ nonce: 'abc', authorized: true });
    const [asked] = stub.asked;
    expect(asked?.path).toBe('/v1/messages');
    expect(asked?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'anthropic-version': expect.any(String) });
    expect(asked?.body).toMatchObject({
      model: 'judge-1',
      system: request().system,
      messages: [{ role: 'user', content: 'the data' }],
      max_tokens: 64,
      output_config: { format: { type: 'json_schema', schema: request().schema } },
    });
  });

  it('is not asked without its key, and another model may be', async () => {
    const gone = () => {
      throw new Error('GATE_KEY_FILE: cannot be read (EACCES)');
    };
    const made = await anthropicClient({ baseUrl: stub.url, timeoutMs: 60_000, key: gone });
    cleanups.push(() => made.close());
    await expect(made.ask(request())).rejects.toMatchObject({ failure: 'no_key', transient: true, costMicros: 0 });
    expect(stub.asked).toEqual([]);
  });

  it('takes nothing from the environment that is meant for the package', async () => {
    const meant = {
      ANTHROPIC_API_KEY: 'sk-of-somebody-else',
      ANTHROPIC_AUTH_TOKEN: 'token-of-somebody-else',
      ANTHROPIC_BASE_URL: 'https://elsewhere.example',
      ANTHROPIC_CUSTOM_HEADERS: 'x-spy: yes',
      ANTHROPIC_LOG: 'debug',
    };
    Object.assign(process.env, meant);
    try {
      await (await client()).ask(request());
    } finally {
      for (const name of Object.keys(meant)) delete process.env[name];
    }
    const headers: Record<string, unknown> = { ...stub.asked[0]?.headers };
    expect(headers).toMatchObject({ authorization: `Bearer ${KEY}` });
    expect(Object.keys(headers).filter((name) => /api-key|spy|stainless|traceparent/.test(name))).toEqual([]);
  });
});

describe('what goes wrong has one word, and says whether another model may be asked', () => {
  it.each<[string, Behaviour, string, boolean]>([
    ['429', status(429), 'rate_limited', true],
    ['503', status(503), 'unavailable', true],
    ['500', status(500), 'unavailable', false],
    ['529', status(529), 'unavailable', false],
    ['401', status(401), 'authentication', false],
    ['400', status(400), 'invalid_input', false],
    ['404', status(404), 'unsupported', false],
    ['a connection that breaks', broken, 'ambiguous_transport', false],
    [
      'half an answer',
      (_, r) => void (r.writeHead(200, { 'content-length': '9999' }), r.write('{'), setImmediate(() => r.destroy())),
      'ambiguous_transport',
      false,
    ],
    [
      'a stream of events, which nobody asked for',
      (a, r) =>
        void r
          .setHeader('content-type', 'text/event-stream')
          .end(`event: content_block_delta\ndata: {"delta":{"text":${JSON.stringify(verdictText(a))}}}\n\n`),
      'parse',
      false,
    ],
    ['no JSON', (_, r) => void r.setHeader('content-type', 'application/json').end('<html>'), 'parse', false],
    ['null', (_, r) => void r.setHeader('content-type', 'application/json').end('null'), 'parse', false],
    ['an empty answer', (_, r) => message(r, ''), 'parse', false],
    ['no content', (_, r) => message(r, 'x', { content: [] }), 'parse', false],
    [
      'two texts',
      (a, r) => message(r, 'x', { content: [1, 2].map(() => ({ type: 'text', text: verdictText(a) })) }),
      'parse',
      false,
    ],
    [
      'a call of a tool',
      (_, r) => message(r, 'x', { stop_reason: 'tool_use', content: [{ type: 'tool_use' }] }),
      'parse',
      false,
    ],
    [
      'an answer that was cut off',
      (a, r) => message(r, verdictText(a), { stop_reason: 'max_tokens' }),
      'truncated',
      false,
    ],
    ['a refusal', (a, r) => message(r, verdictText(a), { stop_reason: 'refusal' }), 'refused', false],
    ['a pause', (a, r) => message(r, verdictText(a), { stop_reason: 'pause_turn' }), 'parse', false],
  ])('%s', async (_what, behaviour, name, transient) => {
    stub.behave(behaviour);
    const asked = (await client()).ask(request());
    await expect(asked).rejects.toEqual(failure(name, transient));
    await expect(asked).rejects.not.toThrow(/4711|the data|provider words/);
    expect(stub.asked).toHaveLength(1);
  });

  it('a model that is too slow', async () => {
    stub.behave(silent);
    const asked = (await client({ timeoutMs: 150 })).ask(request());
    await expect(asked).rejects.toEqual(failure('ambiguous_transport', false));
  });

  it('hands on a text that is cut off in the middle of its JSON; whoever reads it refuses it', async () => {
    stub.behave((asked, response) => message(response, verdictText(asked).slice(0, -9)));
    const { text } = await (await client()).ask(request());
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
  });

  it('counts nothing where the provider does not', async () => {
    stub.behave((asked, response) => message(response, verdictText(asked), { usage: { output_tokens: 'many' } }));
    expect((await (await client()).ask(request())).usage).toBeNull();
  });
});
