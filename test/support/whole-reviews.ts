import * as reviews from '../../adapters/review/review-store.js';
import type { ReviewsWithNotices } from '../../domain/notification/ports.js';

/** The parts of the review rows, and what the parts do, as one object, for tests that do many things with rows. The product has no such object. */
export type WholeReviews = ReviewsWithNotices &
  ReviewsWithNotices['reads'] &
  ReviewsWithNotices['parking'] &
  ReviewsWithNotices['settling'] &
  ReviewsWithNotices['lists'] &
  ReviewsWithNotices['walk'] &
  ReviewsWithNotices['notes'] &
  ReviewsWithNotices['feed'] &
  ReviewsWithNotices['sweeping'] &
  ReviewsWithNotices['retention'] &
  ReviewsWithNotices['alarms'];

const wholeReviews = (opened: ReviewsWithNotices): WholeReviews => ({
  ...opened,
  ...opened.reads,
  ...opened.parking,
  ...opened.settling,
  ...opened.lists,
  ...opened.walk,
  ...opened.notes,
  ...opened.feed,
  ...opened.sweeping,
  ...opened.retention,
  ...opened.alarms,
});

export const openReviewStore = async (options: reviews.ReviewStoreOptions): Promise<WholeReviews> =>
  wholeReviews(await reviews.openReviewStore(options));

export const reviewStoreOver = (...over: Parameters<typeof reviews.reviewStoreOver>): WholeReviews =>
  wholeReviews(reviews.reviewStoreOver(...over));
