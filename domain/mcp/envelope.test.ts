import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { GateError } from '../errors.js';
import { batchTools, siblingsOf } from './batch.js';
import { parseMcpRequest } from './envelope.js';

const text = (fields: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, ...fields });
const refused = (body: string): GateError => {
  try {
    parseMcpRequest(body);
  } catch (error) {
    return error as GateError;
  }
  throw new Error(`was taken: ${body}`);
};

describe('the JSON-RPC envelope', () => {
  it.each(['call_tool', 'tools/call'])('reads %s as a call of the tool that params.name names', (method) => {
    const body = {
      jsonrpc: '2.0',
      id: 'x',
      method,
      params: { name: 'read_file', arguments: { path: 'a' }, _meta: { progressToken: 'p' } },
    };
    expect(parseMcpRequest(JSON.stringify(body))).toEqual({ kind: 'tool', method, tool: 'read_file', body });
  });

  describe('an atomic batch', () => {
    const contract = 'gate.atomic-tool-call-batch/v1';
    const calls = [
      { id: 'b', name: 'read_file', arguments: { path: 'a' } },
      { id: 'a', name: 'write_file' },
    ];
    const batch = (params: unknown) => text({ method: 'gate/tools.batch', params });

    it.each([
      ['bare', { contract, calls }],
      ['as the SDKs send it', { name: 'gate.atomic-batch', arguments: { contract, calls } }],
    ])('is read %s, in its order', (_form, params) => {
      const read = parseMcpRequest(batch(params));
      expect(read).toMatchObject({ kind: 'tool', tool: 'gate/tools.batch', body: { params } });
      expect(batchTools(read.method, read.body)).toEqual(['read_file', 'write_file']);
    });

    it.each([
      ['without a contract', { calls }, 'params.contract'],
      ['of another contract', { contract: 'gate.atomic-tool-call-batch/v2', calls }, 'params.contract'],
      ['of no calls', { contract, calls: [] }, 'params.calls'],
      ['with one id twice', { contract, calls: [calls[0], calls[0]] }, 'two calls have one id'],
      ['with fields nobody judges', { contract, calls, also: 1 }, 'also'],
      ['under another name', { name: 'gate.batch', arguments: { contract, calls } }, 'params.name'],
      ['in both forms at once', { name: 'gate.atomic-batch', contract, calls }, 'params.arguments'],
      ['with fields beside both', { name: 'gate.atomic-batch', arguments: { contract, calls }, calls }, 'calls'],
      ['named, without a contract', { name: 'gate.atomic-batch', arguments: { calls } }, 'params.arguments.contract'],
      ['named, without arguments', { name: 'gate.atomic-batch' }, 'params.arguments'],
      ['with a batch in it', { contract, calls: [{ id: 'a', name: 'gate.atomic-batch' }] }, 'inside a batch'],
      [
        'with a batch in it under another name',
        { contract, calls: [{ id: 'a', name: 'x', arguments: { contract, calls } }] },
        'inside a batch',
      ],
      ['that is a list', calls, 'params'],
      ['of nothing', undefined, 'params'],
    ])('is refused %s', (_what, params, said) => {
      expect(refused(batch(params))).toMatchObject({ code: 'invalid_mcp', message: expect.stringContaining(said) });
    });

    it.each(['resources/read', 'prompts/get', 'Resources/Read', 'resources\u200b/read', ' prompts/get'])(
      'is not needed to see that %j names no tool: its call would be shown and signed as the method',
      (name) => {
        expect(refused(text({ method: 'tools/call', params: { name, arguments: {} } }))).toMatchObject({
          code: 'invalid_mcp',
          message: expect.stringContaining('names no tool'),
        });
      },
    );

    it.each(['tools/call', 'call_tool'])('is refused under %s, where nobody would unfold it', (method) => {
      for (const name of [
        'gate.atomic-batch',
        'Gate.Atomic-Batch',
        'gate/atomic_batch',
        'gateAtomicBatch',
        ' gate.atomic\u200b-batch',
        '\uff47ate.atomic-batch',
        'gate/tools.batch',
      ])
        expect(refused(text({ method, params: { name, arguments: { contract, calls } } }))).toMatchObject({
          code: 'invalid_mcp',
          message: expect.stringContaining('gate/tools.batch'),
        });
      expect(refused(text({ method, params: { name: 'other', arguments: { contract, calls } } })).code).toBe(
        'invalid_mcp',
      );
      for (const name of ['gate.atomic-batches', 'atomic-batch', 'batch'])
        expect(parseMcpRequest(text({ method, params: { name, arguments: { calls } } }))).toMatchObject({ tool: name });
    });

    it('is refused by whoever judges, should it come so far', () => {
      for (const method of ['tools/call', 'call_tool'])
        expect(() =>
          siblingsOf(method, 'GATE.atomic-batch', { params: { name: 'GATE.atomic-batch', arguments: {} } }),
        ).toThrow(GateError);
    });

    it('takes 128 calls and not one more', () => {
      const many = (count: number) =>
        Array.from({ length: count }, (_, index) => ({ id: `${index}`, name: 'read_file' }));
      expect(parseMcpRequest(batch({ contract, calls: many(128) }))).toMatchObject({ kind: 'tool' });
      expect(refused(batch({ contract, calls: many(129) })).code).toBe('invalid_mcp');
    });
  });

  it('takes a call without arguments; what is missing is empty', () => {
    expect(parseMcpRequest(text({ method: 'tools/call', params: { name: 'x' } }))).toMatchObject({
      kind: 'tool',
      tool: 'x',
    });
  });

  it.each([
    ['resources/read', { uri: 'file:///notes/todo.txt' }],
    ['prompts/get', { name: 'summary', arguments: { of: 'notes' } }],
  ])('reads %s as a call of its own name', (method, params) => {
    expect(parseMcpRequest(text({ method, params }))).toMatchObject({ kind: 'tool', method, tool: method });
    expect(refused(text({ method, params: { ...params, cursor: 'x' } })).code).toBe('unjudged_field');
  });

  it.each<[string, JsonObject | undefined, RegExp]>([
    ['resources/read', undefined, /uri/],
    ['resources/read', { uri: '' }, /uri/],
    ['resources/read', { uri: 'x'.repeat(8_193) }, /uri/],
    ['prompts/get', {}, /name/],
    ['prompts/get', { name: 'n'.repeat(257) }, /name/],
    ['prompts/get', { name: 'a', arguments: [] }, /arguments/],
    ['prompts/get', { name: 'a', arguments: { deep: { er: 1 } } }, /object of strings/],
  ])('refuses %s with the parameters %j', (method, params, why) => {
    expect(refused(text({ method, ...(params && { params }) }))).toMatchObject({
      code: 'invalid_mcp',
      message: expect.stringMatching(why),
    });
  });

  it.each([
    'initialize',
    'ping',
    'tools/list',
    'resources/list',
    'resources/templates/list',
    'prompts/list',
    'logging/setLevel',
  ])('reads %s as a control method', (method) => {
    expect(parseMcpRequest(text({ method }))).toMatchObject({ kind: 'control', method, notification: false });
  });

  describe('what a control method sends', () => {
    const ref = { type: 'ref/prompt', name: 'greet' };
    const argument = { name: 'who', value: 'Al' };

    it.each([
      ['completion/complete', { ref, argument }],
      ['completion/complete', { ref: { ...ref, title: 'Greet' }, argument: { ...argument, value: '' } }],
      ['completion/complete', { ref: { type: 'ref/resource', uri: 'file:///{p}' }, argument, context: {} }],
      ['completion/complete', { ref, argument, context: { arguments: { city: 'Bern' } } }],
      ['resources/subscribe', { uri: 'file:///a' }],
      ['tools/list', { cursor: 'x'.repeat(12_288) }],
      ['prompts/list', {}],
    ])('is taken: %s %j', (method, params) => {
      expect(parseMcpRequest(text({ method, params }))).toMatchObject({ kind: 'control', body: { params } });
    });

    it.each<[string, object, string]>([
      ['completion/complete', {}, 'params.ref'],
      ['completion/complete', { ref, argument: { ...argument, more: 1 } }, 'params.argument'],
      ['completion/complete', { ref, argument: { ...argument, value: { deep: 1 } } }, 'params.argument.value'],
      ['completion/complete', { ref, argument: { ...argument, value: 'x'.repeat(4_097) } }, 'params.argument.value'],
      ['completion/complete', { ref: { ...ref, note: 'x' }, argument }, 'params.ref'],
      ['completion/complete', { ref: { type: 'ref/tool', name: 'x' }, argument }, 'params.ref.type'],
      ['completion/complete', { ref, argument, context: { more: {} } }, 'params.context'],
      ['completion/complete', { ref, argument, context: { arguments: { a: ['b'] } } }, 'params.context.arguments.a'],
      [
        'completion/complete',
        {
          ref,
          argument,
          context: { arguments: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`a${at}`, 'b'])) },
        },
        'params.context.arguments',
      ],
      [
        'completion/complete',
        {
          ref,
          argument,
          context: { arguments: Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((at) => [at, 'x'.repeat(4_000)])) },
        },
        'params.context.arguments',
      ],
      ['resources/subscribe', {}, 'params.uri'],
      ['resources/subscribe', { uri: 'x'.repeat(8_193) }, 'params.uri'],
      ['resources/unsubscribe', { uri: { a: 1 } }, 'params.uri'],
      ['tools/list', { cursor: 'x'.repeat(12_289) }, 'params.cursor'],
      ['resources/list', { cursor: { a: 1 } }, 'params.cursor'],
    ])('is refused beyond the schema of MCP: %s', (method, params, field) => {
      expect(refused(text({ method, params }))).toMatchObject({ code: 'invalid_mcp', fields: { field } });
    });
  });

  it.each([
    ['list_tools', 'tools/list'],
    ['list_resources', 'resources/list'],
  ])('reads %s as %s, which is what goes on', (older, method) => {
    expect(parseMcpRequest(text({ method: older, params: { cursor: 'a' } }))).toEqual({
      kind: 'control',
      method,
      body: { jsonrpc: '2.0', id: 1, method, params: { cursor: 'a' } },
      notification: false,
    });
  });

  it.each([
    ['initialized', 'notifications/initialized'],
    ['notifications/initialized', 'notifications/initialized'],
    ['notifications/cancelled', 'notifications/cancelled'],
    ['notifications/progress', 'notifications/progress'],
    ['notifications/roots/list_changed', 'notifications/roots/list_changed'],
  ])('reads %s without an id as the notification %s', (given, method) => {
    expect(parseMcpRequest(JSON.stringify({ jsonrpc: '2.0', method: given }))).toMatchObject({
      kind: 'control',
      method,
      notification: true,
    });
  });

  it.each(['notifications/made/up', 'notifications/tools/list_changed', 'notifications/cancelled ', 'notifications/'])(
    'does not take the notification %s',
    (method) => {
      expect(refused(JSON.stringify({ jsonrpc: '2.0', method })).code).toBe('unsupported_method');
      expect(refused(text({ method })).code).toBe('unsupported_method');
    },
  );

  it.each(['notifications/made/up', 'notifications/tasks/status'])(
    'takes %s of an ordinary client, which by JSON-RPC could be told of no refusal',
    (method) => {
      const notification = JSON.stringify({ jsonrpc: '2.0', method });
      expect(parseMcpRequest(notification, { ofClient: true })).toMatchObject({ kind: 'control', notification: true });
      expect(() => parseMcpRequest(text({ method }), { ofClient: true })).toThrow('does not forward');
    },
  );

  describe('what a client adds in `_meta` for others', () => {
    const asked = (_meta: JsonObject) => text({ method: 'tools/call', params: { name: 'x', _meta } });
    const ids = { 'claudecode/toolUseId': 'toolu_1', 'vscode.requestId': 'r', callId: 7, other: { deep: ['er'] } };

    it('is left out before anything is judged; what Gate knows stays', () => {
      const known = { progressToken: 2, traceparent: 't', 'gate/idempotency-key': 'k' };
      expect(parseMcpRequest(asked({ ...ids, ...known }), { ofClient: true }).body.params).toEqual({
        name: 'x',
        _meta: known,
      });
      expect(parseMcpRequest(asked(ids), { bound: false }).body.params).toEqual({ name: 'x', _meta: {} });
    });

    it.each([
      'Gate/idempotency-key',
      'GATE/idempotency-key',
      'gate.idempotency-key',
      'gate:idempotency-key',
      'gate_idempotency_key',
      'gate-idempotency-key',
      ' gate/idempotency-key',
      'g\u0430te/idempotency-key',
      '\uff47\uff41\uff54\uff45/idempotency-key',
      'ga\u200bte/idempotency-key',
      `${'\u200b'.repeat(100)}Gate/${'x'.repeat(100)}`,
    ])('refuses %j of a client in `_meta`: it reads as a member for Gate, which has none of that name', (name) => {
      const params = { name: 'echo', arguments: {}, _meta: { [name]: 'k' } };
      const refused = () => parseMcpRequest(text({ method: 'tools/call', params }), { ofClient: true });
      expect(refused).toThrow(expect.objectContaining({ code: 'unjudged_field' }));
    });

    it.each(['gateway/trace', 'aggregate.id', 'com.example.gate/x', 'claudecode/toolUseId', 'vscode.requestId'])(
      'leaves %s of a client out of `_meta`, which is meant for somebody else',
      (name) => {
        const params = { name: 'echo', arguments: {}, _meta: { [name]: 'k' } };
        const { body } = parseMcpRequest(text({ method: 'tools/call', params }), { ofClient: true });
        expect(body.params).toEqual({ ...params, _meta: {} });
      },
    );

    it('is refused where it is meant for Gate, and Gate has none of that name', () => {
      expect(() => parseMcpRequest(asked({ 'gate/idempotency_key': 'k' }), { ofClient: true })).toThrow(
        'gate/idempotency_key',
      );
    });

    it('is refused under a contract, which covers a request to its last member', () => {
      expect(refused(asked(ids))).toMatchObject({ code: 'unjudged_field' });
    });
  });

  it('takes no notification that has an id: it would be a request in disguise', () => {
    for (const method of ['notifications/cancelled', 'initialized'])
      expect(refused(text({ method }))).toMatchObject({ code: 'invalid_mcp', message: /notification/ });
  });

  it('takes no method of more than 128 characters, whatever it begins with', () => {
    for (const begin of ['', 'notifications/', 'tools/call'])
      expect(refused(text({ method: begin.padEnd(129, 'x') }))).toMatchObject({
        code: 'invalid_mcp',
        message: expect.stringContaining('128'),
      });
    expect(refused(text({ method: 'x'.repeat(128) })).code).toBe('unsupported_method');
  });

  it.each([
    '{"__proto__":{"path":"/etc/shadow"}}',
    '{"\\u005f_proto__":1}',
    '{"a":[{"b":{"__proto__":null}}]}',
    '{"constructor":{"prototype":{"path":"x"}}}',
  ])('refuses arguments with a key that is no mere data: %s', (given) => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":${given}}}`;
    expect(refused(body)).toMatchObject({ code: 'invalid_mcp', message: expect.stringMatching(/not taken/) });
  });

  it('reads `constructor` and `prototype` as the data they are', () => {
    const given = { constructor: 'x', prototype: { constructor: [{ prototype: 1 }] }, hasOwnProperty: 1 };
    const read = parseMcpRequest(text({ method: 'tools/call', params: { name: 'x', arguments: given } }));
    expect(JSON.stringify(read.body.params)).toBe(JSON.stringify({ name: 'x', arguments: given }));
  });

  it.each(['tools/delete', 'tasks/get', 'Tools/Call', 'tools/call ', 'notifications', '__proto__', 'constructor'])(
    'does not know %j',
    (method) => {
      expect(refused(text({ method })).code).toBe('unsupported_method');
    },
  );

  it.each([1, 0, -5, Number.MAX_SAFE_INTEGER, 'a', ''])('echoes the id %j', (id) => {
    expect(parseMcpRequest(text({ id, method: 'ping' })).body.id).toBe(id);
  });

  it.each([[null], [1.5], [true], [{}], [[]]])('refuses the id %j', (id) => {
    expect(refused(text({ id, method: 'ping' }))).toMatchObject({
      code: 'invalid_mcp',
      message: expect.stringMatching(/id/),
    });
  });

  it.each<[string, string, RegExp]>([
    ['no JSON', '{', /not JSON/],
    ['a batch', '[]', /batch/],
    ['a number', '7', /one JSON object/],
    ['null', 'null', /one JSON object/],
    ['no method', text({}), /`method` must be a non-empty string/],
    ['an empty method', text({ method: '' }), /`method`/],
    ['no version', '{"id":1,"method":"ping"}', /jsonrpc/],
    ['version 1.0', text({ jsonrpc: '1.0', method: 'ping' }), /jsonrpc/],
    ['no id on a request', '{"jsonrpc":"2.0","method":"ping"}', /id/],
    ['no id on a tool call', '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}', /id/],
    ['no params', text({ method: 'tools/call' }), /`params`/],
    ['params that are null', text({ method: 'tools/call', params: null }), /params/],
    ['no name', text({ method: 'tools/call', params: {} }), /`params.name`/],
    ['a name that is a number', text({ method: 'tools/call', params: { name: 1 } }), /`params.name`/],
    ['an empty name', text({ method: 'tools/call', params: { name: '' } }), /`params.name`/],
    ['a name of 257 characters', text({ method: 'tools/call', params: { name: 'n'.repeat(257) } }), /256/],
    [
      'arguments that are a list',
      text({ method: 'tools/call', params: { name: 'x', arguments: [] } }),
      /`params.arguments`/,
    ],
    [
      'arguments that are null',
      text({ method: 'tools/call', params: { name: 'x', arguments: null } }),
      /`params.arguments`/,
    ],
  ])('refuses %s, saying what is wrong', (_what, body, why) => {
    const error = refused(body);
    expect(error).toMatchObject({ code: 'invalid_mcp', status: 400 });
    expect(error.message).toMatch(/^Invalid MCP request: /);
    expect(error.message).toMatch(why);
  });

  it('takes a name of 256 characters', () => {
    expect(parseMcpRequest(text({ method: 'tools/call', params: { name: 'n'.repeat(256) } })).kind).toBe('tool');
  });
});
