import type { NewReview, PendingRequest } from '../../contracts/review.js';
import { canonicalDigest } from '../crypto/digest.js';

/** What a decision goes by, beside the request itself: whom it needs, until when, and what people are shown. */
const AS_ASKED = [
  'method',
  'approval_tier',
  'state_namespace',
  'ttl_seconds',
  'agent_spiffe',
  'policy_bundle_sha256',
  'risk_summary',
] as const satisfies readonly Extract<keyof NewReview, keyof PendingRequest>[];

/**
 * In what the review that stands differs from the one that was asked for; `null` where it is that one, perhaps as an earlier attempt opened it:
 * sooner, or before anything was predicted, for which the worst counts. Whoever knows the id of a call can open a review for it in advance.
 */
export function otherThanAsked(row: PendingRequest, asked: NewReview): string | null {
  const other = AS_ASKED.find((name) => (row[name] ?? null) !== (asked[name] ?? null));
  if (other !== undefined) return other;
  if (!asked.review_reasons.every((reason) => row.review_reasons.includes(reason))) return 'review_reasons';
  if (asked.created_at !== undefined && Date.parse(row.created_at) > Date.parse(asked.created_at)) return 'created_at';
  const predicted = asked.sandbox_report ? canonicalDigest(asked.sandbox_report) : null;
  return row.sandbox_report_digest == null || row.sandbox_report_digest === predicted ? null : 'sandbox_report';
}
