import { isOver, TTL_SWEEP } from '../review/transitions.js';
import type { CallRecord } from './record.js';
import type { CallStore } from './ports.js';

/**
 * Closes a parked call that nobody decided before its deadline. Met twice, or too late, it returns what stands. The record owns the
 * deadline: nobody is told that a call expired before its record says so, or a clock that is put forward and back would let a call run
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

/** The record, closed first where the deadline of a parked call has passed by this clock. */
export const closedIfOver = async (
  calls: Pick<CallStore, 'move'>,
  record: CallRecord,
  nowMs: number,
): Promise<CallRecord> =>
  record.state === 'parked' && isOver(record.deadline_ms, nowMs) ? expireCall(calls, record, nowMs) : record;
