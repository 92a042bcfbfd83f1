import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import {
  type GateOptions,
  GateConfigError,
  GateDenied,
  GateMalformedCall,
  GatePending,
  gateWrap,
  type Verdict,
} from '../src/index.js';
import { answerJson, type StubGate, stubGate } from './stub-gate.js';

/** A provider whose answers are written here: one JSON body, or the bytes of a stream in the given pieces. */
let provider: StubGate;
/** Judges by the name of the tool: `refuse` is denied, `wait` waits, everything else is allowed. */
let gate: StubGate;
beforeAll(async () => {
  provider = await stubGate();
  gate = await stubGate();
  gate.answer = ({ text, path }, response) => {
    if (path.startsWith('/pending/'))
      return answerJson(response, 200, { correlation_id: 'c-1', status: 'approved', decision: 'allow' });
    const names = namesIn(text);
    if (names.includes('refuse'))
      return answerJson(response, 403, { error: 'policy_denied', reasons: ['no'], correlation_id: 'c-1' });
    if (names.includes('wait'))
      return answerJson(response, 202, {
        status: 'pending',
        correlation_id: 'c-1',
        review_reasons: ['ask'],
        ttl_secs: 60,
      });
    return answerJson(response, 200, { decision: 'allow', correlation_id: 'c-1' });
  };
});
afterAll(async () => {
  await provider.close();
  await gate.close();
});
beforeEach(() => {
  gate.asked.length = 0;
  provider.asked.length = 0;
});

interface Judged {
  readonly method: string;
  readonly params: { name: string; arguments: { calls?: { name: string; arguments: unknown }[] } };
}
const judgedIn = (text: string): { name: string; arguments: unknown }[] => {
  const { method, params } = JSON.parse(text) as Judged;
  return method === 'tools/call' ? [params] : (params.arguments.calls ?? []);
};
const namesIn = (text: string): string[] => judgedIn(text).map(({ name }) => name);
/** The calls that Gate was asked about, in requests. */
const judged = () => gate.asked.map(({ text }) => judgedIn(text).map((call) => [call.name, call.arguments]));

const options = (more: GateOptions = {}): GateOptions => ({ endpoint: gate.url, ...more });
const openai = (more: GateOptions = {}) =>
  gateWrap(new OpenAI({ apiKey: 'k', baseURL: provider.url, maxRetries: 0 }), options(more));
const anthropic = (more: GateOptions = {}) =>
  gateWrap(new Anthropic({ apiKey: 'k', baseURL: provider.url, maxRetries: 0 }), options(more));

const says = (body: unknown): void => {
  provider.answer = (_, response) => answerJson(response, 200, body);
};
const sse = (events: readonly unknown[], named = false): string =>
  events
    .map((event) => `${named ? `event: ${(event as { type: string }).type}\n` : ''}data: ${JSON.stringify(event)}\n\n`)
    .join('');
const streams = (bytes: Buffer, pieces: readonly number[] = []): void => {
  provider.answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let from = 0;
    for (const at of [...pieces, bytes.length]) {
      response.write(bytes.subarray(from, at));
      from = at;
    }
    response.end();
  };
};

const MESSAGES = [{ role: 'user' as const, content: 'hi' }];
const CHAT = { model: 'm', messages: MESSAGES };
const CLAUDE = { model: 'm', max_tokens: 9, messages: MESSAGES };

const chat = (...names: string[]) => ({
  id: 'r',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: null,
        tool_calls: names.map((name, at) => ({
          id: `call-${at}`,
          type: 'function',
          function: { name, arguments: '{"a":1}' },
        })),
      },
    },
  ],
});
const message = (...names: string[]) => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  stop_reason: 'tool_use',
  content: [
    { type: 'text', text: 'well' },
    ...names.map((name, at) => ({ type: 'tool_use', id: `call-${at}`, name, input: { a: 1 } })),
  ],
});
const response = (...names: string[]) => ({
  id: 'r',
  object: 'response',
  status: 'completed',
  output: names.map((name, at) => ({
    type: 'function_call',
    id: `item-${at}`,
    call_id: `call-${at}`,
    name,
    arguments: '{"a":1}',
  })),
});

/** Each API, asked as its own package is asked. */
const APIS = [
  ['chat.completions.create', chat, (more?: GateOptions) => openai(more).chat.completions.create(CHAT)],
  ['responses.create', response, (more?: GateOptions) => openai(more).responses.create({ model: 'm', input: 'hi' })],
  ['messages.create', message, (more?: GateOptions) => anthropic(more).messages.create(CLAUDE)],
  ['beta.messages.create', message, (more?: GateOptions) => anthropic(more).beta.messages.create(CLAUDE)],
] as const;

describe.each(APIS)('%s', (_, body, ask) => {
  it('gives back what the model said, once Gate allowed its calls', async () => {
    says(body('read'));
    expect(await ask()).toMatchObject(body('read'));
    expect(judged()).toEqual([[['read', { a: 1 }]]]);
  });

  it('asks about the calls of one turn as one', async () => {
    says(body('read', 'list'));
    await ask();
    expect(judged()).toEqual([
      [
        ['read', { a: 1 }],
        ['list', { a: 1 }],
      ],
    ]);
  });

  it('asks nothing where there is no call', async () => {
    const { choices, ...rest } = body() as ReturnType<typeof chat>;
    says({ ...rest, stop_reason: 'end_turn', ...(choices && { choices: [{ ...choices[0], finish_reason: 'stop' }] }) });
    await ask();
    expect(gate.asked).toEqual([]);
  });

  it('throws a denial, and nothing of the response comes out', async () => {
    says(body('refuse'));
    const error = await ask().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(GateDenied);
    expect(error).toMatchObject({ code: 'policy_denied', toolName: 'refuse', toolUseId: 'call-0', reasons: ['no'] });
  });

  it('throws what waits with the response that is held back, and its decision', async () => {
    says(body('wait'));
    const error = await ask().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GatePending);
    const pending = error as GatePending;
    expect(pending).toMatchObject({ correlationId: 'c-1', reviewReasons: ['ask'], ttlSecs: 60 });
    expect(pending.response).toMatchObject(body('wait'));
    expect(pending.toolCalls).toEqual([{ id: 'call-0', name: 'wait', input: { a: 1 } }]);
    await expect(pending.resolve()).resolves.toBeUndefined();
  });

  it('reports and lets pass where it only observes', async () => {
    const seen: Verdict[] = [];
    says(body('refuse', 'read'));
    const given = await ask({ mode: 'observe', onVerdict: (verdict) => void seen.push(verdict) });
    expect(given).toMatchObject(body('refuse', 'read'));
    expect(seen.map(({ kind }) => kind)).toEqual(['would_deny', 'would_deny']);
  });

  it('gives the response beside its HTTP answer, guarded too', async () => {
    says(body('read'));
    const given = await (
      ask() as unknown as { withResponse(): Promise<{ data: unknown; response: { status: number } }> }
    ).withResponse();
    expect(given.data).toMatchObject(body('read'));
    expect(given.response.status).toBe(200);
    says(body('refuse'));
    const refused = ask() as unknown as { withResponse(): Promise<unknown> };
    await expect(refused.withResponse()).rejects.toThrow(GateDenied);
    const raw = ask() as unknown as Promise<unknown> & { asResponse(): unknown };
    expect(() => raw.asResponse()).toThrow(/has not seen/);
    await expect(raw).rejects.toThrow(GateDenied);
  });
});

describe('what cannot be inspected is refused with its reason', () => {
  it.each<[string, () => unknown]>([
    ['chat.completions.stream', () => openai().chat.completions.stream({ ...CHAT, stream: true })],
    ['chat.completions.runTools', () => openai().chat.completions.runTools({ ...CHAT, tools: [] })],
    ['responses.stream', () => openai().responses.stream({ model: 'm', input: 'hi' })],
    ['beta.threads.create', () => openai().beta.threads.create()],
    ['beta.threads.runs.create', () => openai().beta.threads.runs.create('t', { assistant_id: 'a' })],
    ['messages.stream', () => anthropic().messages.stream(CLAUDE)],
    ['messages.batches.results', () => anthropic().messages.batches.results('b')],
    ['beta.messages.stream', () => anthropic().beta.messages.stream(CLAUDE)],
    ['beta.messages.toolRunner', () => anthropic().beta.messages.toolRunner({ ...CLAUDE, tools: [] })],
    ['beta.messages.thread', () => anthropic().beta.messages.thread({ model: 'm', max_tokens: 9 })],
    ['chat.completions.list', () => openai().chat.completions.list()],
    ['chat.completions.messages.list', () => openai().chat.completions.messages.list('c')],
    ['responses.inputItems.list', () => openai().responses.inputItems.list('r')],
    ['beta.responses.inputItems.list', () => openai().beta.responses.inputItems.list('r')],
    ['conversations.items.list', () => openai().conversations.items.list('c')],
    ['evals.runs.outputItems.list', () => openai().evals.runs.outputItems.list('r', { eval_id: 'e' })],
    ['post', () => openai().post('/chat/completions', { body: CHAT })],
    ['get', () => openai().get('/responses/r')],
    ['post', () => anthropic().post('/v1/messages', { body: CLAUDE })],
  ])('%s', (path, use) => {
    expect(use).toThrow(GateConfigError);
    expect(use).toThrow(path);
    expect(provider.asked).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['web_search', () => openai().responses.create({ model: 'm', input: 'hi', tools: [{ type: 'web_search' }] })],
    ['shell', () => openai().responses.create({ model: 'm', input: 'hi', tools: [{ type: 'shell' }] })],
    [
      'mcp_servers',
      () =>
        anthropic().beta.messages.create({ ...CLAUDE, mcp_servers: [{ type: 'url', name: 'x', url: 'https://x' }] }),
    ],
    [
      'web_search_20250305',
      () => anthropic().messages.create({ ...CLAUDE, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }),
    ],
    ['web_search_options', () => openai().chat.completions.create({ ...CHAT, web_search_options: {} })],
  ])('a tool that the provider runs: %s', async (name, ask) => {
    await expect(ask()).rejects.toThrow(new RegExp(`provider runs ${name} itself`));
    expect(provider.asked).toEqual([]);
  });

  it('and passes where its user said so', async () => {
    says(response());
    await openai({ allowHostedTools: true }).responses.create({
      model: 'm',
      input: 'hi',
      tools: [{ type: 'web_search' }],
    });
    expect(provider.asked).toHaveLength(1);
  });

  it('a tool that the provider ran unasked', async () => {
    says({ ...response(), output: [{ type: 'mcp_call', id: 'i', name: 'x', arguments: '{}' }] });
    await expect(openai().responses.create({ model: 'm', input: 'hi' })).rejects.toThrow(/mcp_call itself/);
  });

  it.each([
    ['that are no JSON', '{"a":'],
    ['whose names stand twice', '{"a":1,"a":2}'],
    ['whose names stand twice, written otherwise', '{"a":1,"\\u0061":2}'],
    ['with an integer that parsers round', '{"a":12345678901234567890}'],
  ])('arguments %s', async (_, text) => {
    const body = chat('read');
    body.choices[0]!.message.tool_calls[0]!.function.arguments = text;
    says(body);
    await expect(openai().chat.completions.create(CHAT)).rejects.toThrow(GateMalformedCall);
    expect(gate.asked).toEqual([]);
  });

  it('an integer that was rounded before anybody could read it, which passes where it is only observed', async () => {
    const body = { ...message(), content: [{ type: 'tool_use', id: 'x', name: 'pay', input: { n: 2 ** 60 } }] };
    says(body);
    await expect(anthropic().messages.create(CLAUDE)).rejects.toMatchObject({
      name: 'GateMalformedCall',
      toolName: 'pay',
    });
    const told: string[] = [];
    const observing = anthropic({ mode: 'observe', onPolicyError: ({ message: text }) => void told.push(text) });
    expect(await observing.messages.create(CLAUDE)).toMatchObject(body);
    expect(told).toEqual([expect.stringContaining('beyond 2^53')]);
    expect(gate.asked).toEqual([]);
  });

  it('a block that this package does not know', async () => {
    const block = { type: 'later_tool_use', id: 'x', name: 'refuse', input: {} };
    says({ ...message(), stop_reason: 'end_turn', content: [block] });
    await expect(anthropic().messages.create(CLAUDE)).rejects.toThrow(GateMalformedCall);
    streams(Buffer.from(sse([{ type: 'content_block_start', index: 0, content_block: block }], true)));
    const given = await read(await anthropic().messages.create({ ...CLAUDE, stream: true }));
    expect(given).toMatchObject({ events: [], error: { name: 'GateMalformedCall', toolName: 'refuse' } });
  });

  it('a response that announces calls and has none', async () => {
    says({
      ...chat(),
      choices: [{ index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: '' } }],
    });
    await expect(openai().chat.completions.create(CHAT)).rejects.toThrow(GateMalformedCall);
    says({ ...message(), content: [] });
    await expect(anthropic().messages.create(CLAUDE)).rejects.toThrow(GateMalformedCall);
  });

  it('a client of nobody that is known', () => {
    expect(() => gateWrap({ generate: () => null }, options())).toThrow(GateConfigError);
  });
});

describe('a response comes out guarded', () => {
  it.each<[string, unknown, () => Promise<unknown>]>([
    ['beta.responses.create', response('refuse'), () => openai().beta.responses.create({ model: 'm', input: 'hi' })],
    ['beta.responses.retrieve', response('refuse'), () => openai().beta.responses.retrieve('r')],
    ['beta.responses.cancel', response('refuse'), () => openai().beta.responses.cancel('r')],
    ['responses.cancel', response('refuse'), () => openai().responses.cancel('r')],
    ['responses.compact', response('refuse'), () => openai().responses.compact({ model: 'm' })],
    ['chat.completions.update', chat('refuse'), () => openai().chat.completions.update('c', { metadata: {} })],
    ...['chat', 'models', 'embeddings'].map((part): [string, unknown, () => Promise<unknown>] => [
      `the client that ${part} knows`,
      chat('refuse'),
      () => (openai() as unknown as Record<string, { _client: OpenAI }>)[part]!._client.chat.completions.create(CHAT),
    ]),
  ])('of %s', async (_, body, ask) => {
    says(body);
    await expect(ask()).rejects.toThrow(GateDenied);
  });
});

it('what onVerdict does to the arguments that it is told is not done to the call', async () => {
  says(message('read'));
  const blacken = (_: Verdict, { toolInput }: { toolInput: unknown }): void => {
    (toolInput as { a: unknown }).a = 'x';
  };
  expect(await anthropic({ onVerdict: blacken }).messages.create(CLAUDE)).toMatchObject(message('read'));
});

describe('a wrapped client is the client', () => {
  it('is of its class, passes everything else through, and leaves the original as it is', async () => {
    const original = new OpenAI({ apiKey: 'k', baseURL: provider.url, maxRetries: 0 });
    const wrapped = gateWrap(original, options());
    expect(wrapped).toBeInstanceOf(OpenAI);
    expect([wrapped.baseURL, wrapped.apiKey]).toEqual([provider.url, 'k']);
    says({ object: 'list', data: [{ id: 'model-1' }] });
    expect((await wrapped.models.list()).data).toMatchObject([{ id: 'model-1' }]);
    original.apiKey = 'renewed';
    expect(wrapped.apiKey).toBe('renewed');
    says(chat('refuse'));
    await expect(original.chat.completions.create(CHAT)).resolves.toMatchObject(chat('refuse'));
    expect(gate.asked).toEqual([]);
  });

  it('stays wrapped with other options', async () => {
    says(chat('refuse'));
    await expect(openai().withOptions({ timeout: 9_000 }).chat.completions.create(CHAT)).rejects.toThrow(GateDenied);
  });
});

/** What a stream gives, and what it ends with. */
async function read(stream: AsyncIterable<unknown>): Promise<{ events: unknown[]; error: unknown }> {
  const events: unknown[] = [];
  try {
    for await (const event of stream) events.push(event);
    return { events, error: null };
  } catch (error) {
    return { events, error };
  }
}

const argumentPieces = (text: string, at: number): string[] => [text.slice(0, at), text.slice(at)];
const ARGUMENTS = '{"a":"ä\\n\\u00e9","b":[1,{"c":2}]}';
const VALUE: unknown = JSON.parse(ARGUMENTS);

/** A stream of each API with one call whose arguments come in two pieces; `last` is the event that makes it whole. */
const STREAMS = [
  {
    api: 'chat.completions.create',
    ask: () => openai().chat.completions.create({ ...CHAT, stream: true }),
    named: false,
    events: (name: string, pieces: string[]) => [
      { choices: [{ index: 0, delta: { role: 'assistant', content: 'let me ' }, finish_reason: null }] },
      {
        choices: [
          {
            index: 0,
            delta: { tool_calls: [{ index: 0, id: 'call-0', type: 'function', function: { name, arguments: '' } }] },
            finish_reason: null,
          },
        ],
      },
      ...pieces.map((piece) => ({
        choices: [
          { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] }, finish_reason: null },
        ],
      })),
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    ],
    held: 1,
  },
  {
    api: 'responses.create',
    ask: () => openai().responses.create({ model: 'm', input: 'hi', stream: true }),
    named: true,
    events: (name: string, pieces: string[]) => [
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'function_call', id: 'i', call_id: 'call-0', name, arguments: '' },
      },
      ...pieces.map((delta) => ({
        type: 'response.function_call_arguments.delta',
        output_index: 0,
        item_id: 'i',
        delta,
      })),
      { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'i', arguments: pieces.join('') },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'function_call', id: 'i', call_id: 'call-0', name, arguments: pieces.join('') },
      },
      {
        type: 'response.completed',
        response: { output: [{ type: 'function_call', id: 'i', call_id: 'call-0', name, arguments: pieces.join('') }] },
      },
    ],
    held: 3,
  },
  {
    api: 'messages.create',
    ask: () => anthropic().messages.create({ ...CLAUDE, stream: true }),
    named: true,
    events: (name: string, pieces: string[]) => [
      { type: 'message_start', message: { ...message(), content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'call-0', name, input: {} } },
      ...pieces.map((piece) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: piece },
      })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ],
    held: 3,
  },
];

describe.each(STREAMS.map((row) => [row.api, row] as const))('a stream of %s', (_, { ask, named, events, held }) => {
  it('gives every event as it came, whatever the pieces of its arguments are', async () => {
    for (let at = 0; at <= ARGUMENTS.length; at += 1) {
      gate.asked.length = 0;
      const sent = events('read', argumentPieces(ARGUMENTS, at));
      streams(Buffer.from(sse(sent, named)));
      const given = await read(await ask());
      expect(given).toEqual({ events: sent, error: null });
      expect(judged()).toEqual([[['read', VALUE]]]);
    }
  });

  it('judges the same call wherever the bytes are cut', async () => {
    const sent = events('read', argumentPieces(ARGUMENTS, 7));
    const bytes = Buffer.from(sse(sent, named));
    // Each byte of the line that begins the arguments, and one in seven of all others.
    const begin = bytes.indexOf('{\\"a\\"');
    for (let at = 1; at < bytes.length; at += at > begin && at < begin + 60 ? 1 : 7) {
      gate.asked.length = 0;
      streams(bytes, [at]);
      expect(await read(await ask())).toEqual({ events: sent, error: null });
      expect(judged()).toEqual([[['read', VALUE]]]);
    }
  });

  it('ends with the denial, before the event that makes the call whole', async () => {
    const sent = events('refuse', [ARGUMENTS]);
    streams(Buffer.from(sse(sent, named)));
    const given = await read(await ask());
    expect(given.error).toBeInstanceOf(GateDenied);
    expect(given.events).toEqual(sent.slice(0, sent.length - held));
  });

  it('does not end well inside a call', async () => {
    const sent = events('read', [ARGUMENTS]);
    streams(Buffer.from(sse(sent.slice(0, sent.length - held), named)));
    expect((await read(await ask())).error).toBeInstanceOf(GateMalformedCall);
    expect(gate.asked).toEqual([]);
  });

  it('gives its raw events to nobody else', async () => {
    streams(Buffer.from(sse(events('refuse', [ARGUMENTS]), named)));
    const stream = (await ask()) as unknown as { tee(): unknown; toReadableStream(): unknown };
    expect(() => stream.tee()).toThrow(GateConfigError);
    expect(() => stream.toReadableStream()).toThrow(GateConfigError);
    const raw = (stream as unknown as { iterator(): AsyncIterable<unknown> }).iterator();
    expect((await read(raw)).error).toBeInstanceOf(GateDenied);
    streams(Buffer.from(sse(events('refuse', [ARGUMENTS]), named)));
    const asked = ask() as unknown as { withResponse(): Promise<{ data: AsyncIterable<unknown>; response: Response }> };
    const { data, response: http } = await asked.withResponse();
    expect([http.status, http.headers.get('content-type'), http.body]).toEqual([200, 'text/event-stream', null]);
    expect((await read(data)).error).toBeInstanceOf(GateDenied);
  });
});

describe('a call of the Responses API', () => {
  it('is judged by its name with its namespace', async () => {
    const body = response('read');
    says({ ...body, output: [{ ...body.output[0], namespace: 'crm' }] });
    await openai().responses.create({ model: 'm', input: 'hi' });
    expect(judged()).toEqual([[['crm.read', { a: 1 }]]]);
  });

  it('is judged before it is announced, where it is whole already', async () => {
    const item = { type: 'function_call', id: 'i', call_id: 'call-0', name: 'refuse', arguments: '{}' };
    streams(Buffer.from(sse([{ type: 'response.output_item.added', output_index: 0, item }], true)));
    const given = await read(await openai().responses.create({ model: 'm', input: 'hi', stream: true }));
    expect(given.error).toBeInstanceOf(GateDenied);
    expect(given.events).toEqual([]);
  });
});

describe('streams with more than one call', () => {
  it('a choice of chat completions is one turn', async () => {
    const call = (index: number, name: string) => ({
      index,
      id: `call-${index}`,
      type: 'function',
      function: { name, arguments: '{}' },
    });
    streams(
      Buffer.from(
        sse([
          { choices: [{ index: 0, delta: { tool_calls: [call(0, 'read'), call(1, 'refuse')] }, finish_reason: null }] },
          { choices: [{ index: 1, delta: { tool_calls: [call(0, 'list')] }, finish_reason: null }] },
          { choices: [{ index: 1, delta: {}, finish_reason: 'tool_calls' }] },
          { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
        ]),
      ),
    );
    const given = await read(await openai().chat.completions.create({ ...CHAT, stream: true }));
    expect(given.error).toBeInstanceOf(GateDenied);
    expect(given.events).toHaveLength(3);
    expect(judged()).toEqual([
      [['list', {}]],
      [
        ['read', {}],
        ['refuse', {}],
      ],
    ]);
  });

  it.each([
    ['name', { index: 0, function: { name: 'fuse', arguments: '{}' } }],
    ['id', { index: 0, id: 'call-1', function: { arguments: '{}' } }],
  ])('a call of chat completions that goes on under another %s', async (_, second) => {
    const pieces = [{ index: 0, id: 'call-0', type: 'function', function: { name: 're', arguments: '' } }, second];
    streams(Buffer.from(sse(pieces.map((piece) => ({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] })))));
    const given = await read(await openai().chat.completions.create({ ...CHAT, stream: true }));
    expect(given).toMatchObject({ events: [{}], error: { name: 'GateMalformedCall', toolName: 're' } });
    expect(gate.asked).toEqual([]);
  });

  it('a choice that waits does not give out the others', async () => {
    const choices = [chat('wait'), chat('refuse')].flatMap((body) => body.choices);
    says({ ...chat(), choices: choices.map((choice, index) => ({ ...choice, index })) });
    const error = await openai()
      .chat.completions.create({ ...CHAT, n: 2 })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GatePending);
    expect(error).toMatchObject({ response: undefined, toolCalls: [{ name: 'wait' }] });
  });

  it.each(['completed', 'incomplete', 'failed', 'cancelled'])('calls of a response that is %s', async (end) => {
    streams(Buffer.from(sse([{ type: `response.${end}`, response: response('refuse') }], true)));
    const given = await read(await openai().responses.create({ model: 'm', input: 'hi', stream: true }));
    expect(given.events).toEqual([]);
    expect(given.error).toBeInstanceOf(GateDenied);
  });

  it('calls of tools that take a text are judged as objects, which is all that Gate judges', async () => {
    const body = chat('sql');
    Object.assign(body.choices[0]!.message, {
      tool_calls: [{ id: 'call-0', type: 'custom', custom: { name: 'sql', input: 'select 1' } }],
    });
    says(body);
    await openai().chat.completions.create(CHAT);
    const item = { type: 'custom_tool_call', id: 'i', call_id: 'call-0', name: 'sql', input: 'select 1' };
    says({ ...response(), output: [item] });
    await openai().responses.create({ model: 'm', input: 'hi' });
    const piece = (input: string) => ({ index: 0, id: 'call-0', type: 'custom', custom: { name: 'sql', input } });
    const delta = (text: string) => ({ choices: [{ index: 0, delta: { tool_calls: [piece(text)] } }] });
    const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
    streams(Buffer.from(sse([delta('select'), delta(' 1'), end])));
    expect((await read(await openai().chat.completions.create({ ...CHAT, stream: true }))).error).toBeNull();
    expect(judged()).toEqual(Array.from({ length: 3 }, () => [['sql', { input: 'select 1' }]]));
  });

  it('a call of the responses that is told twice, differently', async () => {
    const item = (text: string) => ({
      type: 'function_call',
      id: 'i',
      call_id: 'call-0',
      name: 'read',
      arguments: text,
    });
    streams(
      Buffer.from(
        sse(
          [
            { type: 'response.output_item.added', output_index: 0, item: item('') },
            { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"a":1}' },
            { type: 'response.output_item.done', output_index: 0, item: item('{"a":2}') },
          ],
          true,
        ),
      ),
    );
    const given = await read(await openai().responses.create({ model: 'm', input: 'hi', stream: true }));
    expect(given.error).toBeInstanceOf(GateMalformedCall);
    expect(given.events).toHaveLength(2);
  });
});
