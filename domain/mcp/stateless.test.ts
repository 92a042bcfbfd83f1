import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { GateError } from '../errors.js';
import { checkStateless, claimsRevision, discoveredFrom, finishedFor } from './stateless.js';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAN = 'io.modelcontextprotocol/clientCapabilities';
const META = { [VERSION]: '2026-07-28', [CAN]: {} };
const call = (meta: JsonObject | undefined = META, more: JsonObject = {}): JsonObject => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'list_files', ...(meta && { _meta: meta }) },
  ...more,
});
const HEADERS = { version: '2026-07-28', method: 'tools/call', name: 'list_files' };
const refused = (body: JsonObject, headers: Partial<typeof HEADERS> = HEADERS): string => {
  try {
    checkStateless(body, { version: undefined, method: undefined, name: undefined, ...headers });
  } catch (error) {
    if (error instanceof GateError) return error.code;
    throw error;
  }
  return 'taken';
};

describe('a request of MCP 2026-07-28', () => {
  it('says in its body and in its headers what it is, and both agree', () => {
    expect(refused(call())).toBe('taken');
    const named = { ...HEADERS, name: '=?base64?bGlzdF9maWxlcw==?=' };
    expect(refused(call(), named)).toBe('taken');
  });

  it.each<[string, JsonObject, Partial<Record<keyof typeof HEADERS, string | undefined>>, string]>([
    ['no envelope', call(undefined, { params: { name: 'list_files' } }), {}, 'mcp_envelope_invalid'],
    ['a revision that is no text', call({ [VERSION]: 1, [CAN]: {} }), {}, 'mcp_envelope_invalid'],
    ['no capabilities', call({ [VERSION]: '2026-07-28' }), {}, 'mcp_envelope_invalid'],
    ['capabilities that are a list', call({ [VERSION]: '2026-07-28', [CAN]: [] }), {}, 'mcp_envelope_invalid'],
    ['another revision in the header', call(), { version: '2025-11-25' }, 'mcp_header_mismatch'],
    ['no revision in the headers', call(), { version: undefined }, 'mcp_header_mismatch'],
    ['no method in the headers', call(), { method: undefined }, 'mcp_header_mismatch'],
    ['another method in the headers', call(), { method: 'tools/list' }, 'mcp_header_mismatch'],
    ['no name in the headers', call(), { name: undefined }, 'mcp_header_mismatch'],
    ['another name in the headers', call(), { name: 'read_file' }, 'mcp_header_mismatch'],
    ['a name that is no base64', call(), { name: '=?base64?***?=' }, 'mcp_header_mismatch'],
    [
      'initialize under its header',
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} },
      { method: 'initialize', name: undefined },
      'mcp_header_mismatch',
    ],
    [
      'a revision that nobody knows',
      call({ [VERSION]: '2099-01-01', [CAN]: {} }),
      { version: '2099-01-01' },
      'protocol_version_unsupported',
    ],
  ])('is refused with %s', (_, body, headers, code) => {
    expect(refused(body, { ...HEADERS, ...headers } as typeof HEADERS)).toBe(code);
  });

  it('is none where it claims a revision with sessions, or none at all', () => {
    const older = call({ [VERSION]: '2025-11-25', [CAN]: {} });
    expect(checkStateless(older, { version: '2025-11-25', method: undefined, name: undefined })).toBe(false);
    const quoting = call(undefined, { params: { name: 'x', arguments: { text: VERSION } } });
    expect(claimsRevision(undefined, JSON.stringify(quoting))).toBe(true);
    expect(checkStateless(quoting, { version: '2025-06-18', method: undefined, name: undefined })).toBe(false);
  });

  it('needs no headers as a notification', () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/cancelled' };
    expect(checkStateless(notification, { version: '2026-07-28', method: undefined, name: undefined })).toBe(true);
  });
});

describe('an answer of MCP 2026-07-28', () => {
  it('has the kind of its result, and for lists that nobody may keep it; all else is the upstream’s text', () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}';
    expect(finishedFor('tools/call')(text)).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890,"resultType":"complete"}}',
    );
    expect(finishedFor('tools/list')(text)).toContain('"ttlMs":0,"cacheScope":"private"');
    const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}';
    expect(finishedFor('tools/call')(error)).toBe(error);
  });

  it('to server/discover names the revision, and the upstream as it introduced itself', () => {
    const introduction = {
      jsonrpc: '2.0',
      id: 'd',
      result: { capabilities: { tools: {} }, serverInfo: { name: 'u' } },
    };
    expect(JSON.parse(discoveredFrom(JSON.stringify(introduction)))).toEqual({
      jsonrpc: '2.0',
      id: 'd',
      result: {
        supportedVersions: ['2026-07-28'],
        // Gate makes the tasks, whatever the upstream has.
        capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'u' } },
      },
    });
  });
});
