import type { StoredReview } from '../../domain/review/sealed-review.js';

export interface ReviewTables {
  reviews: StoredReview;
  /** The key that a row's request, report and changes are sealed with, itself sealed with the payload keys. */
  review_keys: { review_id: string; wrapped: Uint8Array };
  review_seal: { id: number; mac: string };
}
