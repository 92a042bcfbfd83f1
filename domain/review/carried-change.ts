import type {
  CarriedDecision,
  CarriedSettlement,
  ModificationDiff,
  SettledReview,
  SignedDecision,
} from '../../contracts/review.js';

/**
 * The engine keeps what passes through it longer than the review keeps its row, and its backups longer still. So the values that an approver
 * changed pass through it sealed with the row's own key, which goes with the row's request (docs/architecture/reviews.md#payload-and-retention).
 */
export interface ChangeSeal {
  /** The diff sealed for this row. `not_found` where its request is gone, and its key with it. */
  sealed(pendingId: string, diff: ModificationDiff): Promise<string>;
  /** What was sealed for this row. `not_found`; `payload_unavailable` where its key does not open it. */
  opened(pendingId: string, sealed: string): Promise<ModificationDiff>;
}

/** The decision for the engine. */
export async function carried(
  { modification, ...decision }: SignedDecision,
  { sealed }: Pick<ChangeSeal, 'sealed'>,
): Promise<CarriedDecision> {
  if (!modification) return decision;
  const { diff, reviewed_digest } = modification;
  return { ...decision, modification: { reviewed_digest, sealed_diff: await sealed(decision.pending_id, diff) } };
}

/** The decision as HIL signed it. */
export async function uncarried(
  { modification, ...decision }: CarriedDecision,
  { opened }: Pick<ChangeSeal, 'opened'>,
): Promise<SignedDecision> {
  if (!modification) return decision;
  if ('diff' in modification) return { ...decision, modification };
  const { reviewed_digest, sealed_diff } = modification;
  return { ...decision, modification: { diff: await opened(decision.pending_id, sealed_diff), reviewed_digest } };
}

/** A settlement as the answer to a decision that the engine carried: without changed values, unless they came in clear. */
export const toldTo = ({ modification: sent }: CarriedDecision, settled: CarriedSettlement): CarriedSettlement => {
  const { modification, ...rest } = settled;
  if (!modification || (sent && 'diff' in sent)) return settled;
  return { ...rest, modification: { reviewed_digest: modification.reviewed_digest } };
};

/** The settlement with the change of the decision that made it; as it was told where another one did. */
export const withChangeOf = ({ modification: sent }: SignedDecision, settled: CarriedSettlement): CarriedSettlement =>
  sent && settled.modification?.reviewed_digest === sent.reviewed_digest ? { ...settled, modification: sent } : settled;

/** Whether a settlement says all that a row needs. */
export const isWhole = (settled: CarriedSettlement): settled is SettledReview =>
  settled.modification === undefined || 'diff' in settled.modification;
