import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../contracts/ledger.js';
import { endOf, isExecutedHere } from './ended.js';

const row = (event_kind: string, policy_decision: object, reasoning = '') =>
  ({ event_kind, policy_decision, reasoning }) as unknown as LedgerEntry;
const executed = row('proxy.verdict', { contract: 'gate.server-execution/v1', outcome: 'park' });
const decided = row('proxy.verdict', { contract: 'gate.decision/v1', outcome: 'park' });
const approved = row('hil.approved', {});

describe('what came of an approved call, by its rows', () => {
  it('is nothing yet while it runs, and while its verdict is not written', () => {
    expect(endOf([executed, approved])).toBeNull();
    expect(endOf([])).toBeNull();
  });

  it('is that nothing is executed, where its agent asked for the decision alone', () => {
    expect(endOf([decided, approved])).toEqual({ stage: 'none', why: '' });
  });

  it.each([
    ['upstream.outcome', 'completed', 'completed'],
    ['upstream.outcome', 'failed', 'failed'],
    ['upstream.outcome', 'uncertain', 'uncertain'],
    ['upstream.outcome', 'not_sent', 'not-executed'],
    ['call.aborted', 'aborted', 'not-executed'],
    ['call.abandoned', 'abandoned', 'not-executed'],
  ])('is what %s says with the stage %s: %s', (kind, stage, told) => {
    expect(endOf([executed, approved, row(kind, { stage }, 'why')])).toEqual({ stage: told, why: 'why' });
  });
});

describe('whether Gate executes a call', () => {
  it('follows from the contract of its verdict, and is not known without one', () => {
    expect([[executed], [decided], [approved]].map(isExecutedHere)).toEqual([true, false, null]);
  });
});
