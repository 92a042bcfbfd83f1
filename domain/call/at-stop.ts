import type { StopCall } from '../../contracts/identity.js';
import { type CallRecord, takenMs } from './record.js';
import { OPEN_STATES } from './transitions.js';

/** What was asked of the store: the calls of a tenant, an agent, or a tool. */
export interface StoppedCalls {
  readonly tenant: string;
  readonly agent: string | null;
  readonly tool: string | null;
}

/** So long the host of a call that Gate only judged may still begin it (docs/architecture/requests-and-answers.md). */
export const HANDED_MS = 60_000;

const isOpen = ({ state }: CallRecord): boolean => OPEN_STATES.some((open) => open === state);
const msOf = (iso: string | undefined): number => (iso === undefined ? Number.POSITIVE_INFINITY : Date.parse(iso));

/** What a call was when something was stopped; `null` for one that had ended. By the clock that wrote the record. */
export function atStop(record: CallRecord, stoppedMs: number): StopCall['was'] | null {
  const { evidence, decision, outcome, pending_id: pendingId, state } = record;
  if (evidence.call.received_ms > stoppedMs) return 'started';
  if (record.created_ms > stoppedMs) return 'judged';
  if (!isOpen(record)) {
    // Where a probe or a person found the outcome out later, the call had ended when it was lost.
    const endedMs = Math.min(msOf(outcome?.lost?.at), msOf(outcome?.at), record.updated_ms);
    if (endedMs <= stoppedMs) return null;
  }
  if (state === 'decided' || state === 'parked') return 'parked';
  if (pendingId === null) return 'running';
  const decidedMs = decision === null ? record.updated_ms : takenMs(decision);
  return decidedMs > stoppedMs ? 'parked' : 'running';
}

/** The call as a report tells it; `null` for one that had ended. */
export function stopCallOf(record: CallRecord, stoppedMs: number): StopCall | null {
  const was = atStop(record, stoppedMs);
  if (was === null) return null;
  const { evidence, outcome } = record;
  const { call } = evidence;
  return {
    correlation_id: record.correlation_id,
    agent: call.agent,
    tool: call.tool,
    contract: call.contract,
    was,
    state: record.state,
    received_at: new Date(call.received_ms).toISOString(),
    state_since: new Date(record.updated_ms).toISOString(),
    digest: record.digest,
    params_sha256: evidence.params_sha256,
    pending_id: record.pending_id,
    outcome: outcome && {
      stage: outcome.stage,
      code: outcome.code ?? null,
      at: outcome.at,
      result_sha256: outcome.result_sha256,
    },
  };
}
