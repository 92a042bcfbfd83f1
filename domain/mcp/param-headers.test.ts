import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { coded, decoded, mirroredParams, paramHeaderFault, paramHeaders } from './param-headers.js';

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    limit: { type: 'integer', 'x-mcp-header': 'Limit' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' },
    where: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': 'Zone' } } },
    query: { type: 'string', default: { 'x-mcp-header': 'no schema' } },
  },
};
const PARAMS = mirroredParams(SCHEMA) ?? [];

describe('parameters that a tool wants repeated in headers', () => {
  it('are those that its schema marks, at any depth of `properties`', () => {
    expect(PARAMS).toEqual([
      { name: 'Region', path: ['region'] },
      { name: 'Limit', path: ['limit'] },
      { name: 'Dry-Run', path: ['dry'] },
      { name: 'Zone', path: ['where', 'zone'] },
    ]);
    for (const none of [undefined, null, true, {}, { type: 'object' }]) expect(mirroredParams(none)).toEqual([]);
    // A property may have any name.
    expect(mirroredParams({ properties: { items: { type: 'string', 'x-mcp-header': 'I' } } })).toHaveLength(1);
    expect(mirroredParams({ properties: { properties: { type: 'string', 'x-mcp-header': 'P' } } })).toHaveLength(1);
  });

  const marked = (name: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': name }) as JsonObject;
  it.each<[string, JsonObject]>([
    ['no name', { properties: { a: marked('') } }],
    ['a name that is no token', { properties: { a: marked('a b') } }],
    ['a name with a line end', { properties: { a: marked('a\r\nx: y') } }],
    ['a name that is no string', { properties: { a: marked(1) } }],
    ['a number', { properties: { a: marked('A', 'number') } }],
    ['an object', { properties: { a: marked('A', 'object') } }],
    ['several types', { properties: { a: marked('A', ['string', 'null']) } }],
    ['two names that are one', { properties: { a: marked('A'), b: marked('a') } }],
    ['the root', { 'x-mcp-header': 'A', type: 'string' }],
    ['an item', { properties: { a: { type: 'array', items: marked('A') } } }],
    ['a branch', { oneOf: [{ properties: { a: marked('A') } }] }],
    ['a definition', { $defs: { a: marked('A') } }],
  ])('are none where the schema marks %s', (_, schema) => {
    expect(mirroredParams(schema)).toBeNull();
  });

  it('are sent coded where they are no plain text, and not where there is no value', () => {
    expect(paramHeaders(PARAMS, { region: 'Hello, 世界', limit: 42, dry: false, where: { zone: ' padded ' } })).toEqual(
      {
        'mcp-param-region': '=?base64?SGVsbG8sIOS4lueVjA==?=',
        'mcp-param-limit': '42',
        'mcp-param-dry-run': 'false',
        'mcp-param-zone': '=?base64?IHBhZGRlZCA=?=',
      },
    );
    expect(paramHeaders(PARAMS, { region: null, limit: 2 ** 60, where: [] })).toEqual({});
    expect(paramHeaders(PARAMS, { region: 'line1\nline2' })).toEqual({
      'mcp-param-region': '=?base64?bGluZTEKbGluZTI=?=',
    });
    expect(coded('=?base64?literal?=')).toBe('=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=');
    for (const text of ['', 'us-west1', ' x', '=?base64?a?=', '=?base64?abc', 'é\n'])
      expect(decoded(coded(text))).toBe(text);
  });

  it.each<[string, JsonObject, Record<string, string>, RegExp | null]>([
    ['the same', { region: 'eu', limit: 7 }, { region: 'eu', limit: '7.0' }, null],
    ['the same, coded', { region: 'Hello' }, { region: '=?base64?SGVsbG8=?=' }, null],
    ['no value and no header', { region: null }, {}, null],
    ['a header for nobody', { query: 'x' }, { unknown: 'x' }, null],
    ['no header', { region: 'eu' }, {}, /Mcp-Param-Region is missing/],
    ['another value', { region: 'eu' }, { region: 'us' }, /is not what params\.arguments\.region is/],
    ['another case', { region: 'eu' }, { region: 'EU' }, /is not what/],
    ['no value', {}, { region: 'eu' }, /is not given/],
    ['another number', { limit: 7 }, { limit: '8' }, /is not what/],
    ['a number in another form', { limit: 7 }, { limit: '0x7' }, /is not what/],
    ['bad padding', { region: 'Hello' }, { region: '=?base64?SGVsbG8?=' }, /is not what/],
    ['no base64', { region: 'Hello' }, { region: '=?base64?SGVs!!!bG8=?=' }, /is not what/],
    ['bytes that are no text', { region: '\ufffd' }, { region: '=?base64?/w==?=' }, /is not what/],
    ['a literal beginning like a coded one', { region: '=?base64?SGVsbG8=' }, { region: '=?base64?SGVsbG8=' }, null],
    ['a value within', { where: { zone: 'a' } }, { zone: 'b' }, /arguments\.where\.zone/],
  ])('are compared with the body: %s', (_, given, headers, fault) => {
    const found = paramHeaderFault(PARAMS, given, (name) => headers[name.replace('mcp-param-', '')]);
    if (fault === null) expect(found).toBeNull();
    else expect(found).toMatch(fault);
  });
});
