import { toolOf } from '../../contracts/call-methods.js';
import { type CallInput, REVIEW_CONTRACT } from '../../contracts/call.js';
import type { NewReview, PendingRequest } from '../../contracts/review.js';
import { canonicalDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import type { ReviewStarter, OpenedReviews } from './ports.js';

/** So many are brought to where they wait at once: callers of tools share the workers with them. */
const ASKED_AT_ONCE = 8;
/** Gate's own time for bringing such a review to where it waits. */
const UNDER_WAY_MS = 10_000;

/** What a review without a call is bound to: under the same id, anything else is another review. */
export const askedDigest = ({
  tenant,
  agent_id,
  method,
  request_payload,
}: Pick<NewReview, 'tenant' | 'agent_id' | 'method' | 'request_payload'>): string =>
  canonicalDigest({ contract: REVIEW_CONTRACT, tenant, agent: agent_id, method, body: request_payload });

/**
 * The call that a review without a call is for its workflow (docs/architecture/reviews.md#a-review-without-a-call). It is nobody's: nothing
 * counts it, nobody is told of its end, and nothing runs after an approval.
 */
export const callOfReview = (
  review: NewReview,
  asker: { readonly spiffe: string; readonly fingerprint: string },
  receivedMs: number,
): CallInput => ({
  correlation_id: review.correlation_id,
  tenant: review.tenant,
  agent: review.agent_id,
  agent_spiffe: asker.spiffe,
  credential_fingerprint: asker.fingerprint,
  contract: REVIEW_CONTRACT,
  idempotency_id: null,
  method: review.method,
  tool: toolOf(review),
  digest: askedDigest(review),
  mode: 'enforce',
  received_ms: receivedMs,
  not_after_ms: receivedMs + UNDER_WAY_MS,
  ttl_secs: { auto: review.ttl_seconds, standard: review.ttl_seconds, strict: review.ttl_seconds },
  upstream_timeout_ms: 0,
  has_callback: false,
  state_namespace: review.state_namespace,
  recent_request_count: 0,
  velocity_limit: 0,
});

/** Opens a review that no call asked for, or finds it. `created`: this request stored its row. */
export type AskForReview = (
  review: NewReview,
  asker: { readonly spiffe: string; readonly fingerprint: string },
) => Promise<{ readonly row: PendingRequest; readonly created: boolean }>;

/**
 * The same id, agent and request again are the same review, also when it has ended; anything else under the id is `pending_conflict`. Nobody
 * approves what he asked for, so the row names the asker. While eight are being opened, the next one is `rate_limited`.
 */
export function createAskForReview({
  reviews,
  starter,
  clock,
}: {
  readonly reviews: Pick<OpenedReviews, 'parking' | 'reads'>;
  readonly starter: ReviewStarter;
  readonly clock: () => number;
}): AskForReview {
  let underWay = 0;
  return async (review, asker) => {
    if (underWay >= ASKED_AT_ONCE)
      throw new GateError('rate_limited', `${ASKED_AT_ONCE} reviews are being opened`, {
        fields: { retry_after_secs: 1 },
      });
    underWay += 1;
    try {
      return await opened(review, asker);
    } finally {
      underWay -= 1;
    }
  };

  async function opened(...[review, asker]: Parameters<AskForReview>): ReturnType<AskForReview> {
    await reviews.parking.assertOpen(review.tenant);
    const there = await reviews.reads.anyway(review.correlation_id, review.tenant);
    // What would be refused begins no run.
    await reviews.parking.assertTakes({ ...review, agent_spiffe: asker.spiffe }, there !== null);
    if (there && !isOf(there, review)) throw new GateError('pending_conflict');
    const call = callOfReview(review, asker, clock());
    let created = false;
    try {
      await starter.start(call, async () => {
        const created_at = new Date(call.received_ms).toISOString();
        ({ created } = await reviews.parking.createOnce({ ...review, created_at, agent_spiffe: asker.spiffe }));
      });
    } catch (error) {
      // Where nobody knows, the run may be under way with this row.
      const unknown = error instanceof GateError && error.code === 'orchestrator_unavailable';
      if (created && !unknown) await reviews.parking.withdraw(review.correlation_id).catch(() => undefined);
      throw error;
    }
    const row = await reviews.reads.anyway(review.correlation_id, review.tenant);
    if (!row || !isOf(row, review)) throw new GateError('pending_conflict');
    return { row, created };
  }
}

const isOf = (row: PendingRequest, { agent_id, method, request_payload }: NewReview): boolean =>
  row.agent_id === agent_id &&
  row.method === method &&
  row.original_payload_digest === canonicalDigest(request_payload);
