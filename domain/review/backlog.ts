import { GateError } from '../errors.js';
import { REVIEW_BACKLOG } from '../pipeline/pipeline.js';

/** Some of what an agent has waiting is decided or expired by then, or it is told the same again. */
const RETRY_AFTER_SECS = 30;

/** An agent has as much waiting for people as it may. */
export const backlogFull = (tenant: string, agent: string, detail?: string): GateError =>
  new GateError('review_backlog_full', detail, {
    fields: { scope: 'agent', key: `${tenant}/${agent}`, retry_after_secs: RETRY_AFTER_SECS },
  });

/** What the caller is told of a call that ended before a verdict could stand, by the layer that ended it. */
export const endedBefore = (
  { tenant, agent }: { readonly tenant: string; readonly agent: string },
  layer: string,
  reason: string,
  cause?: unknown,
): GateError =>
  layer === REVIEW_BACKLOG
    ? backlogFull(tenant, agent)
    : new GateError('pipeline_unavailable', reason, { fields: { layer }, cause });
