import type { Approval } from '../../contracts/review.js';
import { closedIfOver } from '../call/expiry.js';
import type { CallStore } from '../call/ports.js';
import type { CallRecord } from '../call/record.js';
import { approvalOf, countedVotes, distinctVotes, type RecordedVote } from '../decision/quorum.js';

/** What an approval of a parked call amounts to. */
export type Cast =
  /** One approval decides, or somebody has decided already: the transition says which. */
  | { readonly decides: true; readonly approvals?: readonly Approval[] }
  /** Stored, and others are still needed: everybody who has approved so far. */
  | { readonly decides: false; readonly record: CallRecord; readonly approvals: readonly Approval[] }
  /** Not stored: it came after the time it was signed for. */
  | { readonly decides: false; readonly record: null };

/**
 * Counts an approval towards the quorum of its call (docs/architecture/reviews.md#quorum). A vote that completes it is not stored by itself:
 * the decision that it becomes is. A person who votes again changes nothing.
 */
export async function castVote(
  calls: Pick<CallStore, 'move' | 'clockMs'>,
  record: CallRecord,
  vote: RecordedVote,
  { beforeMs, now }: { readonly beforeMs: number; readonly now: () => number },
): Promise<Cast> {
  const { required_approvers: required = 1, votes = [] } = record.evidence;
  if (required <= 1 || record.state !== 'parked') return { decides: true };
  const counted = countedVotes(votes, vote);
  if (counted.length >= required) return { decides: true, approvals: counted.map(approvalOf) };
  const { subject } = vote.signed.principal;
  if (votes.some(({ signed }) => signed.principal.subject === subject)) return waiting(record);
  const moved = await calls.move(record.correlation_id, 'vote', { vote, before_ms: beforeMs });
  if (moved.applied) {
    // Another vote may have been stored since the record was read.
    const together = countedVotes(moved.record.evidence.votes ?? [], vote);
    if (together.length >= required) return { decides: true, approvals: together.map(approvalOf) };
    return waiting(moved.record);
  }
  const stands = await closedIfOver(calls, moved.record, now());
  return stands.state === 'parked' ? { decides: false, record: null } : { decides: true };
}

const waiting = (record: CallRecord): Cast => ({
  decides: false,
  record,
  approvals: distinctVotes(record.evidence.votes ?? []).map(approvalOf),
});
