import type { StoredReview } from '../../domain/review/sealed-review.js';

export interface ReviewTables {
  reviews: StoredReview;
  review_seal: { id: number; mac: string };
}
