import type { CallInput } from '../../contracts/call.js';
import type { CallRecord } from '../../domain/call/record.js';

/** The record of a call that was let through and is at its tool; nothing judged it. */
export const callUnderWay = (call: CallInput, more: Partial<CallRecord> = {}): CallRecord => ({
  correlation_id: call.correlation_id,
  version: 1,
  state: 'intended',
  digest: call.digest,
  tier: 'green',
  approval_tier: 'standard',
  pending_id: null,
  deadline_ms: null,
  not_after_ms: call.not_after_ms,
  created_ms: call.received_ms,
  updated_ms: call.received_ms,
  evidence: {
    call,
    verdict: null,
    inspection: null,
    inspection_failure: null,
    decision: null,
    policy_failure: null,
    facts: null,
    params_sha256: 'a'.repeat(64),
    callback_url: null,
  },
  decision: null,
  outcome: null,
  ...more,
});
