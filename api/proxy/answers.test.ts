import { expect, it } from '@jest/globals';
import { whyNotDecidable } from '../../domain/review/transitions.js';
import { effectiveState } from './answers.js';

it('calls a parked call expired from the very millisecond in which its review takes no decision any more', () => {
  const created_at = '2026-11-02T10:00:00.000Z';
  const deadline = Date.parse(created_at) + 600_000;
  const row = { status: 'pending', created_at, ttl_seconds: 600 } as const;
  const stateAt = (nowMs: number) => effectiveState({ state: 'parked', deadline_ms: deadline }, nowMs);
  expect([stateAt(deadline - 1), whyNotDecidable(row, deadline - 1)]).toEqual(['parked', null]);
  for (const nowMs of [deadline, deadline + 1])
    expect([stateAt(nowMs), whyNotDecidable(row, nowMs)]).toEqual(['expired', 'pending_expired']);
  expect(effectiveState({ state: 'approved', deadline_ms: deadline }, deadline)).toBe('approved');
  expect(effectiveState({ state: 'parked', deadline_ms: null }, deadline)).toBe('parked');
});
