import { describe, expect, it } from '@jest/globals';
import { CALL_STATES, type CallState } from '../../contracts/call.js';
import { CALL_MOVES, type CallMove, isFinal, nextState } from './transitions.js';

/** Every move there is, written out. */
const TABLE: readonly (readonly [CallState, CallMove, CallState])[] = [
  ['decided', 'park', 'parked'],
  ['decided', 'abandon', 'abandoned'],
  ['decided', 'abort', 'aborted'],
  ['parked', 'vote', 'parked'],
  ['parked', 'escalate', 'parked'],
  ['parked', 'approve', 'approved'],
  ['parked', 'deny', 'denied'],
  ['parked', 'expire', 'expired'],
  ['parked', 'abort', 'aborted'],
  ['allowed', 'claim', 'intended'],
  ['allowed', 'not_run', 'not_run'],
  ['allowed', 'abandon', 'abandoned'],
  ['allowed', 'abort', 'aborted'],
  ['approved', 'claim', 'intended'],
  ['approved', 'not_run', 'not_run'],
  ['approved', 'abort', 'aborted'],
  ['intended', 'step', 'intended'],
  ['intended', 'complete', 'completed'],
  ['intended', 'lose', 'uncertain'],
  ['intended', 'not_run', 'not_run'],
  ['uncertain', 'probe', 'uncertain'],
  ['uncertain', 'found', 'completed'],
  ['uncertain', 'ruled_out', 'not_run'],
];
const MOVES = Object.keys(CALL_MOVES) as CallMove[];
const pairs = CALL_STATES.flatMap((state) => MOVES.map((move) => [state, move] as const));

describe('the moves of a call', () => {
  it.each(TABLE)('%s, %s: %s', (from, move, to) => {
    expect(nextState(from, move)).toBe(to);
  });

  it.each(pairs.filter(([state, move]) => !TABLE.some(([from, made]) => from === state && made === move)))(
    '%s does not %s',
    (state, move) => {
      expect(nextState(state, move)).toBeNull();
    },
  );

  it('lead nowhere from an end', () => {
    const ends = [
      'denied',
      'completed',
      'uncertain',
      'not_run',
      'expired',
      'abandoned',
      'aborted',
      'tampered',
    ] as const;
    for (const state of CALL_STATES) {
      const moves = MOVES.filter((move) => nextState(state, move) !== null);
      // Evidence may tell how an uncertain call ended; nothing leads from there to another attempt.
      const open = !(ends as readonly CallState[]).includes(state) || state === 'uncertain';
      expect([state, moves.length > 0]).toEqual([state, open]);
      expect(isFinal(state, 'gate.server-execution/v1')).toBe((ends as readonly CallState[]).includes(state));
    }
  });

  it('of a decision contract end where its host takes over', () => {
    for (const state of ['allowed', 'approved'] as const) {
      expect(isFinal(state, 'gate.decision/v1')).toBe(true);
      expect(isFinal(state, 'gate.server-execution/v1')).toBe(false);
    }
    for (const state of ['decided', 'parked', 'intended'] as const)
      expect(isFinal(state, 'gate.decision/v1')).toBe(false);
  });

  it('give the right to the attempt once: nothing leads back to a state that can be claimed', () => {
    const claimable = CALL_MOVES.claim.from as readonly CallState[];
    const reached = new Set<CallState>(['intended', 'uncertain']);
    for (const state of reached)
      for (const move of MOVES) {
        const next = nextState(state, move);
        if (next) reached.add(next);
      }
    for (const state of reached) expect(claimable).not.toContain(state);
  });
});
