import { type CallInput, type CallSummary, DECISION_CONTRACT } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { AgentHistory } from '../contracts/policy.js';
import { paramsSha256 } from '../domain/call/params-digest.js';
import { type RecordedOutcome, summarize, summarizeFound, type VerdictEvidence } from '../domain/call/record.js';
import { TAMPERED } from '../domain/call/transitions.js';
import { batchTools } from '../domain/mcp/batch.js';
import type { Evaluated, Inspected } from '../domain/call/pipeline.js';
import { denied, foldVerdict, quarantined } from '../domain/call/verdict.js';
import { boundedEvent } from '../domain/policy/forensic-event.js';
import { foreignText } from '../domain/text.js';
import { definedToolsOf, noQuarantine, type Quarantine } from '../domain/tool-definitions/quarantine.js';
import type { ObservedCalls } from './observed-call.js';
import { type NameWatch, noNameWatch } from '../domain/tool-definitions/name-watch.js';
import { requestToJudge } from './opened-call.js';
import type { CallStore } from '../domain/call/ports.js';

type ToolClassFacts = Parameters<NameWatch>[1];

/** The evidence of a call that was closed before it was judged. */
const UNJUDGED = {
  verdict: null,
  inspection: null,
  inspection_failure: null,
  decision: null,
  policy_failure: null,
  facts: null,
} as const;

export const createRecordActivities = ({
  calls,
  observed,
  quarantine = noQuarantine,
  names = noNameWatch,
  hasProbe = () => false,
  now = Date.now,
  onCommitted,
}: RecordActivityOptions) => {
  const unanswered = <Stage extends RecordedOutcome['stage']>(stage: Stage, reason: string) => ({
    stage,
    status_code: null,
    duration_ms: null,
    result_sha256: null,
    error: foreignText(reason, 500),
    at: new Date(now()).toISOString(),
  });
  return {
    /**
     * Stores the verdict before any row or effect. Safe to repeat: if a record exists, also with another verdict, it is returned, because
     * the first verdict stands.
     */
    async commitVerdict(call: CallInput, inspected: Inspected, evaluated: Evaluated): Promise<CallSummary> {
      const inspection = inspected.available ? inspected.inspection : null;
      const { body, ...commitments } = await commitmentsOf(calls, call);
      const traits = observed?.again(call, body, evaluated.facts['agent_history'] as AgentHistory);
      const judged = foldVerdict(inspection, evaluated.decision, call.mode);
      const folded = call.decoy ? denied(judged) : judged;
      // Where Gate executes, the attempt asks; where the host does, nothing stands between this verdict and the tool.
      const held =
        call.contract === DECISION_CONTRACT && folded.outcome !== 'deny'
          ? await quarantine.held(call, definedToolsOf(commitments))
          : null;
      const lookalikes = await names(call, evaluated.facts.tool_classes as ToolClassFacts);
      const verdict = held === null ? folded : quarantined(folded, held);
      const state = verdict.outcome === 'deny' ? 'denied' : verdict.outcome === 'park' ? 'decided' : 'allowed';
      const record = await calls.commitVerdict(state, {
        ...commitments,
        // What was denied never ran, and teaches nothing.
        ...(traits && state !== 'denied' && { observed: traits }),
        ...(hasProbe(call.tool) && { probed: true }),
        ...(lookalikes.length > 0 && { lookalikes }),
        verdict,
        inspection,
        inspection_failure: inspected.available ? null : inspected.reason,
        decision: evaluated.decision,
        policy_failure: evaluated.decision ? null : evaluated.reason,
        facts: evaluated.facts,
        ...(evaluated.decision?.forensic_event && { forensic_event: boundedEvent(evaluated.decision.forensic_event) }),
      });
      onCommitted?.(record.evidence);
      return summarizeFound(record);
    },

    /** Closes a call whose caller had given up before its first step. Safe to repeat; an existing record stays. */
    async abandonCall(call: CallInput): Promise<CallSummary> {
      const { body: _body, ...commitments } = await commitmentsOf(calls, call);
      const record = await calls.commitVerdict(
        'abandoned',
        { ...commitments, ...UNJUDGED },
        unanswered('abandoned', 'reached a worker after its caller had given up'),
      );
      return summarizeFound(record);
    },

    /**
     * Closes a call whose stored request was changed after it was staged. It cannot be judged, and nothing of the stored text is shown.
     * Safe to repeat.
     */
    async closeTampered(call: CallInput, why: string): Promise<CallSummary> {
      const known = await calls.condemn(call.correlation_id, why);
      const evidence = { call, params_sha256: '0'.repeat(64), callback_url: null, ...UNJUDGED };
      return summarize(known ?? (await calls.commitVerdict(TAMPERED, evidence, unanswered(TAMPERED, why))));
    },

    /**
     * Closes an open record after an error that nothing else handles. Fails closed: no effect, and intended calls become uncertain. Safe to
     * repeat.
     */
    async abortCall(correlationId: string, reason: string): Promise<CallSummary | null> {
      const record = await calls.find(correlationId);
      if (!record) return null;
      const lost = await calls.move(correlationId, 'lose', { outcome: unanswered('uncertain', reason) });
      if (lost.applied) return summarize(lost.record);
      const { record: closed } = await calls.move(correlationId, 'abort', {
        outcome: unanswered('aborted', reason),
        callback: record.evidence.call.has_callback,
      });
      return summarize(closed);
    },

    async readCall(correlationId: string): Promise<CallSummary | null> {
      const record = await calls.find(correlationId);
      return record && summarize(record);
    },
  };
};

export interface RecordActivityOptions {
  readonly calls: CallStore;
  /** Reads what a call does, for the profile of its agent. */
  readonly observed?: ObservedCalls | undefined;
  /** Refuses decisions about tools whose definition waits for an operator. */
  readonly quarantine?: Quarantine | undefined;
  /** Says of names that no list has which one they are taken for. */
  readonly names?: NameWatch | undefined;
  /** Whether a lost outcome of this tool can be found out. */
  readonly hasProbe?: (tool: string) => boolean;
  readonly now?: () => number;
  /** For counters; called with the verdict that stands. */
  readonly onCommitted?: (evidence: VerdictEvidence) => void;
}
export type RecordActivities = ReturnType<typeof createRecordActivities>;

async function commitmentsOf(
  calls: CallStore,
  call: CallInput,
): Promise<Pick<VerdictEvidence, 'call' | 'params_sha256' | 'sibling_tools' | 'callback_url'> & { body: JsonObject }> {
  const request = await requestToJudge(calls, call);
  const tools = batchTools(call.method, request.body);
  return {
    body: request.body,
    call,
    params_sha256: paramsSha256(request.body),
    ...(tools && { sibling_tools: tools }),
    callback_url: request.callback_url,
  };
}
