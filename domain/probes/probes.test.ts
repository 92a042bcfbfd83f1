import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { asked, answerOfTool, answerOfUrl, readAnswer } from './answer.js';
import { nameOf, parseProbes, pauseMs, type Probe, refusedProbe } from './probes.js';

const booked = { at: '/json/status', is: ['booked'] };
const byTool: JsonObject = {
  tool: 'get_order',
  arguments: { reference: { from: '/arguments/reference' } },
  completed: booked,
};
const fileOf = (one: JsonObject, tool = 'pay') =>
  JSON.stringify({ contract: 'gate.probes/v1', probes: { [tool]: one } });
const probeOf = (one: JsonObject): Probe => parseProbes(fileOf(one)).get('pay') as Probe;

describe('a file of probes', () => {
  it('names for a tool whom to ask, with what of the call, and what its answer proves', () => {
    expect(probeOf(byTool)).toMatchObject({
      tool: 'get_order',
      attempts: 12,
      not_run_after_secs: 60,
      timeout_secs: 10,
    });
    expect(nameOf(probeOf(byTool))).toBe('get_order');
  });

  it('names an address without repeating its query', () => {
    const one = probeOf({
      url: 'https://bank.example/orders?key=k',
      query: { ref: { from: '/idempotency_id' } },
      completed: { at: '/status', is: [200] },
    });
    expect(nameOf(one)).toBe('https://bank.example/orders');
  });

  it.each([
    ['no JSON', 'nonsense', 'is no JSON'],
    ['no contract', '{"probes":{}}', 'contract'],
    ['a member that nothing reads', fileOf({ ...byTool, retries: 3 }), 'the probe of pay: the file: Unrecognized key'],
    ['neither tool nor address', fileOf({ completed: booked }), 'the probe of pay'],
    ['both', fileOf({ ...byTool, url: 'https://a.example/' }), 'the probe of pay'],
    ['no sign of an effect', fileOf({ tool: 'get_order', arguments: { a: { value: 1 } } }), 'completed'],
    ['the tool itself', fileOf({ ...byTool, tool: 'pay' }), 'never runs again'],
    ['a question about no call', fileOf({ ...byTool, arguments: {} }), 'asks about no call'],
    ['a pointer beside the call', fileOf({ ...byTool, arguments: { a: { from: '/tenant' } } }), 'points neither'],
    ['no pointer', fileOf({ ...byTool, completed: { at: 'status', is: ['x'] } }), 'is no JSON Pointer'],
    [
      'an answer that proves both',
      fileOf({ ...byTool, not_run: { at: '/json/status', is: ['unknown', 'booked'] } }),
      'one answer would prove',
    ],
    ['more attempts than are kept', fileOf({ ...byTool, attempts: 33 }), 'attempts'],
    [
      'an address of another scheme',
      fileOf({ url: 'file:///etc/passwd', query: { a: { value: 1 } }, completed: booked }),
      'url',
    ],
  ])('is refused for %s', (_what, text, why) => {
    expect(() => parseProbes(text)).toThrow(why);
  });

  it('is refused at the start where a tool is not known to read, or an address is not allowed', () => {
    const mayReach = (url: string) => {
      if (!url.startsWith('https://bank.example/')) throw new Error(`${url} is outside the allowlist`);
    };
    const probes = parseProbes(fileOf(byTool));
    expect(refusedProbe(probes, { reads: () => false, mayReach })).toContain('get_order is no reading tool');
    expect(refusedProbe(probes, { reads: () => true, mayReach })).toBeNull();
    const elsewhere = parseProbes(
      fileOf({ url: 'https://evil.example/orders?key=k', query: { a: { value: 1 } }, completed: booked }),
    );
    expect(refusedProbe(elsewhere, { reads: () => true, mayReach })).toBe(
      'the probe of pay: https://evil.example/orders: https://evil.example/orders is outside the allowlist',
    );
  });

  it('has pauses that double up to a limit', () => {
    const one = probeOf({ ...byTool, first_after_secs: 2, every_secs_at_most: 20 });
    expect([0, 1, 2, 3, 4, 40].map((steps) => pauseMs(one, steps))).toEqual([
      2_000, 4_000, 8_000, 16_000, 20_000, 20_000,
    ]);
    expect(pauseMs(probeOf({ ...byTool, first_after_secs: 0 }), 0)).toBe(0);
    expect(pauseMs(probeOf({ ...byTool, first_after_secs: 0 }), 1)).toBe(2_000);
  });
});

describe('a question', () => {
  const call = {
    arguments: { reference: 'r-1', deep: { a: [7] }, empty: '' },
    correlation_id: 'c',
    idempotency_id: null,
  };
  it('is made of parts of the call and of fixed values', () => {
    expect(
      asked({ ref: { from: '/arguments/reference' }, n: { from: '/arguments/deep/a/0' }, kind: { value: 'x' } }, call),
    ).toEqual({
      ref: 'r-1',
      n: 7,
      kind: 'x',
    });
  });

  it.each(['/arguments/other', '/arguments/empty', '/idempotency_id', '/arguments/constructor'])(
    'is none where the call holds nothing at %s: it would be about other calls',
    (from) => {
      expect(asked({ ref: { from } }, call)).toBeNull();
    },
  );
});

describe('an answer', () => {
  const one = probeOf({ ...byTool, not_run: { at: '/json/found', is: [false] } });
  it.each([
    ['completed', { status: 'booked', found: true }],
    ['not_run', { status: 'open', found: false }],
    ['both', { status: 'booked', found: false }],
    ['nothing', { status: 'open', found: true }],
    ['nothing', { status: ['booked'], found: 'false' }],
    ['nothing', {}],
  ] as const)('says %s', (said, json) => {
    expect(readAnswer(one, { json } as never)).toBe(said);
  });

  it('of a tool is its result, and what its first text says where that is JSON', () => {
    const reply = {
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: '{"status":"booked"}' }], structuredContent: { a: 1 } },
    };
    expect(answerOfTool(JSON.stringify(reply))).toMatchObject({
      json: { status: 'booked' },
      structuredContent: { a: 1 },
    });
    expect(answerOfTool('{"result":{"content":[{"text":"plain"}]}}')).toMatchObject({ json: null });
  });

  it.each(['garbage', '[]', '{"error":{"code":1}}', '{"result":[1]}', '{"result":"booked"}'])(
    'of a tool is none: %s',
    (text) => {
      expect(answerOfTool(text)).toBeNull();
    },
  );

  it('of an address is its status, and its body where that is JSON', () => {
    expect(answerOfUrl(404, '')).toEqual({ status: 404, body: null });
    expect(answerOfUrl(200, '{"a":1}')).toEqual({ status: 200, body: { a: 1 } });
  });
});
