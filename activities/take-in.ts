import type { CallInput, CallSummary } from '../contracts/call.js';
import type { PendingRequest } from '../contracts/review.js';
import { paramsSha256 } from '../domain/call/params-digest.js';
import type { CallStore } from '../domain/call/ports.js';
import { summarizeFound } from '../domain/call/record.js';
import { ID_TAKEN, PipelineUnavailable } from '../domain/call/pipeline.js';
import { askedDigest } from '../domain/review/asked-review.js';
import type { Reviews } from '../domain/review/ports.js';
import { insist } from './insisting.js';

/** Longer than HIL needs to store the row once the run has begun. What waits longer is asked again by the workflow, and holds no place meanwhile. */
const ROW_WAIT_MS = 250;

const taken = () => new PipelineUnavailable(ID_TAKEN, 'the id belongs to something else');

export const createTakeInActivities = ({
  calls,
  reviews,
}: {
  readonly calls: CallStore;
  readonly reviews: Pick<Reviews, 'byCorrelation'>;
}) => ({
  /**
   * Takes a review in that no call asked for: the record of a call that waits, with the request that the review's row has. Waits a
   * moment for that row. Safe to repeat. What stands under the id already and is not this review stays as it is, and PipelineUnavailable says so.
   */
  async takeIn(call: CallInput): Promise<CallSummary> {
    const known = await calls.find(call.correlation_id);
    if (known) {
      if (known.digest !== call.digest) throw taken();
      return summarizeFound(known);
    }
    const row = await insist(() => rowOf(reviews, call), { forMs: ROW_WAIT_MS });
    if (askedDigest(row) !== call.digest) throw taken();
    const { request_payload: body, review_reasons, risk_summary, approval_tier } = row;
    const admission = await calls.admit(call, { body, callback_url: null }, { limit: 0, windowMs: 0 });
    if (!admission.admitted || admission.digest !== call.digest) throw taken();
    const record = await calls.commitVerdict('decided', {
      call,
      params_sha256: paramsSha256(body),
      callback_url: null,
      verdict: {
        tier: 'yellow',
        outcome: 'park',
        would: null,
        layer: null,
        intent_category: 'Direct Execution',
        reasons: [],
        review_reasons: review_reasons.length > 0 ? review_reasons : [risk_summary],
        approval_tier: approval_tier === 'strict' ? 'strict' : 'standard',
      },
      inspection: null,
      inspection_failure: null,
      decision: null,
      policy_failure: null,
      facts: null,
    });
    return summarizeFound(record);
  },
});
export type TakeInActivities = ReturnType<typeof createTakeInActivities>;

async function rowOf(reviews: Pick<Reviews, 'byCorrelation'>, call: CallInput): Promise<PendingRequest> {
  const row = await reviews.byCorrelation(call.correlation_id, call.tenant);
  if (!row) throw new Error('the row of the review is not stored yet');
  return row;
}
