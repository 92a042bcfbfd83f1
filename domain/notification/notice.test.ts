import { describe, expect, it } from '@jest/globals';
import { RECONCILIATION, TTL_SWEEP } from '../review/transitions.js';
import { noticesOfTest, titleOf } from './notice.js';

describe('what a message says first of a call that nobody decided', () => {
  const ended = (decided_by: string) => {
    const { trigger } = noticesOfTest('10000000-0000-4000-8000-000000000001', 'acme', 0);
    const { test: _, ...notice } = { ...trigger, phase: 'resolve', status: 'expired', decided_by } as const;
    return titleOf(notice);
  };

  it('is that it expired, and of one that Gate closed that it was aborted', () => {
    expect(ended(TTL_SWEEP)).toMatch(/^A call expired/);
    expect(ended(RECONCILIATION)).toMatch(/^A call was aborted/);
  });
});
