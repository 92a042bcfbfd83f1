import { describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { receiptSha256 } from './receipt.js';

const call = {
  correlation_id: 'd0f1a2b3-0000-4000-8000-000000000001',
  agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/bot',
  idempotency_id: 'd0f1a2b3-0000-4000-8000-000000000002',
  method: 'tools/call',
  tool: 'read_file',
} as CallInput;
const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_file' } };
const asAsked = { submitted: request, effective: request };
const digest = (result: string, status = 200) => receiptSha256(call, asAsked, Buffer.from(result), status);

describe('the digest of a receipt', () => {
  it('differs with the answer, its status and the request', () => {
    const digests = [digest('{"a":1}'), digest('{"a":2}'), digest('{"a":1}', 404)];
    const other = { ...request, id: 2 };
    digests.push(receiptSha256(call, { submitted: other, effective: other }, Buffer.from('{"a":1}'), 200));
    digests.push(receiptSha256(call, { submitted: request, effective: other }, Buffer.from('{"a":1}'), 200));
    expect(new Set(digests).size).toBe(5);
    expect(digest('{"a":1}')).toBe(digests[0]);
  });

  it('takes the text of an answer that RFC 8785 has no form for: what was executed is never lost over its receipt', () => {
    expect(digest('{"a":"\\ud800"}')).toMatch(/^[0-9a-f]{64}$/);
    expect(digest('{"a":"\\ud800"}')).not.toBe(digest('{"a":"\\ud801"}'));
  });
});
