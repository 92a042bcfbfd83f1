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
  const RULE = { strict: 2, risky: 1, destructive: 3 };
  it.each([
    ['strict', 'operator', null, RULE, 3],
    ['strict', 'operator', 'safe', RULE, 2],
    ['strict', 'operator', 'destructive', RULE, 3],
    ['standard', 'operator', 'destructive', RULE, 3],
    ['standard', 'operator', 'risky', RULE, 1],
    ['standard', 'operator', 'risky', { ...RULE, risky: 2 }, 2],
    ['strict', 'operator', 'risky', { ...RULE, risky: 1 }, 2],
    ['standard', 'operator', 'safe', RULE, 1],
    // What nobody could predict counts as the worst.
    [null, 'operator', null, RULE, 3],
    ['standard', 'operator', null, RULE, 3],
    ['standard', 'operator', null, { ...RULE, risky: 4 }, 4],
    ['standard', 'operator', null, ONE_APPROVER, 1],
    ['auto', 'operator', null, RULE, 3],
    ['auto', 'operator', 'safe', RULE, 1],
    ['auto', 'operator', 'risky', { ...RULE, risky: 2 }, 1],
    ['auto', 'operator', 'destructive', RULE, 3],
    ['strict', 'demo', 'destructive', RULE, 1],
    ['strict', 'operator', 'destructive', ONE_APPROVER, 1],
  ] as const)(
    'tier %s, namespace %s, predicted %s, by %j: %d',
    (approval_tier, state_namespace, severity, rule, count) => {
      const sandbox_report = severity && { severity };
      expect(requiredApprovers({ approval_tier, state_namespace, sandbox_report }, rule)).toBe(count);
    },
  );
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

  it('are those of people: a rule is nobody', () => {
    const withRule = [voteOf('system:policy-tier'), voteOf('ben')];
    expect(subjects(countedVotes(withRule, voteOf('cyd', ['system:policy-tier', 'ben'])))).toEqual(['ben', 'cyd']);
    expect(subjects(countedVotes([], voteOf('system:policy-tier')))).toEqual([]);
  });

  it("are nobody else's where the decision names nobody", () => {
    expect(subjects(countedVotes(before, voteOf('cyd', [])))).toEqual(['cyd']);
    expect(subjects(countedVotes(before, voteOf('cyd')))).toEqual(['cyd']);
  });
});
