import { GateError } from '../errors.js';
import { ID_TAKEN, REVIEW_BACKLOG, TENANT_OFFBOARDED } from '../call/pipeline.js';

/** No request of a review has more bytes: HIL reads no larger body. */
export const LARGEST_REQUEST_BYTES = 67_108_864;

/** By then some of what waits may be decided or expired; otherwise it gets the same answer again. */
const RETRY_AFTER_SECS = 30;

/** The agent has as many parked calls as it may. */
export const backlogFull = (tenant: string, agent: string, detail?: string): GateError =>
  new GateError('review_backlog_full', detail, {
    fields: { scope: 'agent', key: `${tenant}/${agent}`, retry_after_secs: RETRY_AFTER_SECS },
  });

/** So many reviews without a call a tenant may have at once, where nothing else is set. */
export const REHEARSALS = 20;

/**
 * So long a review without a call has its place at least, also where it was decided or over before: each one tells people, and otherwise those of a
 * second each would do so without end.
 */
export const REHEARSAL_HOLDS_MS = 600_000;

/** The tenant has as many reviews without a call as it may; `most` is `null` where their requests would hold too much. */
export const rehearsalsFull = (tenant: string, most: number | null): GateError =>
  new GateError(
    'review_backlog_full',
    most === null
      ? 'the reviews without a call that wait would hold too many bytes'
      : `${most} reviews without a call wait for a decision, or were opened within the last ${REHEARSAL_HOLDS_MS / 60_000} minutes`,
    { fields: { scope: 'rehearsals', key: tenant, retry_after_secs: RETRY_AFTER_SECS } },
  );

/** The answer for a call that ended before a verdict was committed, by the layer that ended it. */
export const endedBefore = (
  { tenant, agent }: { readonly tenant: string; readonly agent: string },
  layer: string,
  reason: string,
  cause?: unknown,
): GateError =>
  layer === REVIEW_BACKLOG
    ? backlogFull(tenant, agent)
    : layer === TENANT_OFFBOARDED
      ? new GateError('tenant_offboarded')
      : layer === ID_TAKEN
        ? new GateError('pending_conflict')
        : new GateError('pipeline_unavailable', reason, { fields: { layer }, cause });
