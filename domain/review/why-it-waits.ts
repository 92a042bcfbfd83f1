import type { PendingRequest } from '../../contracts/review.js';

/**
 * Why a call waits and what is known of its tool, a sentence each, for whoever decides. `risk_summary` is for lists: it joins the first of
 * them and leaves out the tool (docs/architecture/reviews.md).
 */
export const whyItWaits = ({
  review_reasons: reasons,
  risk_summary: summary,
}: Pick<PendingRequest, 'review_reasons' | 'risk_summary'>): readonly string[] =>
  reasons.length > 0 ? reasons : [summary];
