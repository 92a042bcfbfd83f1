import type { CallInput, CallState } from '../../contracts/call.js';
import { type AgentHistory, HISTORY_LENGTH, type HistoryEvent } from '../../contracts/policy.js';
import type { KeyRing } from '../crypto/key-ring.js';
import type { MovePatch } from './call-store.js';
import type { CallRecord, RecordedDecision, RecordedOutcome, StagedRequest, VerdictEvidence } from './record.js';
import { nextState, type CallMove } from './transitions.js';

/** A call record as it lies in the store: what is searched by in clear, the rest sealed under the call's id. */
export interface StoredRecord {
  correlation_id: string;
  state: CallState;
  tenant: string;
  agent: string;
  contract: CallInput['contract'];
  tool: string;
  /** The tools of a batch as a JSON list; `null` of any other call. */
  sibling_tools: string | null;
  tier: CallRecord['tier'];
  approval_tier: CallRecord['approval_tier'];
  digest: string;
  pending_id: string | null;
  deadline_ms: number | null;
  not_after_ms: number;
  verdict_sealed: Uint8Array;
  decision_sealed: Uint8Array | null;
  outcome_sealed: Uint8Array | null;
  result_sealed: Uint8Array | null;
  created_ms: number;
  updated_ms: number;
  counted_ms: number | null;
  rows_due_ms: number | null;
  review_due_ms: number | null;
  callback_due_ms: number | null;
}

/** What a look at a record reads. Results are read apart: they can be megabytes, and most looks do not want them. */
export const RECORD_COLUMNS = [
  'correlation_id',
  'state',
  'digest',
  'tier',
  'approval_tier',
  'pending_id',
  'deadline_ms',
  'not_after_ms',
  'created_ms',
  'updated_ms',
  'verdict_sealed',
  'decision_sealed',
  'outcome_sealed',
] as const satisfies readonly (keyof StoredRecord)[];
export type RecordRow = Pick<StoredRecord, (typeof RECORD_COLUMNS)[number]>;

/** The steps that a counted call is in its agent's history: one, or one per call of a batch, in its order. */
export const stepsOf = (
  tool: string,
  siblings: readonly string[] | undefined,
  countedMs: number,
  replica: string,
): HistoryEvent[] =>
  (siblings ?? [tool]).map((name) => ({ tool: name, method: 'tools/call', ts_ms: countedMs, replica }));

/** The newest steps of counted records that come newest first. */
export const newestSteps = (
  counted: readonly Pick<StoredRecord, 'tool' | 'sibling_tools' | 'counted_ms'>[],
  replica: string,
): HistoryEvent[] =>
  counted
    .toReversed()
    .flatMap(({ tool, sibling_tools: siblings, counted_ms: countedMs }) =>
      stepsOf(tool, siblings === null ? undefined : (JSON.parse(siblings) as string[]), Number(countedMs), replica),
    )
    .slice(-HISTORY_LENGTH);

export const historyOf = (
  steps: readonly HistoryEvent[],
  sensitive: readonly SensitiveStep[],
  replica: string,
): AgentHistory => ({
  last_tool: steps.at(-1)?.tool ?? null,
  recent_sequence: [...steps],
  ...(sensitive.length > 0 && {
    sensitive_steps: sensitive
      .toReversed()
      .map(({ tool, at_ms }) => ({ tool, method: 'tools/call', ts_ms: Number(at_ms), replica })),
  }),
});

/** When a tool after which policy watches what leaves succeeded last; kept apart, because the newest sixteen steps forget it. */
export interface SensitiveStep {
  readonly tool: string;
  readonly at_ms: number;
}

/** Between a record and its stored form; the same in every store. */
export function recordSealing(keys: KeyRing) {
  const seal = (value: unknown, id: string, kind: string) => keys.seal(JSON.stringify(value), `${id}/${kind}`);
  const open = (sealed: Uint8Array | null, id: string, kind: string) =>
    sealed === null ? null : (JSON.parse(keys.open(sealed, `${id}/${kind}`).toString('utf8')) as unknown);
  return {
    sealRequest: (request: StagedRequest, id: string, digest: string) => seal(request, id, `request/${digest}`),
    /** Throws when the bytes were changed or are bound to another digest. */
    openRequest: (sealed: Uint8Array, id: string, digest: string) =>
      open(sealed, id, `request/${digest}`) as StagedRequest,
    sealResult: (result: Uint8Array, id: string) => keys.seal(result, `${id}/result`),
    openResult: (sealed: Uint8Array, id: string) => keys.open(sealed, `${id}/result`),

    /** The row of a verdict that was just reached. */
    newRecord(
      state: 'decided' | 'denied' | 'allowed' | 'abandoned',
      evidence: VerdictEvidence,
      outcome: RecordedOutcome | undefined,
      at: number,
    ): StoredRecord {
      const { call } = evidence;
      return {
        correlation_id: call.correlation_id,
        state,
        tenant: call.tenant,
        agent: call.agent,
        contract: call.contract,
        tool: call.tool,
        sibling_tools: evidence.sibling_tools ? JSON.stringify(evidence.sibling_tools) : null,
        tier: evidence.verdict?.tier ?? null,
        approval_tier: evidence.verdict?.approval_tier ?? 'standard',
        digest: call.digest,
        pending_id: null,
        deadline_ms: null,
        not_after_ms: call.not_after_ms,
        verdict_sealed: seal(evidence, call.correlation_id, 'verdict'),
        decision_sealed: null,
        outcome_sealed: outcome ? seal(outcome, call.correlation_id, 'outcome') : null,
        result_sealed: null,
        created_ms: at,
        updated_ms: at,
        counted_ms: state === 'allowed' && call.contract === 'gate.decision/v1' ? at : null,
        rows_due_ms: at,
        review_due_ms: null,
        callback_due_ms: null,
      };
    },

    /** What a move changes, or `null` where the table has no such move or it comes too late. */
    moved(
      row: Pick<StoredRecord, 'correlation_id' | 'state' | 'updated_ms'>,
      move: CallMove,
      patch: MovePatch,
      at: number,
    ): (Partial<StoredRecord> & Pick<StoredRecord, 'state' | 'updated_ms' | 'rows_due_ms'>) | null {
      const state = nextState(row.state, move);
      if (state === null || (patch.before_ms !== undefined && at > patch.before_ms)) return null;
      const id = row.correlation_id;
      return {
        state,
        updated_ms: Math.max(at, Number(row.updated_ms) + 1),
        rows_due_ms: at,
        // Whatever ends the wait for a decision owes the review its row and the caller its callback.
        ...(row.state === 'parked' && { review_due_ms: at, ...(patch.callback && { callback_due_ms: at }) }),
        ...(patch.pending_id !== undefined && { pending_id: patch.pending_id }),
        ...(patch.deadline_ms !== undefined && { deadline_ms: patch.deadline_ms }),
        ...(patch.counted_ms !== undefined && { counted_ms: patch.counted_ms }),
        ...(patch.decision && { decision_sealed: seal(patch.decision, id, 'decision') }),
        ...(patch.outcome && { outcome_sealed: seal(patch.outcome, id, 'outcome') }),
        ...(patch.result && { result_sealed: keys.seal(patch.result, `${id}/result`) }),
      };
    },

    openRow: (row: RecordRow): CallRecord => ({
      correlation_id: row.correlation_id,
      state: row.state,
      digest: row.digest,
      tier: row.tier,
      approval_tier: row.approval_tier,
      pending_id: row.pending_id,
      deadline_ms: row.deadline_ms === null ? null : Number(row.deadline_ms),
      not_after_ms: Number(row.not_after_ms),
      created_ms: Number(row.created_ms),
      updated_ms: Number(row.updated_ms),
      evidence: open(row.verdict_sealed, row.correlation_id, 'verdict') as VerdictEvidence,
      decision: open(row.decision_sealed, row.correlation_id, 'decision') as RecordedDecision | null,
      outcome: open(row.outcome_sealed, row.correlation_id, 'outcome') as RecordedOutcome | null,
    }),
  };
}
