import { describe, expect, it } from '@jest/globals';
import type { CallRecord, RecordedDecision } from './record.js';
import { reviewTold } from './review-told.js';

const told = (state: CallRecord['state'], status: RecordedDecision['status'] | null) =>
  reviewTold({ state, decision: status && ({ status } as RecordedDecision) });

describe('how a review ended, as polls and callbacks tell it', () => {
  it.each([
    ['parked', null, 'pending', null],
    ['approved', 'approved', 'approved', 'allow'],
    ['completed', 'approved', 'approved', 'allow'],
    ['uncertain', 'approved', 'approved', 'allow'],
    ['denied', 'denied', 'denied', 'deny'],
    ['expired', 'expired', 'expired', null],
  ] as const)('of a call that is %s, after %s: %s', (state, decided, status, decision) => {
    expect(told(state, decided)).toEqual({ status, decision });
  });

  it('of a call that its agent took back: withdrawn, and nobody denied it', () => {
    const decision = { status: 'denied', decided_by: 'system:withdrawn-by-agent' } as RecordedDecision;
    expect(reviewTold({ state: 'denied', decision })).toEqual({ status: 'withdrawn', decision: null });
  });

  it.each(['aborted', 'tampered'] as const)(
    'of a call that was closed as %s: never expired, and never an allow, also where somebody had approved it',
    (state) => {
      for (const decided of [null, 'approved'] as const)
        expect(told(state, decided)).toEqual({ status: 'aborted', decision: null });
    },
  );
});
