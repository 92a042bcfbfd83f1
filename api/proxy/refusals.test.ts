import { describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { createRefusals } from './refusals.js';

const REFUSED = {
  caller: { tenant: 'acme', agent: 'bot', spiffe: 'spiffe://gate.test/agent/bot' },
  correlationId: '00000000-0000-4000-8000-000000000001',
  name: 'read_file',
  limit: 'rate',
  reason: 'too many calls',
  limits: { limit: 1 },
} as const;

describe('the row of a refusal', () => {
  it.each([
    ['rate', 'rate_limited', 'rate_limited_agent'],
    ['agent_suspended', 'deny', 'agent_suspended'],
    ['agent_decommissioned', 'deny', 'agent_decommissioned'],
  ])('of %s is found as %s, and says how by its signal', async (limit, outcome, signal) => {
    const rows: NewLedgerRow[] = [];
    const ledger = { append: (more: readonly NewLedgerRow[]) => Promise.resolve((rows.push(...more), [])) };
    await createRefusals({ ledger, now: () => 0, monotonic: () => 0 })({ ...REFUSED, limit } as never);
    expect(rows).toMatchObject([{ signal, policy_decision: { outcome } }]);
  });

  it('comes once a minute, also when the clock was put back an hour or forward', async () => {
    const rows: NewLedgerRow[] = [];
    const ledger = { append: (more: readonly NewLedgerRow[]) => Promise.resolve((rows.push(...more), [])) };
    let nowMs = Date.parse('2026-11-22T10:00:00.000Z');
    let measuredMs = 5;
    const refusals = createRefusals({ ledger, now: () => nowMs, monotonic: () => measuredMs });
    await refusals(REFUSED);
    expect(rows).toHaveLength(1);
    for (const shiftMs of [-3_600_000, 7_200_000]) {
      const before = rows.length;
      nowMs += shiftMs;
      measuredMs += 59_999;
      await refusals(REFUSED);
      expect(rows).toHaveLength(before);
      measuredMs += 1;
      await refusals(REFUSED);
      await refusals(REFUSED);
      expect(rows).toHaveLength(before + 1);
    }
  });
});
