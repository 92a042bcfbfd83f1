import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { reviewStatus } from '../../contracts/review.js';
import {
  deadlineOf,
  findReviewMove,
  isOver,
  isSettled,
  LEDGER_EVENT_OF,
  REVIEW_MOVES,
  SETTLES_AS,
  whyNotDecidable,
  type ReviewEvent,
  TAMPER_CHECK,
  TTL_SWEEP,
} from './transitions.js';

const created_at = '2026-11-02T10:00:00.000Z';
const deadline = Date.parse('2026-11-02T10:10:00.000Z');
const review = { created_at, ttl_seconds: 600 };

describe('states and moves of a review', () => {
  // Typed out rather than taken from the table, because changing the ledger's view of a review is a decision.
  it.each([
    [null, 'create', 'pending', 'hil.created'],
    ['pending', 'approve', 'approved', 'hil.approved'],
    ['pending', 'deny', 'denied', 'hil.denied'],
    ['pending', 'expire', 'expired', 'hil.expired'],
    ['pending', 'withdraw', null, null],
  ] as const)('%s --%s--> %s, ledger row %s', (from, event, to, ledger) => {
    expect(findReviewMove(from, event)).toEqual({ from, event, to, ledger });
  });

  it('has no other move', () => {
    const events: ReviewEvent[] = ['create', 'approve', 'deny', 'expire', 'withdraw'];
    const found = [null, ...reviewStatus.options].flatMap((from) =>
      events.filter((event) => findReviewMove(from, event) !== null).map((event) => `${from} ${event}`),
    );
    expect(found).toEqual(['null create', 'pending approve', 'pending deny', 'pending expire', 'pending withdraw']);
  });

  it('lets nothing happen to a row that is approved, denied or expired', () => {
    expect(reviewStatus.options.filter(isSettled)).toEqual(['approved', 'denied', 'expired']);
  });

  it('names the same status and ledger row by event and by status', () => {
    for (const [event, status] of Object.entries(SETTLES_AS)) {
      expect(findReviewMove('pending', event as ReviewEvent)).toMatchObject({
        to: status,
        ledger: LEDGER_EVENT_OF[status],
      });
    }
    expect(REVIEW_MOVES.filter((move) => move.to !== null && isSettled(move.to))).toHaveLength(3);
  });
});

describe('the deadline of a review', () => {
  it('is created_at plus ttl_seconds', () => {
    expect(deadlineOf(review)).toBe(deadline);
  });

  it('takes a decision until the last millisecond before it, and none from then on', () => {
    expect(whyNotDecidable({ ...review, status: 'pending' }, deadline - 1)).toBeNull();
    expect(whyNotDecidable({ ...review, status: 'pending' }, deadline)).toBe('pending_expired');
  });

  it('is one rule, to the millisecond', () => {
    for (const [nowMs, over] of [
      [deadline - 1, false],
      [deadline, true],
      [deadline + 1, true],
    ] as const) {
      expect(isOver(deadline, nowMs)).toBe(over);
      expect(whyNotDecidable({ ...review, status: 'pending' }, nowMs) === 'pending_expired').toBe(over);
    }
    expect(isOver(null, deadline)).toBe(false);
  });

  it('does not make a decided row expired', () => {
    expect(whyNotDecidable({ ...review, status: 'approved' }, deadline + 1)).toBe('already_decided');
    expect(whyNotDecidable({ ...review, status: 'denied' }, deadline + 1)).toBe('already_decided');
    expect(whyNotDecidable({ ...review, status: 'expired' }, 0)).toBe('pending_expired');
  });

  it('has nothing to do with a call that was closed as tampered', () => {
    expect(whyNotDecidable({ ...review, status: 'expired', decided_by: TAMPER_CHECK }, 0)).toBe('call_tampered');
    expect(whyNotDecidable({ ...review, status: 'expired', decided_by: TTL_SWEEP }, 0)).toBe('pending_expired');
  });
});

it('the table can be imported by a workflow: its only imports are types', () => {
  const source = readFileSync(new URL('./transitions.ts', import.meta.url), 'utf8');
  expect(source.match(/^import (?!type )/m)).toBeNull();
});
