import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { MineLine } from '../../../contracts/policy-mining.js';
import { createHttp } from '../../support/agent.js';
import { gate } from '../../support/running-stack.js';

describe('what people decided, mined', () => {
  it('is read from the rows of real calls, and judged with the rules in force', async () => {
    const bot = await gate.agent('mined-bot');
    for (const decision of ['approve', 'deny'] as const) {
      const { correlationId } = await bot.call('wire_transfer', { amount: 3 }, { contract: 'decision' });
      expect((await gate.operator.decide(correlationId, decision)).status).toBe(200);
      await gate.kinds(correlationId, decision === 'approve' ? 'hil.approved' : 'hil.denied');
    }
    const { console_workload: console_, policy, proxy } = gate.development;
    const [ca, cert, key] = [proxy.ca, console_.cert, console_.key].map((file) => readFileSync(file, 'utf8'));
    const engine = createHttp(policy.url, { ca, cert, key } as Parameters<typeof createHttp>[1]);
    try {
      const body = { since: new Date(Date.now() - 3_600_000).toISOString(), tool_type: 'wire_transfer' };
      const { status, text } = await engine.request('POST', '/policies/mine?tenant=acme', { body });
      expect(status).toBe(200);
      const last = JSON.parse(text.trim().split('\n').at(-1) as string) as MineLine & { result: object };
      expect(last.result).toMatchObject({
        candidates: [],
        left: [{ tool: 'wire_transfer', why: 'rules_ask', detail: expect.stringContaining('Review: Wire transfers') }],
      });
      const listed = await engine.request('GET', '/policies/suggestions?tenant=acme');
      expect([listed.status, listed.text]).toEqual([200, '{"suggestions":[]}']);
    } finally {
      await engine.close();
    }
  }, 60_000);
});
