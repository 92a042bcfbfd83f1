import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { RECONCILIATION, TTL_SWEEP } from '../decision/transitions.js';
import { noticesOf, noticesOfTest, titleOf } from './notice.js';

describe('a rehearsal', () => {
  const row = (agent_spiffe: string | null) =>
    ({
      id: '10000000-0000-4000-8000-000000000001',
      status: 'pending',
      method: 'tools/call',
      request_payload: { params: { name: 'pay' } },
      created_at: '2026-11-02T10:00:00.000Z',
      ttl_seconds: 600,
      agent_spiffe,
    }) as unknown as PendingRequest;
  it('is told as one from its first message on, by who asked for it', () => {
    const [trigger] = noticesOf(row('spiffe://gate.local/service/simulator'), []);
    expect([trigger?.phase, trigger?.rehearsal]).toEqual(['trigger', true]);
    for (const caller of ['spiffe://gate.local/tenant/acme/agent/service/instance/1', null])
      expect(noticesOf(row(caller), [])[0]).not.toHaveProperty('rehearsal');
  });
});

describe('what a message says first of a call that nobody decided', () => {
  const ended = (decided_by: string) => {
    const { trigger } = noticesOfTest('10000000-0000-4000-8000-000000000001', 'acme', 0);
    const { test: _, ...notice } = {
      ...trigger,
      kind: 'resolve',
      phase: 'resolve',
      status: 'expired',
      decided_by,
    } as const;
    return titleOf(notice);
  };

  it('is that it expired, and of one that Gate closed that it was aborted', () => {
    expect(ended(TTL_SWEEP)).toMatch(/^A call expired/);
    expect(ended(RECONCILIATION)).toMatch(/^A call was aborted/);
  });
});
