import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../contracts/json.js';
import type { Listener } from '../domain/upstream/call-talks.js';
import type { UpstreamFault } from '../domain/upstream/upstream-circuit.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import { type ListingTools, listingTools } from '../test/support/listing-tools.js';
import { startTokenIssuer } from '../test/support/token-issuer.js';
import { type OddServer, oddServer, SMALL_TOOLS } from '../test/support/upstreams-file.js';
import { eventually } from '../test/support/waiting.js';
import { type Credentials, CredentialsMissing } from './upstream-credentials.js';
import { createMcpUpstream } from './mcp-upstream.js';
import { type NamedUpstream, severalUpstreams } from './several-upstreams.js';
import { createStdioUpstream } from './stdio-upstream.js';
import { tokenCredentials } from './token-credentials.js';

const BOT = { tenant: 'acme', agent: 'bot' };
const LIMIT = { timeoutMs: 20_000 };
/** Where one of them hangs; generous, for the others have to answer within it. */
const LIST_LIMIT_MS = 3_000;

let bank: ListingTools;
let notes: ListingTools;
let nowMs: number;
let changes: [string, UpstreamFault | null][];
const closing: (() => Promise<void>)[] = [];
beforeEach(async () => {
  [bank, notes] = [await listingTools(), await listingTools()];
  closing.push(bank.close, notes.close);
  bank.pages = [[{ name: 'pay', description: 'pays', inputSchema: { type: 'object' } }]];
  notes.pages = [[{ name: 'add' }], [{ name: 'find' }], [{ name: 'tidy' }]];
  nowMs = 0;
  listLimitMs = 20_000;
  changes = [];
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const http = (name: string, url: string, more: Partial<NamedUpstream> = {}): NamedUpstream => ({
  name,
  prefix: name,
  upstream: createMcpUpstream({ url }),
  ...more,
});
let listLimitMs: number;
function several(...members: readonly NamedUpstream[]): Upstream {
  const upstream = severalUpstreams(members, {
    now: () => nowMs,
    onChange: (...change) => changes.push(change),
    listLimitMs,
    firstLimitMs: listLimitMs,
  });
  closing.push(() => upstream.close());
  return upstream;
}
async function asked(upstream: Upstream, method: string, params: JsonObject = {}) {
  const outcome = await upstream.control(BOT, { jsonrpc: '2.0', id: 7, method, params }, LIMIT);
  if (outcome.kind !== 'reply') return outcome;
  const { text, ...said } = outcome;
  return { ...said, body: JSON.parse(text) as { id: number; result: JsonObject; error: JsonObject } };
}
const called = (upstream: Upstream, name: string, args: JsonObject = {}, method = 'tools/call') =>
  upstream.callTool(BOT, { jsonrpc: '2.0', id: 7, method, params: { name, arguments: args } }, LIMIT);
async function pageOf(upstream: Upstream, cursor?: string) {
  const answer = await asked(upstream, 'tools/list', cursor === undefined ? {} : { cursor });
  if (answer.kind !== 'reply') throw new Error(answer.kind);
  const { tools, nextCursor, _meta } = answer.body.result as {
    tools: JsonObject[];
    nextCursor?: string;
    _meta?: JsonObject;
  };
  const { partial, parts } = answer;
  return { names: tools.map(({ name }) => name), nextCursor, note: _meta?.['gate/upstreams'], partial, parts };
}

describe('several upstreams, all of them well', () => {
  it('tells each upstream of the resources that are its own, under its own names', async () => {
    const askedFor: string[] = [];
    const known: (readonly string[])[] = [];
    const over = new AbortController();
    const listener = {
      progress: false,
      told: () => undefined,
      asked: () => Promise.reject(new Error('unused')),
      resources: {
        of: async () => ['bank+test://a', 'notes+test://b', 'test://c', 'bank+test://d'],
        askedFor: async (uri: string) => void askedFor.push(uri),
      },
    };
    const talking = {
      callTool: () => Promise.reject(new Error('unused')),
      control: () => Promise.reject(new Error('unused')),
      close: () => Promise.resolve(),
      listen: async (_caller: unknown, { resources }: Listener) => {
        known.push((await resources?.of()) ?? []);
        await resources?.askedFor('test://a');
        over.abort();
      },
    };
    await several({ name: 'bank', prefix: 'bank', upstream: talking }).listen?.(BOT, listener, over.signal);
    expect([known, askedFor]).toEqual([[['test://a', 'test://d']], ['bank+test://a']]);
  });

  it('ask a client under their own names, in a call and outside of one', async () => {
    const askers: unknown[] = [];
    const listener = {
      progress: false,
      told: () => undefined,
      asked: async (...[, , , , of]: Parameters<Listener['asked']>) => {
        askers.push(of?.from);
        return ['result', '{}'] as const;
      },
    };
    const gone = new AbortController();
    const asking: Upstream = {
      callTool: async (_caller, _request, limits) => {
        await limits.listener?.asked('roots/list', '{}', 1_000);
        return { kind: 'not_sent', reason: 'asked' };
      },
      control: () => Promise.reject(new Error('unused')),
      listen: async (_caller, heard) => {
        await heard.asked('roots/list', '{}', 1_000, 'key', { from: 'another' });
        gone.abort();
      },
      close: async () => undefined,
    };
    const upstream = severalUpstreams([{ name: 'the bank', prefix: 'bank', upstream: asking }]);
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'bank__pay' } };
    await upstream.callTool({ tenant: 'acme', agent: 'bot' }, request, { timeoutMs: 1_000, listener });
    await upstream.listen?.({ tenant: 'acme', agent: 'bot' }, listener, gone.signal);
    expect(askers).toEqual(['the bank', 'the bank']);
  });

  it('are not asked by a method of which nobody said how several are asked', async () => {
    const silent = {
      callTool: () => Promise.reject(new Error('asked')),
      control: () => Promise.reject(new Error('asked')),
      close: () => Promise.resolve(),
    };
    const upstream = several({ name: 'bank', prefix: 'bank', upstream: silent });
    for (const method of ['resources/watch', 'toString'])
      expect(await asked(upstream, method)).toMatchObject({ failed: true, body: { id: 7, error: { code: -32_601 } } });
  });

  it('have one list, whose first page has the first page of each, and whose next pages follow', async () => {
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    const first = await pageOf(upstream);
    expect(first).toMatchObject({ names: ['bank__pay', 'notes__add'], note: undefined, partial: undefined });
    const second = await pageOf(upstream, first.nextCursor);
    expect(second.names).toEqual(['notes__find']);
    const third = await pageOf(upstream, second.nextCursor);
    expect(third).toMatchObject({ names: ['notes__tidy'], nextCursor: undefined });
  });

  it.each([
    '',
    'no cursor',
    Buffer.from('{"stranger":"1"}').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
  ])('take no cursor %j that they did not give', async (cursor) => {
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    expect(await asked(upstream, 'tools/list', { cursor })).toMatchObject({ body: { error: { code: -32_602 } } });
  });

  it('get a call by its prefix, under their own name for the tool; the other one is not asked', async () => {
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    expect(await called(upstream, 'notes__add')).toMatchObject({ kind: 'reply', failed: false });
    expect(await called(upstream, 'bank__a__b')).toMatchObject({ kind: 'reply' });
    expect([bank.called, notes.called]).toEqual([['a__b'], ['add']]);
  });

  it.each(['pay', 'stranger__pay', 'bank__', '__pay', 'Bank__pay', 'notes__bank__pay', 'notes__B-ank.pay'])(
    'get no call of %s, which is nobody’s or passes for another one’s',
    async (name) => {
      const upstream = several(http('bank', bank.url), http('notes', notes.url));
      expect(await called(upstream, name)).toEqual({
        kind: 'not_sent',
        reason: 'no upstream has the prefix of this name',
      });
      expect([...bank.called, ...notes.called]).toEqual([]);
      expect(upstream.nameFault?.({ method: 'tools/call', params: { name } })).toBe(
        'no upstream has the prefix of this name; names begin with bank__, notes__',
      );
    },
  );

  it('take every name under a prefix of theirs for one of theirs, and addresses by theirs', () => {
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    const fault = (method: string, params: JsonObject) => upstream.nameFault?.({ method, params });
    expect(fault('tools/call', { name: 'notes__nothing' })).toBeNull();
    expect(fault('resources/read', { uri: 'bank+file:///a' })).toBeNull();
    expect(fault('resources/read', { uri: 'file:///a' })).toMatch(/begin with bank\+, notes\+$/);
  });

  it('do not show a tool whose name passes for one of another upstream, and say so', async () => {
    notes.pages = [[{ name: 'bank__pay' }, { name: 'add' }]];
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    expect(await pageOf(upstream)).toMatchObject({
      names: ['bank__pay', 'notes__add'],
      note: { left_out: { notes: 1 } },
      partial: undefined,
    });
  });

  it('introduce themselves as one, with what any of them can', async () => {
    const child = createStdioUpstream({ command: SMALL_TOOLS[0] as string, args: SMALL_TOOLS.slice(1), env: {} });
    const upstream = several(http('bank', bank.url), { name: 'small', prefix: 'small', upstream: child });
    expect(await asked(upstream, 'initialize', { protocolVersion: '2025-06-18' })).toMatchObject({
      body: {
        id: 7,
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'gate' },
        },
      },
    });
    expect(await called(upstream, 'small__read_file', { path: 'a' })).toMatchObject({
      text: expect.stringContaining('read_file no token'),
    });
  });

  it('say what each of them instructs under its own prefix, so that one can be left out', async () => {
    const says = (instructions: string): Upstream => ({
      callTool: () => Promise.reject(new Error('unused')),
      control: async () => ({
        kind: 'reply',
        statusCode: 200,
        failed: false,
        text: JSON.stringify({ jsonrpc: '2.0', id: 7, result: { capabilities: {}, instructions } }),
      }),
      close: () => Promise.resolve(),
    });
    const upstream = several(
      { name: 'a', prefix: 'a', upstream: says('one') },
      { name: 'b', prefix: 'b', upstream: says('two\n\na__*: three') },
    );
    expect(await asked(upstream, 'initialize')).toMatchObject({
      instructions: [
        { prefix: 'a', text: 'a__*: one' },
        { prefix: 'b', text: 'b__*: two\n\na__*: three' },
      ],
      body: { result: { instructions: 'a__*: one\n\nb__*: two\n\na__*: three' } },
    });
  });

  it('show a list that changed the next time it is asked for', async () => {
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    await pageOf(upstream);
    bank.pages = [[{ name: 'refund' }]];
    notes.pages = [[]];
    expect((await pageOf(upstream)).names).toEqual(['bank__refund']);
  });

  it('give a call the shorter of its own time and theirs', async () => {
    const limits: number[] = [];
    const slow: Upstream = {
      callTool: async (_caller, _request, { timeoutMs }) => {
        limits.push(timeoutMs);
        return { kind: 'unknown', cause: 'timeout', reason: 'late' };
      },
      control: () => Promise.reject(new Error('unused')),
      close: () => Promise.resolve(),
    };
    const upstream = several({ name: 'slow', prefix: 'slow', upstream: slow, timeoutMs: 2_000 });
    await called(upstream, 'slow__x');
    await upstream.callTool(BOT, { method: 'tools/call', params: { name: 'slow__x' } }, { timeoutMs: 500 });
    expect(limits).toEqual([2_000, 500]);
  });

  it('hand on what each says of its resources under the addresses that agents know', async () => {
    const told: [string, string][] = [];
    const listener: Listener = {
      progress: false,
      told: (...said) => told.push(said),
      asked: () => Promise.reject(new Error('unused')),
    };
    const over = new AbortController();
    const talking: Upstream = {
      callTool: () => Promise.reject(new Error('unused')),
      control: () => Promise.reject(new Error('unused')),
      listen: async (_caller, hears) => {
        hears.told('notifications/resources/updated', '{"uri":"file:///a"}');
        hears.told('notifications/tools/list_changed', '{}');
        over.abort();
      },
      close: () => Promise.resolve(),
    };
    await several({ name: 'bank', prefix: 'bank', upstream: talking }).listen?.(BOT, listener, over.signal);
    expect(told).toEqual([
      ['notifications/resources/updated', '{"uri":"bank+file:///a"}'],
      ['notifications/tools/list_changed', '{}'],
    ]);
  });
});

it('several upstreams are heard once each of them is, or says nothing now', async () => {
  const over = new AbortController();
  const begun: Listener[] = [];
  const talking = (listens: boolean): Upstream => ({
    callTool: () => Promise.reject(new Error('unused')),
    control: () => Promise.reject(new Error('unused')),
    ...(listens && {
      listen: (_caller, hears, signal) => {
        begun.push(hears);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    }),
    close: () => Promise.resolve(),
  });
  let opened = 0;
  const listener: Listener = {
    progress: false,
    told: () => undefined,
    asked: () => Promise.reject(new Error('unused')),
    opened: () => (opened += 1),
  };
  const listened = several(
    { name: 'bank', prefix: 'bank', upstream: talking(true) },
    { name: 'mail', prefix: 'mail', upstream: talking(true) },
    { name: 'plain', prefix: 'plain', upstream: talking(false) },
  ).listen?.(BOT, listener, over.signal);
  await eventually('both are listened to', () => begun.length === 2);
  begun[0]?.opened?.();
  begun[0]?.opened?.();
  expect(opened).toBe(0);
  begun[1]?.opened?.();
  expect(opened).toBe(1);
  over.abort();
  await listened;
});

describe('several upstreams, one of which is not well', () => {
  const DOWN = 'http://127.0.0.1:1/mcp';
  it.each([
    ['down', 'unreachable', () => Promise.resolve({ url: DOWN, close: () => Promise.resolve() })],
    ['hanging', 'timeout', () => oddServer('hangs')],
    ['answering garbage', 'unreachable', () => oddServer('garbage')],
    ['hanging up', 'unreachable', () => oddServer('hangs up')],
  ] as const)(
    '%s: it is named, the others are served, and the list is told to be a part',
    async (_how, fault, open) => {
      listLimitMs = LIST_LIMIT_MS;
      const odd = await open();
      closing.push(odd.close);
      const upstream = several(http('bank', bank.url), http('odd', odd.url));
      expect(await pageOf(upstream)).toMatchObject({
        names: ['bank__pay'],
        note: { failing: [{ name: 'odd', fault }] },
        partial: true,
        parts: { listed: ['bank'], missing: ['odd'] },
      });
      expect(await called(upstream, 'bank__pay')).toMatchObject({ kind: 'reply' });
      expect(await asked(upstream, 'initialize')).toMatchObject({
        body: {
          result: {
            capabilities: { tools: { listChanged: true } },
            _meta: { 'gate/upstreams': { failing: [{ name: 'odd', fault }] } },
          },
        },
      });
      expect(upstream.standings?.()).toEqual([
        { name: 'bank', state: 'answers', fault: null, sinceMs: null },
        { name: 'odd', state: 'failing', fault, sinceMs: 0 },
      ]);
      expect(changes).toEqual([['odd', fault]]);
    },
    30_000,
  );

  it('an answer that is no list is a fault, and nothing of it is shown', async () => {
    notes.pages = [];
    Object.assign(notes, { mute: true });
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    expect(await pageOf(upstream)).toMatchObject({ note: { failing: [{ name: 'notes', fault: 'refused' }] } });
  });

  it('a server without prompts has none of them, which is no fault', async () => {
    const none: Upstream = {
      callTool: () => Promise.reject(new Error('unused')),
      control: async () => ({
        kind: 'reply',
        statusCode: 200,
        text: '{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no prompts"}}',
        failed: true,
      }),
      close: () => Promise.resolve(),
    };
    const upstream = several({ name: 'none', prefix: 'none', upstream: none });
    expect(await asked(upstream, 'prompts/list')).toMatchObject({ body: { result: { prompts: [] } } });
  });

  it('none of them: the agent is told which, and nothing is listed', async () => {
    const upstream = several(http('one', DOWN), http('two', DOWN));
    expect(await asked(upstream, 'tools/list')).toEqual({
      kind: 'not_sent',
      reason: 'no upstream answers: one (unreachable), two (unreachable)',
    });
  });

  it('is not asked any more after three failures, costs its callers no time, and is tried again by one after a pause', async () => {
    listLimitMs = LIST_LIMIT_MS;
    const odd: OddServer = await oddServer('hangs');
    closing.push(odd.close);
    const upstream = several(http('bank', bank.url), http('odd', odd.url));
    // At once, so that the limit passes once.
    await Promise.all([1, 2, 3].map(() => pageOf(upstream)));
    expect(upstream.standings?.()[1]).toMatchObject({ state: 'held', fault: 'timeout' });
    const before = odd.asked;
    const began = performance.now();
    expect((await pageOf(upstream)).note).toEqual({ failing: [{ name: 'odd', fault: 'timeout' }] });
    expect(await called(upstream, 'odd__x')).toEqual({
      kind: 'not_sent',
      reason: 'the upstream odd does not answer (timeout) and is asked again later',
    });
    expect(performance.now() - began).toBeLessThan(LIST_LIMIT_MS);
    expect(odd.asked).toBe(before);
    nowMs = 2_000;
    await pageOf(upstream);
    expect(odd.asked).toBeGreaterThanOrEqual(before);
    expect(changes).toEqual([['odd', 'timeout']]);
  }, 30_000);

  it('is kept from nobody by what one agent writes: refused requests about one thing are no failures of it', async () => {
    notes.mute = true;
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    for (let tried = 0; tried < 5; tried += 1)
      await asked(upstream, 'completion/complete', {
        ref: { type: 'ref/prompt', name: 'notes__hello' },
        argument: { name: 'x', value: '' },
      });
    expect(upstream.standings?.()[1]).not.toMatchObject({ state: 'held' });
    for (let list = 0; list < 3; list += 1) await pageOf(upstream);
    expect(upstream.standings?.()[1]).toMatchObject({ state: 'held', fault: 'refused' });
  });

  it.each([
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'odd__hello' }, argument: { name: 'x', value: '' } }],
    ['resources/subscribe', { uri: 'odd+file:///a' }],
    ['tools/list', { cursor: Buffer.from('{"odd":"2"}').toString('base64url') }],
  ])(
    'is held back also while an agent asks for a thing of it in between: %s without an answer is none',
    async (method, params) => {
      for (const outcome of [
        { kind: 'unknown', cause: 'timeout', reason: 'late' },
        { kind: 'reply', statusCode: 500, text: '{}', failed: true },
      ] as const) {
        let asks = 0;
        const odd: Upstream = {
          callTool: () => Promise.reject(new Error('unused')),
          control: async () => {
            asks += 1;
            return outcome;
          },
          close: () => Promise.resolve(),
        };
        const upstream = several({ name: 'odd', prefix: 'odd', upstream: odd });
        await asked(upstream, method, params);
        expect(upstream.standings?.()).toMatchObject([{ state: 'unknown' }]);
        for (let list = 0; list < 3; list += 1) {
          await asked(upstream, 'tools/list');
          if (list < 2) await asked(upstream, method, params);
        }
        expect(upstream.standings?.()).toMatchObject([{ state: 'held' }]);
        await asked(upstream, method, params);
        expect(asks).toBe(6);
      }
    },
  );

  it.each([429, 503])(
    'that gives one agent no session, HTTP %i, is named to it and closed to nobody',
    async (status) => {
      const upstream = several(http('bank', bank.url), http('notes', notes.url));
      await pageOf(upstream);
      notes.limited = status;
      const GREEDY = { tenant: 'acme', agent: 'greedy' };
      const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
      for (let tried = 0; tried < 4; tried += 1) {
        const asked = await upstream.control(GREEDY, list, LIMIT);
        const { text } = asked as { text: string };
        expect(JSON.parse(text)).toMatchObject({
          result: { _meta: { 'gate/upstreams': { failing: [{ name: 'notes', fault: 'refused' }] } } },
        });
        await upstream.control(GREEDY, { ...list, method: 'initialize' }, LIMIT);
        const params = { name: 'notes__add', arguments: {} };
        expect(await upstream.callTool(GREEDY, { method: 'tools/call', params }, LIMIT)).toEqual({
          kind: 'not_sent',
          refused: true,
          reason: `the upstream refused a session for now: initialize was answered with HTTP ${status}`,
        });
      }
      expect(upstream.standings?.()[1]).toMatchObject({ state: 'answers', fault: null });
      expect(changes).toEqual([]);
      expect(await pageOf(upstream)).toMatchObject({ names: ['bank__pay', 'notes__add'], note: undefined });
      expect(await called(upstream, 'notes__add')).toMatchObject({ kind: 'reply', failed: false });
    },
  );

  it.each([
    [503, 'failing'],
    [502, 'held'],
    [504, 'held'],
    [500, 'held'],
  ])('that answers its lists with HTTP %i is named as one that refuses, and is %s', async (status, state) => {
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    await pageOf(upstream);
    notes.mute = status;
    for (let list = 0; list < 4; list += 1)
      expect((await pageOf(upstream)).note).toEqual({ failing: [{ name: 'notes', fault: 'refused' }] });
    expect(upstream.standings?.()[1]).toMatchObject({ state, fault: 'refused' });
    expect((await called(upstream, 'notes__add')).kind).toBe(state === 'held' ? 'not_sent' : 'reply');
  });

  it.each([
    [500, 'failing'],
    [501, 'held'],
  ])('that takes %i ms to answer its lists with HTTP 503 is %s', async (tookMs, state) => {
    const busy: Upstream = {
      callTool: () => Promise.reject(new Error('unused')),
      control: async () => {
        nowMs += tookMs;
        return { kind: 'unknown', cause: 'invalid_answer', reason: 'HTTP 503', status: 503 };
      },
      close: () => Promise.resolve(),
    };
    const upstream = several({ name: 'busy', prefix: 'busy', upstream: busy });
    for (let list = 0; list < 3; list += 1) await asked(upstream, 'tools/list');
    expect(upstream.standings?.()).toMatchObject([{ state, fault: 'refused' }]);
  });

  it('that limits how often its lists are asked for, HTTP 429, says so to who asked, and nothing else', async () => {
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    await pageOf(upstream);
    notes.mute = 429;
    for (let list = 0; list < 4; list += 1)
      expect((await pageOf(upstream)).note).toEqual({ failing: [{ name: 'notes', fault: 'refused' }] });
    expect(upstream.standings?.()[1]).toMatchObject({ state: 'answers' });
  });

  it('without credentials for Gate is named so, closed to nobody, and its calls say what is missing', async () => {
    let isAway = true;
    const credentials = {
      headers: () =>
        isAway ? Promise.reject(new CredentialsMissing('the issuer answered HTTP 503')) : Promise.resolve({}),
      refused: () => undefined,
      secrets: () => [],
      close: () => Promise.resolve(),
    };
    const upstream = several(http('bank', bank.url), {
      name: 'notes',
      prefix: 'notes',
      upstream: createMcpUpstream({ url: notes.url, credentials }),
    });
    for (let tried = 0; tried < 4; tried += 1) {
      expect((await pageOf(upstream)).note).toEqual({ failing: [{ name: 'notes', fault: 'no_credentials' }] });
      expect(await called(upstream, 'notes__add')).toEqual({
        kind: 'not_sent',
        noCredentials: true,
        reason: 'no credentials for the upstream: the issuer answered HTTP 503',
      });
    }
    isAway = false;
    expect(await called(upstream, 'notes__add')).toMatchObject({ kind: 'reply', failed: false });
    expect(changes).toEqual([
      ['notes', 'no_credentials'],
      ['notes', null],
    ]);
  });

  const noted = (upstream: Upstream) => upstream.standings?.().find(({ name }) => name === 'notes');
  const withCredentials = (credentials: Credentials) =>
    several(http('bank', bank.url), {
      name: 'notes',
      prefix: 'notes',
      upstream: createMcpUpstream({ url: notes.url, credentials }),
    });

  async function withIssuer() {
    const issuer = await startTokenIssuer({ id: 'gate', secret: 'secret-of-gate' });
    closing.push(issuer.close);
    const upstream = withCredentials(
      tokenCredentials({
        issuer: issuer.issuer,
        tokenEndpoint: `${issuer.issuer}/token`,
        clientId: 'gate',
        clientSecret: () => 'secret-of-gate',
        clientAuth: 'basic',
        now: () => nowMs,
      }),
    );
    return { issuer, upstream };
  }

  it('that answers 401 to one thing alone makes no request to its issuer each time', async () => {
    const { issuer, upstream } = await withIssuer();
    notes.mute = 401;
    for (let list = 0; list < 5; list += 1) {
      await pageOf(upstream);
      expect(await called(upstream, 'notes__add')).toMatchObject({ kind: 'reply', failed: false });
    }
    expect(issuer.asked).toHaveLength(2);
  });

  it('whose issuer hangs answers as long as the token holds that it gave', async () => {
    const { issuer, upstream } = await withIssuer();
    await pageOf(upstream);
    issuer.fault = 'hangs';
    nowMs = 580_000;
    for (let list = 0; list < 3; list += 1)
      expect(await pageOf(upstream)).toMatchObject({ names: ['bank__pay', 'notes__add'], note: undefined });
    await eventually('the issuer is asked for the next one', () => issuer.asked.length === 2);
    expect(noted(upstream)).toMatchObject({ state: 'answers', fault: null });
  });

  it('whose issuer hangs before it gave anything is named so, and closed to nobody', async () => {
    listLimitMs = LIST_LIMIT_MS;
    const upstream = withCredentials({
      headers: () => new Promise(() => undefined),
      refused: () => undefined,
      secrets: () => [],
      close: () => Promise.resolve(),
    });
    // At once, so that the limit passes once: three failures of it would hold it back.
    for (const { note } of await Promise.all([1, 2, 3, 4].map(() => pageOf(upstream))))
      expect(note).toEqual({ failing: [{ name: 'notes', fault: 'no_credentials' }] });
    expect(noted(upstream)).toMatchObject({ state: 'failing', fault: 'no_credentials' });
    const params = { name: 'notes__add', arguments: {} };
    expect(await upstream.callTool(BOT, { method: 'tools/call', params }, { timeoutMs: 200 })).toEqual({
      kind: 'not_sent',
      noCredentials: true,
      reason: 'no credentials for the upstream: none came in time',
    });
  }, 30_000);

  it('answers again: it is told, and its tools are back', async () => {
    notes.mute = true;
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    await pageOf(upstream);
    notes.mute = false;
    expect(await pageOf(upstream)).toMatchObject({
      names: ['bank__pay', 'notes__add'],
      note: undefined,
      partial: undefined,
    });
    expect(changes).toEqual([
      ['notes', 'refused'],
      ['notes', null],
    ]);
  });

  it('answers again: who listens is told that the lists changed', async () => {
    notes.mute = true;
    const upstream = several(http('bank', bank.url), http('notes', notes.url));
    const told: string[] = [];
    const over = new AbortController();
    const listener: Listener = {
      progress: false,
      told: (method) => told.push(method),
      asked: () => Promise.reject(new Error('unused')),
    };
    const listened = upstream.listen?.(BOT, listener, over.signal);
    await pageOf(upstream);
    expect(told).toEqual([]);
    notes.mute = false;
    await pageOf(upstream);
    expect(told).toContain('notifications/tools/list_changed');
    over.abort();
    await listened;
  });

  it('a tool that takes too long says nothing of its upstream', async () => {
    const slow: Upstream = {
      callTool: async () => ({ kind: 'unknown', cause: 'timeout', reason: 'late' }),
      control: () => Promise.reject(new Error('unused')),
      close: () => Promise.resolve(),
    };
    const upstream = several({ name: 'slow', prefix: 'slow', upstream: slow });
    for (let call = 0; call < 5; call += 1)
      expect(await called(upstream, 'slow__x')).toMatchObject({ kind: 'unknown', cause: 'timeout' });
    expect(upstream.standings?.()[0]).toMatchObject({ state: 'unknown' });
  });
});
