import type { CallContract, Mode } from '../../contracts/call.js';
import type { JsonObject } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import type { RecordedDecision, RecordedOutcome } from '../../domain/call/record.js';
import { rowsOf } from '../../domain/call/rows.js';
import { uuidFromDigest } from '../../domain/crypto/digest.js';
import { foldVerdict } from '../../domain/call/verdict.js';
import { callInput } from './call-input.js';
import { decisionOf, inspectionOf } from './judgements.js';

export interface TestCall {
  /** Any text: the correlation id is made of it. */
  readonly name: string;
  readonly agent?: string;
  readonly tenant?: string;
  readonly tool?: string;
  readonly tier?: 'green' | 'yellow' | 'red';
  readonly mode?: Mode;
  readonly reasons?: readonly string[];
  readonly injected?: boolean;
  readonly arguments?: JsonObject;
  /** What Brain masked of the call. */
  readonly maskedParams?: JsonObject;
  readonly brainVersion?: string;
  /** Which model answered, by lane. */
  readonly answeredBy?: Readonly<Record<string, string>>;
  readonly costMicros?: number;
  readonly decided?: RecordedDecision['status'];
  /** Who is told as the decider; a person, or the end of the time. */
  readonly decidedBy?: string;
  /** `gate.review/v1` is a review that no call asked for. */
  readonly contract?: CallContract;
  readonly outcome?: RecordedOutcome['stage'];
  readonly source?: string;
}

export const correlationOf = (name: string): string => uuidFromDigest('test-call', name);

/** The rows that the pipeline itself would write for the call, made by the pipeline's own function. */
export function callRows(call: TestCall): NewLedgerRow[] {
  const { name, tool = 'read_file', tier = 'green', mode = 'enforce' } = call;
  const id = correlationOf(name);
  const at = '2026-01-01T00:00:00.000Z';
  const ms = Date.parse(at);
  const inspected = inspectionOf(!call.injected);
  const inspection = {
    ...inspected,
    cost_micros: call.costMicros ?? 0,
    evidence: {
      ...inspected.evidence,
      brain_version: call.brainVersion ?? 'test',
      ...(call.answeredBy && { mock_mode: false, answered_by: { ...call.answeredBy } }),
    },
    ...(call.maskedParams && { masked_params: call.maskedParams }),
  };
  const decision = { ...decisionOf(tier), ...(call.reasons && { reasons: [...call.reasons] }) };
  const verdict = foldVerdict(inspection, decision, mode);
  const outcome = call.outcome;
  const rows = rowsOf(
    {
      correlation_id: id,
      version: 1,
      state: verdict.outcome === 'deny' ? 'denied' : verdict.outcome === 'park' ? 'parked' : 'allowed',
      digest: `sha256:${'0'.repeat(64)}`,
      tier,
      approval_tier: 'standard',
      pending_id: verdict.outcome === 'park' ? uuidFromDigest('test-pending', name) : null,
      deadline_ms: verdict.outcome === 'park' ? ms + 600_000 : null,
      not_after_ms: ms + 10_000,
      created_ms: ms,
      updated_ms: ms,
      evidence: {
        call: callInput(ms, {
          correlation_id: id,
          tenant: call.tenant ?? 'acme',
          agent: call.agent ?? 'agent-a',
          agent_spiffe: `spiffe://gate.local/tenant/acme/agent/agent-a/instance/${id}`,
          idempotency_id: id,
          tool,
          digest: `sha256:${'0'.repeat(64)}`,
          mode,
          ...(call.contract && { contract: call.contract }),
        }),
        verdict,
        inspection,
        inspection_failure: null,
        policy_failure: null,
        decision,
        facts: {
          tool_type: tool,
          agent_history: { last_tool: null, recent_sequence: [] },
          intent_score: call.injected ? 0.5 : 0.1,
        },
        params_sha256: 'a'.repeat(64),
        callback_url: null,
      },
      decision: call.decided
        ? {
            status: call.decided,
            decided_at: at,
            decided_by: call.decidedBy ?? (call.decided === 'expired' ? 'system:ttl-sweep' : 'operator:dev'),
            decided_via: 'console',
            reason: call.decided === 'expired' ? null : 'looked at it',
            principal: null,
          }
        : null,
      outcome: outcome
        ? {
            stage: outcome,
            status_code: outcome === 'completed' ? 200 : null,
            duration_ms: 12,
            result_sha256: null,
            error: outcome === 'completed' ? null : 'why it ended so',
            at,
          }
        : null,
    },
    {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: call.arguments ?? {} } },
      callback_url: null,
    },
  );
  return call.source === undefined ? rows : rows.map((row) => ({ ...row, source: call.source }));
}
