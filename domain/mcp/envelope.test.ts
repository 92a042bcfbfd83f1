import { describe, expect, it } from '@jest/globals';
import { GateError } from '../errors.js';
import { batchTools } from './batch.js';
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

describe('spec 2.1, proxy sheet 2: the JSON-RPC envelope', () => {
  it.each(['call_tool', 'tools/call'])('reads %s as a call of the tool that params.name names', (method) => {
    const body = {
      jsonrpc: '2.0',
      id: 'x',
      method,
      params: { name: 'read_file', arguments: { path: 'a' }, extra: true },
      other: 1,
    };
    expect(parseMcpRequest(JSON.stringify(body))).toEqual({ kind: 'tool', method, tool: 'read_file', body });
  });

  describe('proxy sheet 8, lite sheet 7: an atomic batch', () => {
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
      ['that is a list', calls, 'params'],
      ['of nothing', undefined, 'params'],
    ])('is refused %s', (_what, params, said) => {
      expect(refused(batch(params))).toMatchObject({ code: 'invalid_mcp', message: expect.stringContaining(said) });
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

  it.each(['initialize', 'ping', 'tools/list', 'resources/list', 'prompts/list'])(
    'reads %s as a control method',
    (method) => {
      expect(parseMcpRequest(text({ method }))).toMatchObject({ kind: 'control', method, notification: false });
    },
  );

  it.each([
    ['list_tools', 'tools/list'],
    ['list_resources', 'resources/list'],
    ['initialized', 'notifications/initialized'],
  ])('reads %s as %s, which is what goes on', (older, method) => {
    expect(parseMcpRequest(text({ method: older, params: { cursor: 'a' } }))).toEqual({
      kind: 'control',
      method,
      body: { jsonrpc: '2.0', id: 1, method, params: { cursor: 'a' } },
      notification: false,
    });
  });

  it.each(['initialized', 'notifications/initialized', 'notifications/cancelled', 'notifications/made/up'])(
    'reads %s without an id as a notification',
    (method) => {
      expect(parseMcpRequest(JSON.stringify({ jsonrpc: '2.0', method }))).toMatchObject({
        kind: 'control',
        method: method === 'initialized' ? 'notifications/initialized' : method,
        notification: true,
      });
    },
  );

  it.each(['tools/delete', 'resources/read', 'Tools/Call', 'tools/call ', 'notifications', '__proto__', 'constructor'])(
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
