import { isOver, TTL_SWEEP } from '../decision/transitions.js';
import type { CallRecord } from './record.js';
import type { CallStore } from './ports.js';

/**
 * Closes a parked call that nobody decided before its deadline. Repeated, or too late, it returns the record as it is. The record owns the
 * deadline, and nobody is told of an expiry before the record says so. Otherwise a clock that is set forward and back could let a call run
 * whose caller was told that it never will (docs/architecture/reviews.md#deadline).
 */
export async function expireCall(
  calls: Pick<CallStore, 'move'>,
  parked: CallRecord,
  nowMs: number,
): Promise<CallRecord> {
  const { record } = await calls.move(parked.correlation_id, 'expire', {
    callback: parked.evidence.call.has_callback,
    decision: {
      status: 'expired',
      decided_at: new Date(parked.deadline_ms ?? nowMs).toISOString(),
      decided_by: TTL_SWEEP,
      decided_via: TTL_SWEEP,
      reason: null,
      principal: null,
    },
  });
  return record;
}

/**
 * The record; a parked call whose deadline has passed is closed first. What ends a call is the earlier of this clock and that of the store: a
 * clock that jumped ahead ends nothing by itself.
 */
export async function closedIfOver(
  calls: Pick<CallStore, 'move' | 'clockMs'>,
  record: CallRecord,
  nowMs: number,
): Promise<CallRecord> {
  if (record.state !== 'parked' || !isOver(record.deadline_ms, nowMs)) return record;
  const earlierMs = Math.min(nowMs, (await calls.clockMs()) ?? nowMs);
  return isOver(record.deadline_ms, earlierMs) ? expireCall(calls, record, earlierMs) : record;
}
