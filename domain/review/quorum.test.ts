import { describe, expect, it } from '@jest/globals';
import type { SignedDecision } from '../../contracts/review.js';
import { countedVotes, distinctVotes, ONE_APPROVER, type RecordedVote, requiredApprovers } from './quorum.js';

const voteOf = (subject: string, standing?: string[]): RecordedVote => ({
  applied_ms: 1,
  signed: {
    principal: { subject },
    ...(standing && { standing_approvers: standing }),
  } as unknown as SignedDecision,
});
const subjects = (votes: readonly RecordedVote[]) => votes.map(({ signed }) => signed.principal.subject);

describe('how many people must approve', () => {
  it.each([
    ['strict', 'operator', 2, 2],
    ['strict', 'operator', 3, 3],
    ['strict', 'operator', 1, 1],
    ['standard', 'operator', 3, 1],
    ['auto', 'operator', 3, 1],
    [null, 'operator', 3, 1],
    ['strict', 'demo', 3, 1],
  ] as const)(
    'tier %s of the namespace %s, strict asking for %d: %d',
    (approval_tier, state_namespace, strict, count) => {
      expect(requiredApprovers({ approval_tier, state_namespace }, { strict })).toBe(count);
    },
  );

  it('is one where an edition has one decider', () => {
    expect(requiredApprovers({ approval_tier: 'strict', state_namespace: 'operator' }, ONE_APPROVER)).toBe(1);
  });
});

describe('the votes that count', () => {
  const before = [voteOf('ana'), voteOf('ben'), voteOf('ana')];

  it('are one per person', () => {
    expect(subjects(distinctVotes(before))).toEqual(['ana', 'ben']);
  });

  it('are those of people who may still approve, and the one that is cast', () => {
    expect(subjects(countedVotes(before, voteOf('cyd', ['ana', 'ben'])))).toEqual(['ana', 'ben', 'cyd']);
    expect(subjects(countedVotes(before, voteOf('cyd', ['ben'])))).toEqual(['ben', 'cyd']);
    expect(subjects(countedVotes(before, voteOf('ana', ['ben'])))).toEqual(['ana', 'ben']);
  });

  it("are nobody else's where the decision names nobody", () => {
    expect(subjects(countedVotes(before, voteOf('cyd', [])))).toEqual(['cyd']);
    expect(subjects(countedVotes(before, voteOf('cyd')))).toEqual(['cyd']);
  });
});
