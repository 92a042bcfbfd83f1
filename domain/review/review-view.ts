import type { Delegation } from '../../contracts/call-grant.js';
import type { JsonObject } from '../../contracts/json.js';
import type { Approval, ModificationDiff, PendingRequest, SettledReview } from '../../contracts/review.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { NO_NOTES, type Notes } from './notes.js';
import { isRehearsal } from './rehearsal.js';
import { type ReviewHead, type StoredSettlement, storedSettlement } from './sealed-review.js';
import { legalHoldOf, RETENTION_POLICY, retentionDates, retentionTier, tombstoneOf } from './retention.js';
import type { Summarized } from './summary.js';
import { statusTold, TTL_SWEEP } from '../decision/transitions.js';

export interface Annotations extends Partial<Notes> {
  readonly review_reasons: string[];
  readonly brain_scores: JsonObject | null;
  readonly projected_cost_micros: number | null;
  readonly callback_url: string | null;
  /** What stays of the sandbox's report, which is sealed beside it. Absent in rows of an earlier Gate. */
  readonly sandbox_report?: Pick<SandboxReport, 'operation_class' | 'severity'> | null;
  readonly sandbox_report_digest?: string | null;
  /** Absent in rows of an earlier Gate. */
  readonly policy_bundle_sha256?: string | null;
  /** Absent where Gate runs the call, and in rows of an earlier Gate. */
  readonly executed_by?: 'agent';
  /** Absent where its agent showed no grant. */
  readonly delegation?: Delegation;
  /** Absent in rows of an earlier Gate, which asked one person. */
  readonly required_approvers?: number;
  readonly approvals?: readonly Approval[];
  /** RFC 3339; absent where nothing is escalated, and in rows of an earlier Gate. */
  readonly escalates_at?: string | null;
  readonly escalated_at?: string | null;
  /** After the first one; absent where there is no other. */
  readonly escalates_again_at?: string[];
  readonly escalated_again_at?: string[];
}

/** If a call never closed its row, the row is shown as expired this long after its deadline: the call is gone. */
export const FORSAKEN_AFTER_MS = 86_400_000;

/** The latest time a Date can hold. */
const LATEST_MS = 8.64e15;

/** What a row holds of its call, opened: `null` where it cannot be, or, for a summary, was not. */
export interface Content {
  readonly payload: JsonObject | null;
  readonly report: SandboxReport | null;
  readonly diff: ModificationDiff | null;
}
export const NO_CONTENT: Content = { payload: null, report: null, diff: null };

/** What closed the row: the stored settlement, or its deadline if its call is gone. */
function settlementOf(row: Pick<ReviewHead, 'id' | 'deadline_ms' | 'settled'>, now: number): StoredSettlement | null {
  if (row.settled !== null) return storedSettlement(row.settled);
  if (now - FORSAKEN_AFTER_MS < Number(row.deadline_ms)) return null;
  return {
    pending_id: row.id,
    status: 'expired',
    decided_at: iso(row.deadline_ms),
    decided_by: TTL_SWEEP,
    decision_reason: null,
    decided_via: TTL_SWEEP,
    principal: null,
  };
}

type Kept = Pick<
  ReviewHead,
  'id' | 'approval_tier' | 'deadline_ms' | 'settled' | 'payload_expires_ms' | 'metadata_expires_ms' | 'purged'
>;
/** Whether what a row holds of its call is still shown at `now`. */
export const isKept = (row: Kept, now: number, dates = datesOf(row, settlementOf(row, now))): boolean =>
  row.purged === null && now < dates.payload_expires_ms;

/** Until when a row is shown as at `now`, as long as nobody changes it: its call may be found gone, and its dates come. */
export function shownUntil(row: Kept, now: number): number {
  const gone = row.settled === null ? [Number(row.deadline_ms) + FORSAKEN_AFTER_MS] : [];
  const { payload_expires_ms: expires } = datesOf(row, settlementOf(row, now));
  return Math.min(...[...gone, expires].filter((atMs) => atMs > now));
}

type Form = 'whole' | 'summary';

/** The row as shown at `now`. */
export function view(row: ReviewHead, content: Content, now: number, form: Form = 'whole'): PendingRequest {
  if (row.status === 'tampered') return tamperedView(row);
  const seen = seenOf(row, content, now, form);
  return Object.assign(told(row, content, seen, form), { retention: retentionOf(row, seen) });
}

/** The same for a list in which it is short: without how it is kept. */
export function shortView(row: ReviewHead, report: Content['report'], now: number): Summarized {
  if (row.status === 'tampered') return tamperedView(row);
  const content = { ...NO_CONTENT, report };
  return told(row, content, seenOf(row, content, now, 'summary'), 'summary');
}

type Seen = ReturnType<typeof seenOf>;
function seenOf(row: ReviewHead, { payload }: Content, now: number, form: Form) {
  const settled = settlementOf(row, now);
  const tombstone = tombstoneOf(row);
  const dates = datesOf(row, settled);
  const missing = payload === null && form === 'whole';
  const availability = tombstone
    ? 'purged'
    : !isKept(row, now, dates)
      ? 'minimized'
      : missing
        ? 'unavailable'
        : 'available';
  return { settled, tombstone, dates, availability, minimized: JSON.parse(row.minimized_payload) as JsonObject };
}

/** Assigned and not spread: V8 copies what is spread behind other members of a literal at half the speed. */
const told = (
  row: ReviewHead,
  { payload, report, diff }: Content,
  { settled, availability, minimized }: Seen,
  form: Form,
) =>
  Object.assign(
    {
      id: row.id,
      correlation_id: row.correlation_id,
      tenant: row.tenant,
      agent_id: row.agent_id,
      agent_spiffe: row.agent_spiffe,
      rehearsal: isRehearsal(row),
      method: row.method,
      request_payload: availability === 'available' && payload !== null ? payload : minimized,
      risk_summary: row.risk_summary,
    },
    annotationsOf(row, settled),
    report !== null && availability === 'available' && { sandbox_report: reportShown(report, form) },
    { created_at: iso(row.created_ms), ttl_seconds: row.ttl_seconds },
    endOf(settled),
    {
      // Its values are those of a call: shown with the call, and no longer.
      modification_diff: form === 'summary' || availability !== 'available' ? null : diff,
      original_payload_digest: row.original_payload_digest,
      payload_bytes: row.payload_bytes,
      modified_payload: null,
      approval_tier: row.approval_tier,
      state_namespace: row.state_namespace,
    },
  );

function retentionOf(row: ReviewHead, { settled, tombstone, dates, availability, minimized }: Seen) {
  const hold = legalHoldOf(row);
  return Object.assign(
    {
      retention_policy: RETENTION_POLICY,
      retention_purpose: tombstone
        ? 'minimized-decision-audit'
        : settled
          ? 'terminal-payload-review'
          : 'active-review-and-execution',
      retention_tier: retentionTier(row),
      payload_protection: 'aes-256-gcm',
      payload_key_id: row.payload_key_id,
      protected_at: row.protected_at,
    },
    expiriesOf(dates),
    { payload_availability: availability },
    tombstone && { payload_tombstone: { ...tombstone } },
    hold && { legal_hold: { ...hold } },
    { minimization_profile: 'hil-request-v1', minimized_payload: minimized },
  );
}

/** What rows of an earlier Gate do not say. */
const UNTOLD = {
  ...NO_NOTES,
  sandbox_report: null,
  sandbox_report_digest: null,
  policy_bundle_sha256: null,
  required_approvers: 1,
  escalates_at: null,
  escalated_at: null,
} as const satisfies Partial<Annotations>;

/** With the approvals that counted, once it was settled by them. */
function annotationsOf({ annotations }: ReviewHead, settled: Pick<SettledReview, 'approvals'> | null): Annotations {
  const told = JSON.parse(annotations) as Annotations;
  return Object.assign({}, UNTOLD, told, { approvals: [...(settled?.approvals ?? told.approvals ?? [])] });
}

/** A list has no values of the call but those in the line. */
function reportShown(report: SandboxReport, form: Form) {
  if (form === 'whole') return report;
  const { operation_class, severity, reversible, summary } = report;
  return { operation_class, severity, reversible, summary };
}

type Ended = Omit<SettledReview, 'modification'> & {
  readonly modification?: { readonly reviewed_digest: string } | undefined;
};
/** How a review ended, as its row shows it. */
const endOf = (settled: Ended | null) => {
  const principal = settled?.principal ?? null;
  return {
    status: settled ? statusTold(settled) : ('pending' as const),
    decided_at: settled?.decided_at ?? null,
    decided_by: settled?.decided_by ?? null,
    decision_reason: settled?.decision_reason ?? null,
    decided_via: settled?.decided_via ?? null,
    decision_request_id: settled?.request_id ?? null,
    reviewed_payload_digest: settled?.modification?.reviewed_digest ?? null,
    candidate_execution_payload_digest: settled?.modification?.reviewed_digest ?? null,
    approver_provenance: principal?.method ?? (settled ? 'system' : null),
    approver_assertion: principal && {
      subject: principal.subject,
      tenant: principal.tenant,
      method: principal.method,
      credential: principal.credential,
    },
    credential_kind: principal?.credential_kind ?? null,
  };
};

/** The stored dates; for a row that has none yet, those that it will get. */
function datesOf(
  row: Pick<ReviewHead, 'approval_tier' | 'deadline_ms' | 'payload_expires_ms' | 'metadata_expires_ms'>,
  settled: Pick<SettledReview, 'decided_at'> | null,
) {
  const { payload_expires_ms: payload, metadata_expires_ms: metadata } = row;
  if (payload !== null && metadata !== null)
    return { payload_expires_ms: Number(payload), metadata_expires_ms: Number(metadata) };
  return retentionDates(row, settled ? Date.parse(settled.decided_at) : Number(row.deadline_ms));
}

const expiriesOf = (dates: ReturnType<typeof retentionDates>) => ({
  payload_retention_expires_at: iso(dates.payload_expires_ms),
  metadata_retention_expires_at: iso(dates.metadata_expires_ms),
});

/** A pending row that was read, as it is shown once it was settled in this way, without another look at the store. */
export const settledView = (row: PendingRequest, settled: SettledReview): PendingRequest => ({
  ...row,
  ...endOf(settled),
  modification_diff: settled.modification?.diff ?? null,
  ...(settled.approvals && { approvals: settled.approvals }),
  retention: {
    ...row.retention,
    retention_purpose: 'terminal-payload-review',
    ...expiriesOf(retentionDates(row, Date.parse(settled.decided_at))),
  },
});

/** Shows only the ids of a row that Gate did not write, because an attacker may have chosen the rest. */
function tamperedView(row: ReviewHead): PendingRequest {
  const created = Number(row.created_ms);
  return {
    id: row.id,
    correlation_id: row.correlation_id,
    tenant: row.tenant,
    agent_id: 'unknown',
    agent_spiffe: null,
    rehearsal: false,
    method: 'unknown',
    request_payload: {},
    risk_summary: 'This review is not what Gate wrote, or its key is not here: nobody can decide it.',
    review_reasons: [],
    created_at: iso(Math.abs(created) < LATEST_MS ? created : 0),
    ttl_seconds: 0,
    status: 'tampered',
    decided_at: null,
    decided_by: null,
    decision_reason: null,
    decided_via: null,
    approver_provenance: null,
    approver_assertion: null,
    credential_kind: null,
    sandbox_report: null,
    original_payload_digest: '',
    approval_tier: null,
    state_namespace: 'operator',
    retention: { payload_availability: 'unavailable', minimized_payload: {} },
  };
}

const iso = (ms: number | string): string => new Date(Number(ms)).toISOString();
