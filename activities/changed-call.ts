import type { CallInput } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { PolicyDecision } from '../contracts/policy.js';
import type { CallStore } from '../domain/call/ports.js';
import type { Inspector } from '../domain/inspection/port.js';
import { denied, foldVerdict, type Verdict } from '../domain/call/verdict.js';
import { toolsOf } from '../domain/mcp/batch.js';
import type { AgentStanding } from '../domain/identity/revocation-mirror.js';
import { boundedEvent } from '../domain/policy/forensic-event.js';
import type { PolicyEvaluator } from '../domain/policy/evaluator.js';
import type { ToolClasses } from '../domain/tool-classes/port.js';
import { inspectOnce } from './inspection.js';
import type { ObservedCalls } from './observed-call.js';
import { HISTORY_WINDOW_MS } from './opened-call.js';
import { evaluateChanged } from './policy.js';

/** The verdict about a call with another body. */
export interface ChangedVerdict {
  readonly verdict: Verdict;
  readonly policy_bundle: PolicyDecision['policy_bundle'];
  /** What its inspection cost. */
  readonly costMicros: number;
  /** What the rules want to be recorded of the evaluation, limited in size. */
  readonly forensic_event?: JsonObject;
}
/**
 * Judges a parked call as an approver changed it. Asking again, after a crash or once policy is back, does not pay for Brain a second time.
 * Throws when Brain or policy does not answer; nothing is decided then. Throws NotAsStaged when the stored inspection is not one of this call.
 */
export type JudgeChanged = (call: CallInput, body: JsonObject) => Promise<ChangedVerdict>;

/** Asks Brain and policy what was asked about the call itself, always in enforce mode: observe mode parks nothing. */
export const judgeChangedBy =
  (ports: {
    readonly calls: CallStore;
    readonly inspector: Inspector;
    readonly observed?: ObservedCalls | undefined;
    readonly policies: PolicyEvaluator;
    readonly tools: ToolClasses;
    /** Says what nobody should call or use; absent where nobody keeps that. */
    readonly standing?: Pick<AgentStanding, 'decoysOf'> | undefined;
  }): JudgeChanged =>
  async (call, body) => {
    const history = await ports.calls.history(call.tenant, call.agent, call.received_ms - HISTORY_WINDOW_MS);
    const inspection = await inspectOnce(ports, call, body, history);
    const { decision } = await evaluateChanged(ports, call, body, history, inspection);
    const { policy_bundle, forensic_event: event } = decision;
    const folded = foldVerdict(inspection, decision, 'enforce');
    const called = toolsOf(call.method, call.tool, body);
    const decoy = ports.standing?.decoysOf(call.tenant).touched(called, body['params']) ?? null;
    return {
      verdict: decoy ? denied(folded) : folded,
      policy_bundle,
      costMicros: inspection.cost_micros,
      ...(event && { forensic_event: boundedEvent(event) }),
    };
  };
