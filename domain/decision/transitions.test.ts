import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { reviewStatus } from '../../contracts/review.js';
import {
  deadlineOf,
  isOver,
  isSettled,
  LEDGER_EVENT_OF,
  mayMove,
  REVIEW_MOVES,
  SETTLES_AS,
  whyNotDecidable,
  RECONCILIATION,
  statusTold,
  TAMPER_CHECK,
  TTL_SWEEP,
  WITHDRAWN_BY_AGENT,
} from './transitions.js';

const created_at = '2026-11-02T10:00:00.000Z';
const deadline = Date.parse('2026-11-02T10:10:00.000Z');
const review = { created_at, ttl_seconds: 600 };

describe('how a row of any Gate ended, as it is told', () => {
  it.each([
    ['expired', TTL_SWEEP, 'expired'],
    ['expired', RECONCILIATION, 'aborted'],
    ['expired', TAMPER_CHECK, 'aborted'],
    ['aborted', RECONCILIATION, 'aborted'],
    ['approved', 'operator:ana', 'approved'],
    ['denied', WITHDRAWN_BY_AGENT, 'withdrawn'],
    ['denied', 'system:tenant-offboard', 'denied'],
    ['denied', 'operator:ana', 'denied'],
    ['approved', WITHDRAWN_BY_AGENT, 'approved'],
    ['pending', null, 'pending'],
  ] as const)('%s by %s is %s', (status, decided_by, told) => {
    expect(statusTold({ status, decided_by })).toBe(told);
  });
});

describe('states and moves of a review', () => {
  // Typed out rather than taken from the table, because changing the ledger's view of a review is a decision.
  it.each([
    [null, 'create', 'pending', 'hil.created'],
    ['pending', 'vote', 'pending', 'hil.vote'],
    ['pending', 'escalate', 'pending', 'hil.escalated'],
    ['pending', 'approve', 'approved', 'hil.approved'],
    ['pending', 'deny', 'denied', 'hil.denied'],
    ['pending', 'expire', 'expired', 'hil.expired'],
    ['pending', 'abort', 'aborted', 'call.aborted'],
    ['pending', 'withdraw', null, null],
  ] as const)('%s --%s--> %s, ledger row %s', (from, event, to, ledger) => {
    expect(REVIEW_MOVES.filter((move) => move.from === from && move.event === event)).toEqual([
      { from, event, to, ledger },
    ]);
    expect(mayMove(from, to)).toBe(true);
  });

  it('has no other move', () => {
    expect(REVIEW_MOVES).toHaveLength(8);
    const states = [null, ...reviewStatus.options];
    const found = states.flatMap((from) => states.filter((to) => mayMove(from, to)).map((to) => `${from} ${to}`));
    expect(found.toSorted()).toEqual([
      'null pending',
      'pending aborted',
      'pending approved',
      'pending denied',
      'pending expired',
      'pending null',
      'pending pending',
    ]);
  });

  it('lets nothing happen to a row that is approved, denied, expired, aborted or withdrawn', () => {
    expect(reviewStatus.options.filter(isSettled)).toEqual(['approved', 'denied', 'expired', 'aborted', 'withdrawn']);
  });

  it('names the same status and ledger row by event and by status', () => {
    for (const [event, status] of Object.entries(SETTLES_AS)) {
      expect(REVIEW_MOVES).toContainEqual({ from: 'pending', event, to: status, ledger: LEDGER_EVENT_OF[status] });
    }
    expect(REVIEW_MOVES.filter((move) => move.to !== null && isSettled(move.to))).toHaveLength(4);
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
    expect(whyNotDecidable({ ...review, status: 'withdrawn' }, deadline + 1)).toBe('already_decided');
    expect(whyNotDecidable({ ...review, status: 'expired' }, 0)).toBe('pending_expired');
  });

  it('has nothing to do with a call that Gate closed', () => {
    expect(whyNotDecidable({ ...review, status: 'aborted', decided_by: TAMPER_CHECK }, 0)).toBe('call_tampered');
    expect(whyNotDecidable({ ...review, status: 'aborted', decided_by: RECONCILIATION }, 0)).toBe('pending_aborted');
    expect(whyNotDecidable({ ...review, status: 'expired', decided_by: TTL_SWEEP }, 0)).toBe('pending_expired');
  });
});

it('the table can be imported by a workflow: its only imports are types', () => {
  const source = readFileSync(new URL('./transitions.ts', import.meta.url), 'utf8');
  expect(source.match(/^import (?!type )/m)).toBeNull();
});
