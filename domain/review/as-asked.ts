import type { Json } from '../../contracts/json.js';
import type { NewReview, PendingRequest } from '../../contracts/review.js';
import { canonicalDigest } from '../crypto/digest.js';

/** What a decision goes by, beside the request itself: whom it needs, until when, and the words by which a list tells of it. */
const DECIDES = [
  'method',
  'approval_tier',
  'state_namespace',
  'ttl_seconds',
  'agent_spiffe',
  'policy_bundle_sha256',
  'risk_summary',
] as const satisfies readonly Extract<keyof NewReview, keyof PendingRequest>[];
/** What people are shown beside that, and whom its end is told. */
const TELLS = ['projected_cost_micros', 'callback_url'] as const satisfies readonly Extract<
  keyof NewReview,
  keyof PendingRequest
>[];

/** In what a review differs from the one that is asked for. `isForged`: no attempt of Gate's opens it so; otherwise an earlier one may have. */
export interface OtherThanAsked {
  readonly field: keyof NewReview;
  readonly isForged: boolean;
}

/**
 * In what the review that stands differs from the one that was asked for; `null` where it is that one, perhaps opened sooner, or before anything was
 * predicted, for which the worst counts. Whoever knows the id of a call can open a review for it in advance. `always` are the reasons that each
 * attempt gives: what an upstream says of its tools, and what is predicted, may have changed since an earlier one.
 */
export function otherThanAsked(
  row: PendingRequest,
  asked: NewReview,
  always: readonly string[],
): OtherThanAsked | null {
  const decides = DECIDES.find((name) => (row[name] ?? null) !== (asked[name] ?? null));
  if (decides !== undefined) return { field: decides, isForged: true };
  // A row that an attempt of an earlier Gate opened does not say who runs the call.
  if (row.executed_by !== undefined && row.executed_by !== asked.executed_by)
    return { field: 'executed_by', isForged: true };
  if (digestOf(row.delegation) !== digestOf(asked.delegation)) return { field: 'delegation', isForged: true };
  if (!always.every((reason) => row.review_reasons.includes(reason)))
    return { field: 'review_reasons', isForged: true };
  const told = TELLS.find((name) => (row[name] ?? null) !== (asked[name] ?? null));
  if (told !== undefined) return { field: told, isForged: false };
  if (digestOf(row.brain_scores) !== digestOf(asked.brain_scores)) return { field: 'brain_scores', isForged: false };
  if (!row.review_reasons.every((reason) => asked.review_reasons.includes(reason)))
    return { field: 'review_reasons', isForged: false };
  if (asked.created_at !== undefined && Date.parse(row.created_at) > Date.parse(asked.created_at))
    return { field: 'created_at', isForged: false };
  const predicted = digestOf(asked.sandbox_report);
  return row.sandbox_report_digest == null || row.sandbox_report_digest === predicted
    ? null
    : { field: 'sandbox_report', isForged: false };
}

const digestOf = (value: unknown): string | null => (value == null ? null : canonicalDigest(value as Json));
