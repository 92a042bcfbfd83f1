import { describe, expect, it } from '@jest/globals';
import type { ResponseAction, ScanRequest } from '../../contracts/response-scan.js';
import { createResponseJudge } from './response-judge.js';
import { scanResponse } from './scan-response.js';

const CALL = {
  correlation_id: 'c',
  tenant: 'acme',
  agent: 'bot',
  tool: 'get_page',
  method: 'tools/call',
  mode: 'enforce',
} as const;
const BUNDLE = { schema_version: 1, version: '2026-01-01.1', hash_sha256: 'sha256:x', policy_count: 1 } as const;
const answer = (text: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }] } });

const judging = (
  scan: (request: ScanRequest) => ReturnType<typeof scanResponse>,
  actions: Record<string, ResponseAction>,
) =>
  createResponseJudge({
    scanner: { scanResponse: async (request) => scan(request) },
    policy: { judgeResponse: async () => ({ actions, default_action: 'deny', policy_bundle: BUNDLE }) },
    mode: 'enforce',
    dataTools: ['*'],
  });

describe('what is left of an answer after something was taken out', () => {
  it('is looked at once more, and withheld where it holds something else that would have to go', async () => {
    // The first look misses a number that only the second one sees.
    const seen: string[] = [];
    const { judge } = judging(
      (request) => {
        seen.push(request.response_body);
        return scanResponse(
          seen.length === 1
            ? { ...request, response_body: request.response_body.replace('219-09-9999', 'x'.repeat(11)) }
            : request,
        );
      },
      { SSN: 'sanitize' },
    );
    const judged = await judge(CALL, answer('536-22-8731 and 219-09-9999'));
    expect(judged).toMatchObject({
      text: null,
      inspected: { released: 'withheld', reason: 'it still holds SSN after what was found had been taken out' },
    });
    expect(seen[1]).toBe(answer('[REDACTED:SSN] and 219-09-9999'));
  });

  it('may hold what policy lets pass', async () => {
    const { judge } = judging(scanResponse, { SSN: 'sanitize', EMAIL: 'allow' });
    const { text } = await judge(CALL, answer('536-22-8731, jane@example.com'));
    expect(text).toBe(answer('[REDACTED:SSN], jane@example.com'));
  });
});

describe('the id under which Gate answers', () => {
  it.each([4111111111111111, '4111111111111111', 'jane@example.com'])(
    "is its caller's, whatever it looks like: %j",
    async (id) => {
      const { judge } = judging(scanResponse, { CREDIT_CARD: 'sanitize', EMAIL: 'sanitize' });
      const reply = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } });
      expect(await judge(CALL, reply)).toEqual({ text: reply });
      const elsewhere = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { id } });
      expect((await judge(CALL, elsewhere)).text).not.toContain(String(id));
    },
  );
});
