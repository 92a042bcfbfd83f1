// What becomes of parked calls in the whole product, and who is told of it: one start for both parts.
import './reviews/callback.js';
import './reviews/review.js';
