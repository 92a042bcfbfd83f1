import type { CallInput, CallState } from '../../contracts/call.js';
import { type AgentHistory, HISTORY_LENGTH, type HistoryEvent } from '../../contracts/policy.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { keepCanonical, knownText, sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { errorText } from '../errors.js';
import { rowContent, type RowContent } from '../crypto/row-content.js';
import {
  type CallRecord,
  type KeptInspection,
  NotAsStaged,
  type RecordedDecision,
  type RecordedOutcome,
  type StagedRequest,
  type UnboundReview,
  type VerdictEvidence,
} from './record.js';
import { type CallMove, type FirstState, nextState, TAMPERED } from './transitions.js';
import type { MovePatch } from './ports.js';
import { isEvidence } from './reconciliation.js';

/** A call record as stored: columns for searching in clear text, the rest sealed under the call's id. */
export interface StoredRecord {
  correlation_id: string;
  state: CallState;
  tenant: string;
  agent: string;
  contract: CallInput['contract'];
  tool: string;
  /** The tools of a batch as a JSON list, those that ran once it has run; `null` for any other call. */
  sibling_tools: string | null;
  /** The name under which the tool is classed; `null` when the call was not judged, or was judged by an earlier Gate. */
  upstream: string | null;
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
  /** Since when its lost outcome is to be probed for. */
  probe_due_ms: number | null;
  /** Grows with every transition. Like `mac`, it is `null` in a record of an earlier Gate until this version opens the store. */
  version: number | null;
  /** Covers everything that Gate decides by (`AUTHENTICATED`), with a key derived from the record keys. */
  mac: string | null;
}

/** The columns that Gate's decisions rest on: the MAC covers these, in this order. */
export const AUTHENTICATED = [
  'correlation_id',
  'version',
  'state',
  'tenant',
  'agent',
  'contract',
  'tool',
  'sibling_tools',
  'tier',
  'approval_tier',
  'digest',
  'pending_id',
  'deadline_ms',
  'not_after_ms',
  'created_ms',
  'updated_ms',
  'counted_ms',
  'verdict_sealed',
  'decision_sealed',
  'outcome_sealed',
] as const satisfies readonly (keyof StoredRecord)[];
/**
 * Not covered. The retained answer is sealed separately and bound to the digest in its outcome. The upstream repeats what the sealed
 * evidence says, so that `gate tools` can count by it. The others only say what is still to be done, and doing it once more changes nothing
 * (SECURITY.md says what somebody who edits them can do).
 */
export const NOT_AUTHENTICATED = [
  'mac',
  'result_sealed',
  'upstream',
  'rows_due_ms',
  'review_due_ms',
  'callback_due_ms',
  'probe_due_ms',
] as const satisfies readonly (keyof StoredRecord)[];

/**
 * The columns that a read of a record loads. Results are read separately, because they can be megabytes and most reads do not need them.
 */
export const RECORD_COLUMNS = [...AUTHENTICATED, 'mac'] as const;
export type RecordRow = Pick<StoredRecord, (typeof RECORD_COLUMNS)[number]>;

/** The authenticated columns as they are hashed. A sealed value is represented by its authentication tag, which no two values share. */
export type Authenticated = RowContent<(typeof AUTHENTICATED)[number]>;

const CONTENT = rowContent(AUTHENTICATED, [
  'version',
  'deadline_ms',
  'not_after_ms',
  'created_ms',
  'updated_ms',
  'counted_ms',
]);
export const authenticatedOf = CONTENT.of;
export const withChanges = CONTENT.after;

/** The form of the MAC's message; another form gets another number. */
const MAC_FORM = 'gate.call-record/1';
const MAC_USE = 'call-record';

/** The row of a new record, with the content of its MAC. */
export interface NewRecord {
  readonly row: StoredRecord;
  readonly authenticated: Authenticated;
}

/** A record, with the content of its next MAC. */
export interface OpenedRecord {
  readonly record: CallRecord;
  readonly authenticated: Authenticated;
}
/** The result of reading a record: decrypted, or why it is not what Gate wrote. */
export type ReadRecord = (OpenedRecord & { readonly fault?: undefined }) | { readonly fault: string };

/** The steps of a counted call in its agent's history: one, or one per call of a batch, in its order. */
export const stepsOf = (
  tool: string,
  siblings: readonly string[] | undefined,
  countedMs: number,
  replica: string,
): HistoryEvent[] =>
  (siblings ?? [tool]).map((name) => {
    const step = { tool: name, method: 'tools/call', ts_ms: countedMs, replica };
    // Each of the agent's next sixteen calls includes it in what policy is told.
    keepCanonical(step);
    return step;
  });

/** The newest steps of counted records, which must come newest first. */
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

/** When a sensitive tool last succeeded; stored separately, because the newest sixteen steps may no longer include it. */
export interface SensitiveStep {
  readonly tool: string;
  readonly at_ms: number;
}

/** Converts between a record and its stored form; the same in every store. */
export function recordSealing(keys: KeyRing) {
  const seal = (value: unknown, id: string, kind: string) => keys.seal(JSON.stringify(value), `${id}/${kind}`);
  const open = (sealed: Uint8Array | null, id: string, kind: string) =>
    sealed === null ? null : (JSON.parse(keys.open(sealed, `${id}/${kind}`).toString('utf8')) as unknown);
  const message = (authenticated: Authenticated) => CONTENT.message(MAC_FORM, authenticated);
  const macOf = (authenticated: Authenticated) => keys.authenticate(message(authenticated), MAC_USE);
  /** For a row that was just made and that nothing else references. */
  const withMac = (row: StoredRecord): NewRecord => {
    const authenticated = authenticatedOf(row);
    row.mac = macOf(authenticated);
    return { row, authenticated };
  };
  const opened = (row: RecordRow, kinds: typeof KINDS | typeof EARLIER_KINDS): CallRecord => ({
    correlation_id: row.correlation_id,
    version: Number(row.version),
    state: row.state,
    digest: row.digest,
    tier: row.tier,
    approval_tier: row.approval_tier,
    pending_id: row.pending_id,
    deadline_ms: row.deadline_ms === null ? null : Number(row.deadline_ms),
    not_after_ms: Number(row.not_after_ms),
    created_ms: Number(row.created_ms),
    updated_ms: Number(row.updated_ms),
    evidence: open(row.verdict_sealed, row.correlation_id, kinds.verdict) as VerdictEvidence,
    decision: open(row.decision_sealed, row.correlation_id, kinds.decision) as RecordedDecision | null,
    outcome: open(row.outcome_sealed, row.correlation_id, kinds.outcome) as RecordedOutcome | null,
  });

  return {
    sealRequest: (request: StagedRequest, id: string, digest: string) => seal(request, id, `request/${digest}`),
    /** NotAsStaged when the bytes were changed or are bound to another digest. */
    openRequest(sealed: Uint8Array, id: string, digest: string): StagedRequest | NotAsStaged {
      try {
        return open(sealed, id, `request/${digest}`) as StagedRequest;
      } catch (error) {
        return new NotAsStaged(`the staged request is not the one of its digest: ${errorText(error)}`, {
          cause: error,
        });
      }
    },
    sealInspection: (kept: KeptInspection, id: string, digest: string) => seal(kept, id, `inspection/${digest}`),
    /** NotAsStaged when the bytes were changed, or are about another request. */
    openInspection(sealed: Uint8Array | null, id: string, digest: string): KeptInspection | NotAsStaged | null {
      try {
        return open(sealed, id, `inspection/${digest}`) as KeptInspection | null;
      } catch (error) {
        return new NotAsStaged(`the stored inspection is not the one of its request: ${errorText(error)}`, {
          cause: error,
        });
      }
    },
    sealResult: (result: Uint8Array, id: string) => keys.seal(result, `${id}/result`),
    /** The retained answer of a record, or why it is not the one that its outcome names. */
    resultOf(
      { correlation_id: id, outcome }: CallRecord,
      sealed: Uint8Array | null,
    ): { readonly bytes: Buffer | null; readonly fault?: undefined } | { readonly fault: string } {
      const expected = outcome?.result_sha256 ?? null;
      try {
        const bytes = sealed && keys.open(sealed, `${id}/result`);
        const held = expected === null || (bytes && sha256Hex(bytes) === expected);
        return held ? { bytes } : { fault: 'the retained answer is not the one of its outcome' };
      } catch (error) {
        return { fault: `the retained answer does not open: ${errorText(error)}` };
      }
    },

    /** The row of a new verdict. */
    newRecord(
      state: FirstState,
      evidence: VerdictEvidence,
      outcome: RecordedOutcome | undefined,
      at: number,
    ): NewRecord {
      const { call } = evidence;
      const said = describedBy(evidence);
      // Written out, because copying columns in a loop costs as much as the MAC.
      return withMac({
        correlation_id: said.correlation_id,
        state,
        tenant: said.tenant,
        agent: said.agent,
        contract: said.contract,
        tool: said.tool,
        sibling_tools: said.sibling_tools,
        upstream: said.upstream,
        tier: said.tier,
        approval_tier: said.approval_tier,
        digest: said.digest,
        pending_id: null,
        deadline_ms: null,
        not_after_ms: said.not_after_ms,
        verdict_sealed: keys.seal(textOf(evidence), `${call.correlation_id}/${KINDS.verdict}`),
        decision_sealed: null,
        outcome_sealed: outcome ? seal(outcome, call.correlation_id, KINDS.outcome) : null,
        result_sealed: null,
        created_ms: at,
        updated_ms: at,
        counted_ms: state === 'allowed' && call.contract === 'gate.decision/v1' ? at : null,
        rows_due_ms: at,
        review_due_ms: null,
        callback_due_ms: null,
        probe_due_ms: null,
        version: 1,
        mac: null,
      });
    },

    /**
     * The changes of a transition; `null` when the table has no such transition or it comes too late. The new MAC covers what was read and
     * verified before, so a column that somebody changed meanwhile is found at the next read.
     */
    moved(
      was: Authenticated,
      move: CallMove,
      patch: MovePatch,
      at: number,
    ): (Partial<StoredRecord> & Pick<StoredRecord, 'state' | 'updated_ms' | 'rows_due_ms' | 'version' | 'mac'>) | null {
      const state = nextState(was.state as CallState, move);
      if (state === null || (patch.before_ms !== undefined && at > patch.before_ms)) return null;
      // Nothing leaves uncertainty without evidence, and evidence is about nothing else.
      if (was.state === 'uncertain' && !isEvidence(patch.outcome, state !== 'uncertain')) return null;
      const id = String(was.correlation_id);
      const changed = {
        state,
        version: Number(was.version) + 1,
        updated_ms: Math.max(at, Number(was.updated_ms) + 1),
        rows_due_ms: at,
        // Whatever ends the wait, the review row must be settled and the caller told; again where he was told of an approval that is void.
        ...(was.state === 'parked' && state !== 'parked' && { review_due_ms: at }),
        ...(patch.callback && tellsCaller(was.state as CallState, state) && { callback_due_ms: at }),
        ...(was.state !== 'uncertain' && state === 'uncertain' && { probe_due_ms: at }),
        ...(was.state === 'uncertain' && state !== 'uncertain' && { probe_due_ms: null }),
        ...(patch.pending_id !== undefined && { pending_id: patch.pending_id }),
        ...(patch.deadline_ms !== undefined && { deadline_ms: patch.deadline_ms }),
        ...(patch.counted_ms !== undefined && { counted_ms: patch.counted_ms }),
        ...(patch.counted_tools && { sibling_tools: JSON.stringify(patch.counted_tools) }),
        ...(patch.evidence && { verdict_sealed: seal(patch.evidence, id, KINDS.verdict) }),
        ...(patch.decision && { decision_sealed: seal(patch.decision, id, KINDS.decision) }),
        ...(patch.outcome && { outcome_sealed: seal(patch.outcome, id, KINDS.outcome) }),
        ...(patch.result && { result_sealed: keys.seal(patch.result, `${id}/result`) }),
      };
      return { ...changed, mac: macOf(withChanges(was, changed)) };
    },

    /**
     * The record of a row, if Gate wrote exactly this row and nothing newer (`atLeast`, if this process knows). Throws only when the ring
     * lacks a key, which is the operator's mistake and not an attack.
     */
    read(row: RecordRow, atLeast = 0): ReadRecord {
      if (row.mac === null || row.version === null) return { fault: 'the record has no mac' };
      const authenticated = authenticatedOf(row);
      if (!keys.authentic(row.mac, message(authenticated), MAC_USE))
        return { fault: 'the record was changed outside Gate: its mac does not hold' };
      if (Number(row.version) < atLeast)
        return { fault: `an older record was put back: version ${Number(row.version)}, ${atLeast} was seen` };
      try {
        return { record: opened(row, KINDS), authenticated };
      } catch (error) {
        return { fault: `the record was changed outside Gate: ${errorText(error)}` };
      }
    },

    /**
     * The row that closes an invalid record. Nothing of the record is trusted except what decrypts under its own id: the verdict with the
     * call it is about. If not even that does, the row only says that a record existed.
     */
    condemned(
      row: RecordRow,
      why: string,
      at: number,
      atLeast = 0,
    ): Omit<StoredRecord, 'result_sealed' | 'callback_due_ms' | 'probe_due_ms'> {
      const id = row.correlation_id;
      const evidence =
        openedOr(() => open(row.verdict_sealed, id, KINDS.verdict)) ??
        openedOr(() => open(row.verdict_sealed, id, EARLIER_KINDS.verdict)) ??
        unknownCall(row, at);
      const outcome: RecordedOutcome = {
        stage: 'tampered',
        status_code: null,
        duration_ms: null,
        result_sha256: null,
        error: why.slice(0, 500).toWellFormed(),
        at: new Date(at).toISOString(),
      };
      const { row: condemned } = withMac({
        ...describedBy(evidence),
        correlation_id: id,
        state: TAMPERED,
        pending_id: row.pending_id === null ? null : uuidFromDigest('hil', id.toLowerCase()),
        deadline_ms: null,
        verdict_sealed: seal(evidence, id, KINDS.verdict),
        decision_sealed: null,
        outcome_sealed: seal(outcome, id, KINDS.outcome),
        created_ms: numberOr(row.created_ms, at),
        updated_ms: Math.max(at, numberOr(row.updated_ms, 0) < at + DAY_MS ? numberOr(row.updated_ms, 0) + 1 : 0),
        counted_ms: row.counted_ms === null ? null : numberOr(row.counted_ms, at),
        rows_due_ms: at,
        review_due_ms: at,
        version: Math.max(numberOr(row.version, 0), atLeast) + 1,
        mac: null,
        result_sealed: null,
        callback_due_ms: null,
        probe_due_ms: null,
      });
      const { result_sealed: _, callback_due_ms: __, probe_due_ms: ___, ...changed } = condemned;
      return changed;
    },

    /**
     * A record of an earlier Gate, without a MAC, in the form of this one; only if its state is what its sealed verdict and decision lead
     * to. Its values are sealed again under new names, so that a record of this Gate can never pass for an earlier one.
     */
    adopted(row: RecordRow): Partial<StoredRecord> | { readonly fault: string } {
      const id = row.correlation_id;
      try {
        const record = opened({ ...row, version: 0 }, EARLIER_KINDS);
        const fault = contradictionIn(record);
        if (fault) return { fault };
        const waits = record.state === 'parked' || record.state === 'approved';
        const anew = {
          version: 1,
          verdict_sealed: seal({ ...record.evidence, ...(waits && { reviewed: UNBOUND }) }, id, KINDS.verdict),
          decision_sealed: record.decision && seal(record.decision, id, KINDS.decision),
          outcome_sealed: record.outcome && seal(record.outcome, id, KINDS.outcome),
        };
        return { ...anew, mac: macOf(authenticatedOf({ ...row, ...anew })) };
      } catch (error) {
        return { fault: `the record of an earlier Gate does not open: ${errorText(error)}` };
      }
    },
  };
}

/** Whether a move is the end of a review, or makes an approval void. */
const tellsCaller = (was: CallState, state: CallState): boolean =>
  (was === 'parked' && state !== 'parked') || (was === 'approved' && state === 'aborted');

/** Reviews of the releases whose records have no MAC were bound to no definition of a tool. */
const UNBOUND: UnboundReview = { unbound: true };

/** The context of each sealed value of a record, besides the record's id. */
const KINDS = { verdict: 'record/verdict', decision: 'record/decision', outcome: 'record/outcome' } as const;
/** The same in records without a MAC. */
const EARLIER_KINDS = { verdict: 'verdict', decision: 'decision', outcome: 'outcome' } as const;
const DAY_MS = 86_400_000;

/** The record of a verdict whose row was just stored, without reading the store. */
export const recordOf = (
  { row, authenticated }: NewRecord,
  evidence: VerdictEvidence,
  outcome: RecordedOutcome | undefined,
): OpenedRecord => ({
  authenticated,
  record: {
    correlation_id: row.correlation_id,
    version: Number(row.version),
    state: row.state,
    digest: row.digest,
    tier: row.tier,
    approval_tier: row.approval_tier,
    pending_id: null,
    deadline_ms: null,
    not_after_ms: row.not_after_ms,
    created_ms: row.created_ms,
    updated_ms: row.updated_ms,
    evidence,
    decision: null,
    outcome: outcome ?? null,
  },
});

/** The record after a transition that was just made, without reading the store. */
export const recordAfter = (
  { record, authenticated }: OpenedRecord,
  changed: Partial<StoredRecord> & Pick<StoredRecord, 'state' | 'updated_ms' | 'version'>,
  patch: MovePatch,
): OpenedRecord => ({
  authenticated: withChanges(authenticated, changed),
  record: {
    ...record,
    state: changed.state,
    updated_ms: changed.updated_ms,
    version: Number(changed.version),
    pending_id: patch.pending_id ?? record.pending_id,
    deadline_ms: patch.deadline_ms ?? record.deadline_ms,
    evidence: patch.evidence ?? record.evidence,
    decision: patch.decision ?? record.decision,
    outcome: patch.outcome ?? record.outcome,
  },
});

/**
 * The evidence as JSON. Most of it is the policy input, which is also written into the ledger in canonical form. Parts of that text which
 * are known already are not written twice.
 */
function textOf(evidence: VerdictEvidence): string {
  const { facts, ...rest } = evidence;
  const text = facts && knownText(facts);
  return text ? `${JSON.stringify(rest).slice(0, -1)},"facts":${text}}` : JSON.stringify(evidence);
}

/** The columns that repeat what the evidence says, for searches. */
const describedBy = ({ call, verdict, sibling_tools: siblings, facts }: VerdictEvidence) => ({
  correlation_id: call.correlation_id,
  tenant: call.tenant,
  agent: call.agent,
  contract: call.contract,
  tool: call.tool,
  sibling_tools: siblings ? JSON.stringify(siblings) : null,
  upstream: typeof facts?.upstream === 'string' ? facts.upstream : null,
  tier: verdict?.tier ?? null,
  approval_tier: verdict?.approval_tier ?? ('standard' as const),
  digest: call.digest,
  not_after_ms: call.not_after_ms,
});

const openedOr = (open: () => unknown): VerdictEvidence | null => {
  try {
    return open() as VerdictEvidence;
  } catch {
    return null;
  }
};

const numberOr = (value: unknown, otherwise: number): number =>
  value !== null && Number.isSafeInteger(Number(value)) ? Number(value) : otherwise;

/** Replaces a verdict that cannot be decrypted. It names no agent and no tenant, so that the call counts against nobody. */
function unknownCall(row: RecordRow, at: number): VerdictEvidence {
  const call: CallInput = {
    correlation_id: row.correlation_id,
    tenant: 'system',
    agent: 'unknown',
    agent_spiffe: 'unknown',
    credential_fingerprint: '0'.repeat(64),
    contract: 'gate.server-execution/v1',
    idempotency_id: null,
    method: 'tools/call',
    tool: 'unknown',
    digest: String(row.digest),
    mode: 'enforce',
    received_ms: at,
    not_after_ms: at,
    ttl_secs: { auto: 0, standard: 0, strict: 0 },
    upstream_timeout_ms: 0,
    has_callback: false,
    recent_request_count: 0,
    velocity_limit: 0,
  };
  return {
    call,
    verdict: null,
    inspection: null,
    inspection_failure: null,
    decision: null,
    policy_failure: null,
    facts: null,
    params_sha256: '0'.repeat(64),
    callback_url: null,
  };
}

/** How late an earlier Gate may have parked a call after the last moment at which it could begin. */
const PARKED_WITHIN_MS = 60_000;

/** Why a record without a MAC cannot be from an earlier Gate: its sealed values, which nobody else could make, lead to another state. */
function contradictionIn({ state, evidence, decision, outcome, ...record }: CallRecord): string | null {
  const { call, verdict } = evidence;
  const judged = verdict?.outcome ?? null;
  const approved = judged === 'park' && decision?.status === 'approved';
  const mayRun = judged === 'allow' || approved;
  const ttlMs = call.ttl_secs[record.approval_tier] * 1000;
  const inTime = record.deadline_ms === null || record.deadline_ms <= call.not_after_ms + PARKED_WITHIN_MS + ttlMs;
  const holds: Readonly<Record<CallState, boolean>> = {
    decided: judged === 'park' && decision === null && outcome === null,
    parked: judged === 'park' && decision === null && outcome === null,
    allowed: judged === 'allow' && outcome === null,
    denied: judged === 'deny' || decision?.status === 'denied',
    approved: approved && outcome === null,
    intended: mayRun && outcome === null,
    completed: mayRun && outcome !== null,
    uncertain: mayRun && outcome?.stage === 'uncertain',
    not_run: mayRun && outcome?.stage === 'not_run',
    expired: decision?.status === 'expired',
    abandoned: outcome?.stage === 'abandoned',
    aborted: outcome?.stage === 'aborted',
    tampered: false,
  };
  if (!holds[state]) return `its state ${state} is not what its verdict and decision lead to`;
  if (call.correlation_id !== record.correlation_id || call.digest !== record.digest) return 'it is for another call';
  return inTime ? null : 'its deadline is later than any Gate gave';
}
