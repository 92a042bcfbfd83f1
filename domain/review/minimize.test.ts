import { describe, expect, it } from '@jest/globals';
import { canonicalJson } from '../crypto/digest.js';
import { minimizePayload } from './minimize.js';

const digest = `sha256:${'ab'.repeat(32)}`;
const call = (args: object, name: unknown = 'wire_transfer') =>
  JSON.parse(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'call_tool', params: { name, arguments: args } }));

describe('the minimized payload, profile hil-request-v1', () => {
  it('holds method, tool, names of arguments and the digest, never a value', () => {
    expect(minimizePayload(call({ amount: 5, note: 'private text', nested: { deep: 'value' } }), digest)).toEqual({
      jsonrpc: '2.0',
      method: 'call_tool',
      params: { name: 'wire_transfer', arguments: { keys: ['amount', 'note', 'nested'] } },
      canonical_payload_sha256: digest,
    });
  });

  it('redacts names that look like secrets', () => {
    const names = ['password', 'API_KEY', 'api-key', 'accessToken', 'client_secret', 'Authorization', 'sessionId'];
    const { params } = minimizePayload(call(Object.fromEntries(names.map((name) => [name, 1]))), digest);
    expect(params).toMatchObject({ arguments: { keys: names.map(() => '[redacted]') } });
  });

  it('has nulls and no names for what is no tool call', () => {
    const empty = { jsonrpc: null, method: null, params: { name: null, arguments: { keys: [] } } };
    for (const payload of [{}, { params: [] }, { params: null }, { params: { name: 5, arguments: ['a'] } }])
      expect(minimizePayload(payload as never, digest)).toEqual({ ...empty, canonical_payload_sha256: digest });
  });

  it('stays under 4096 bytes and counts the names left out', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`argument_${n}`, n]));
    const minimized = minimizePayload(call(many), digest);
    expect(Buffer.byteLength(canonicalJson(minimized))).toBeLessThanOrEqual(4096);
    const { keys } = (minimized as { params: { arguments: { keys: string[] } } }).params.arguments;
    expect(keys.length).toBeGreaterThan(50);
    expect(minimized['keys_omitted']).toBe(5000 - keys.length);
  });

  it.each([
    ['a long name', 'n'.repeat(10_000)],
    ['a name that would be cut inside a surrogate pair', `${'n'.repeat(63)}😀😀`],
    ['a name of escapes', '\u0001'.repeat(10_000)],
  ])('cuts %s', (_, name) => {
    const minimized = minimizePayload(call({ [name]: 1 }, name), digest);
    expect(Buffer.byteLength(canonicalJson(minimized))).toBeLessThanOrEqual(4096);
    expect(canonicalJson(minimized)).toContain('…');
  });
});
