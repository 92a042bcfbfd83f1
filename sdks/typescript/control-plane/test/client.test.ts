import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { answerJson, type StubGate, stubGate } from '../../agent-sdk/test/stub-gate.js';
import { type ClientOptions, connect, GateConfigError, GateRefused, GateTransportError } from '../src/index.js';

let gate: StubGate;
beforeAll(async () => {
  gate = await stubGate();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.asked.length = 0;
});

const options = (more: Partial<ClientOptions> = {}): ClientOptions => ({
  url: gate.url,
  retry: { baseDelayMs: 0 },
  ...more,
});
const hil = (more?: Partial<ClientOptions>) => connect('hil', options(more));
const identity = (more?: Partial<ClientOptions>) => connect('identity', options(more));
const faultOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    (value) => value,
    (error: unknown) => error,
  );
const ID = '00000000-0000-4000-8000-000000000001';

describe('a request', () => {
  it('is the path with what it needs, the token and the tenant', async () => {
    gate.answer = (_, response) => answerJson(response, 200, { id: ID });
    const client = hil({ url: `${gate.url}/gate/`, token: 'secret', tenant: 'acme' });
    expect(await client.post('/decide/{id}', { path: { id: ID }, body: { decision: 'deny' } })).toEqual({ id: ID });
    const [asked] = gate.asked;
    expect(asked).toMatchObject({ method: 'POST', path: `/gate/decide/${ID}`, text: '{"decision":"deny"}' });
    expect(asked?.headers).toMatchObject({
      authorization: 'Bearer secret',
      'x-gate-tenant-scope': 'acme',
      'content-type': 'application/json',
    });
  });

  it('asks for the token at each attempt', async () => {
    const tokens = ['old', 'new'];
    gate.answer = ({ headers }, response) =>
      headers.authorization === 'Bearer new'
        ? answerJson(response, 200, [])
        : answerJson(response, 503, { error: 'store_unavailable' });
    expect(await hil({ token: () => Promise.resolve(tokens.shift() as string) }).get('/pending')).toEqual([]);
  });

  it.each(['a/b', 'ü?#', '%2e%2e'])('keeps %s one part of its path', async (id) => {
    gate.answer = (_, response) => answerJson(response, 200, {});
    await hil().get('/pending/{id}', { path: { id } });
    expect(gate.asked[0]?.path).toBe(`/pending/${encodeURIComponent(id)}`);
  });

  it.each(['', '.', '..'])('has no part %j', async (id) => {
    expect(await faultOf(hil().get('/pending/{id}', { path: { id } }))).toBeInstanceOf(GateConfigError);
    expect(gate.asked).toEqual([]);
  });

  it('writes what it asks for, and leaves out what is undefined', async () => {
    gate.answer = (_, response) => answerJson(response, 200, []);
    await hil().get('/pending', { query: { status: 'all', limit: 5, before: undefined as never } });
    expect(gate.asked[0]?.path).toBe('/pending?status=all&limit=5');
  });

  it.each<[string, Partial<ClientOptions>]>([
    ['an invalid address', { url: 'gate' }],
    ['another protocol', { url: 'ftp://gate' }],
    ['a password in the address', { url: 'https://a:b@gate' }],
    ['a query', { url: 'https://gate/?a=b' }],
    ['a token in clear', { url: 'http://gate.example', token: 't' }],
    ['no time', { timeoutMs: 0 }],
    ['no attempt', { retry: { maxAttempts: 0 } }],
  ])('is not made with %s', (_, more) => {
    expect(() => hil(more)).toThrow(GateConfigError);
  });
});

describe('an answer', () => {
  it('that is a refusal has the code, and all that was said', async () => {
    gate.answer = (_, response) =>
      answerJson(response, 409, {
        error: 'already_decided',
        reason: 'by\u001b[31m bob',
        decided_by: 'bob',
        correlation_id: ID,
      });
    const error = await faultOf(hil().post('/decide/{id}', { path: { id: ID }, body: { decision: 'approve' } }));
    expect(error).toBeInstanceOf(GateRefused);
    expect(error).toMatchObject({
      status: 409,
      code: 'already_decided',
      correlationId: ID,
      message: 'already_decided: by [31m bob',
      body: { decided_by: 'bob' },
    });
    expect(gate.asked).toHaveLength(1);
  });

  it('of something that there is not is null for whoever looks it up', async () => {
    gate.answer = (_, response) => answerJson(response, 404, { error: 'not_found' });
    expect(await hil().find('/pending/{id}', { path: { id: ID } })).toBeNull();
    expect(await faultOf(hil().get('/pending/{id}', { path: { id: ID } }))).toMatchObject({ code: 'not_found' });
    gate.answer = (_, response) => void response.writeHead(404).end('<html>');
    expect(await faultOf(hil().find('/pending/{id}', { path: { id: ID } }))).toBeInstanceOf(GateTransportError);
  });

  it('with nothing in it is undefined', async () => {
    gate.answer = (_, response) => void response.writeHead(204).end();
    expect(await hil().get('/tenants/{tenant}/standing', { path: { tenant: 'acme' } })).toBeUndefined();
  });

  it.each<[string, number, string]>([
    ['a page', 200, '<html>'],
    ['a page that refuses', 403, '<html>'],
    ['an answer that leads elsewhere', 302, ''],
    ['a refusal without a code', 400, '{"message":"no"}'],
  ])('that is %s is no word of Gate', async (_, status, text) => {
    gate.answer = (_asked, response) => void response.writeHead(status, { location: 'https://elsewhere' }).end(text);
    const error = await faultOf(hil().get('/pending'));
    expect(error).toBeInstanceOf(GateTransportError);
    expect(error).toMatchObject({ status });
    expect(gate.asked).toHaveLength(1);
  });

  it('that is too large ends', async () => {
    gate.answer = (_, response) => void response.writeHead(200).end('"'.padEnd(16 * 2 ** 20 + 1));
    expect(String(await faultOf(hil().get('/pending')))).toContain('more than');
  });
});

describe('what is asked again', () => {
  it('is a question that got no answer, or a 5xx', async () => {
    gate.answer = (_, response) => {
      if (gate.asked.length === 1) response.destroy();
      else if (gate.asked.length === 2) answerJson(response, 503, { error: 'store_unavailable' });
      else answerJson(response, 200, []);
    };
    expect(await hil().get('/pending')).toEqual([]);
    expect(gate.asked).toHaveLength(3);
  });

  it('is nothing that may be done twice', async () => {
    gate.answer = (_, response) => void response.destroy();
    const error = await faultOf(hil().post('/decide/{id}', { path: { id: ID }, body: { decision: 'approve' } }));
    expect(error).toBeInstanceOf(GateTransportError);
    expect(gate.asked).toHaveLength(1);
  });

  it('is what has a key, with the same bytes under the same key', async () => {
    gate.answer = (_, response) => (gate.asked.length < 3 ? response.destroy() : answerJson(response, 201, { id: ID }));
    const idempotencyKey = randomUUID();
    const body = { action: 'suspend', reason: 'a drill' } as never;
    await identity().post('/tenants/{tenant}/lifecycle', { path: { tenant: 'acme' }, body, idempotencyKey });
    expect(gate.asked).toHaveLength(3);
    expect(new Set(gate.asked.map(({ text, headers }) => text + String(headers['idempotency-key']))).size).toBe(1);
  });

  it('is no path that keeps no key', async () => {
    const given = { path: { id: ID }, body: { decision: 'deny' as const }, idempotencyKey: 'k' };
    expect(await faultOf(hil().post('/decide/{id}', given as never))).toBeInstanceOf(GateConfigError);
  });
});

describe('time', () => {
  it.each([
    ['no answer', () => {}],
    ['an answer that does not end', (response: { write(text: string): unknown }) => void response.write('[')],
  ])('ends %s', async (_, begin) => {
    gate.answer = (_asked, response) => begin(response);
    const error = await faultOf(hil({ timeoutMs: 50, retry: { maxAttempts: 1 } }).get('/pending'));
    expect(String(error)).toContain('did not answer within 50 ms');
  });

  it('ends when its caller says so, with his reason', async () => {
    const stop = new AbortController();
    gate.answer = (_, response) => {
      response.writeHead(200).write('[');
      stop.abort(new Error('enough'));
    };
    expect(String(await faultOf(hil().get('/pending', { signal: stop.signal })))).toBe('Error: enough');
    expect(gate.asked).toHaveLength(1);
  });
});

describe('a list', () => {
  it('goes on where the answer says that it goes on', async () => {
    gate.answer = ({ path }, response) => {
      if (path.includes('before=')) return answerJson(response, 200, [{ id: 'c' }]);
      response.setHeader('x-gate-next-before', ID);
      return answerJson(response, 200, [{ id: 'a' }, { id: 'b' }]);
    };
    const ids: string[] = [];
    for await (const { id } of hil().each('/pending', { query: { status: 'all' } })) ids.push(id);
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(gate.asked.map(({ path }) => path)).toEqual(['/pending?status=all', `/pending?status=all&before=${ID}`]);
  });

  it('of people goes on by its cursor', async () => {
    gate.answer = ({ path }, response) =>
      answerJson(response, 200, { items: [{ id: path }], next_cursor: path.includes('cursor') ? null : 'two' });
    const ids: string[] = [];
    for await (const { id } of hil().each('/pending/summaries')) ids.push(id);
    expect(ids).toEqual(['/pending/summaries', '/pending/summaries?cursor=two']);
  });

  it('that has no rows is no list, and no end of one', async () => {
    gate.answer = (_, response) =>
      answerJson(response, 200, gate.asked.length === 1 ? [{ agent_name: 'a' }] : { ok: 1 });
    const rows = identity().each('/agents', { query: { tenant: 'acme' } });
    expect(await rows.next()).toMatchObject({ value: { agent_name: 'a' } });
    expect(await faultOf(rows.next())).toBeInstanceOf(GateTransportError);
    expect(gate.asked).toHaveLength(2);
  });

  it('of identity goes on behind its last row, until there is none', async () => {
    const pages = [[{ agent_name: 'a' }, { agent_name: 'b' }], [{ agent_name: 'c' }], []];
    gate.answer = (_, response) => answerJson(response, 200, pages[gate.asked.length - 1]);
    const names: string[] = [];
    for await (const agent of identity().each('/agents', { query: { tenant: 'acme' } })) names.push(agent.agent_name);
    expect(names).toEqual(['a', 'b', 'c']);
    expect(gate.asked.map(({ path }) => path.split('after=')[1])).toEqual([undefined, 'b', 'c']);
  });

  it('is asked for no further than it is read', async () => {
    gate.answer = (_, response) => answerJson(response, 200, { items: [{ id: 'a' }], next_cursor: 'two' });
    for await (const _ of hil().each('/pending/summaries')) break;
    expect(gate.asked).toHaveLength(1);
  });

  it('that never ends is a fault', async () => {
    gate.answer = (_, response) => answerJson(response, 200, { items: [], next_cursor: 'one' });
    const all = async (): Promise<void> => {
      for await (const _ of hil().each('/pending/summaries'));
    };
    expect(await faultOf(all())).toBeInstanceOf(GateTransportError);
    expect(gate.asked).toHaveLength(2);
  });
});
