import { createHash } from 'node:crypto';
import { type ApprovalStatement, type PasskeyApproval, passkeyApproval } from '../../contracts/approval.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { EVENT_KINDS, type EventKind } from '../../contracts/event-kinds.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import { ledgerRowId } from '../call/rows.js';
import { canonicalDigest } from '../crypto/digest.js';
import { entryFault } from '../ledger/entry-fault.js';
import { circumstancesOf, passkeyFault, usualKey } from './passkey-proof.js';

/** What one row of a decision proves. */
export interface ApprovalFinding {
  readonly seq: number;
  readonly event: string;
  readonly decided_by: string | null;
  /** Why nothing is proved; `null` when the approver's passkey signed this very decision. */
  readonly fault: string | null;
  readonly credential_id: string | null;
  /** SHA-256 of the public key (SubjectPublicKeyInfo in its one usual encoding, whatever the row has), hex; `null` for bytes that are no key. */
  readonly key_sha256: string | null;
  readonly origin: string | null;
  readonly counter: number | null;
  /** Whether the rows say what the approver was shown, and it was compared. Those of an earlier Gate do not. */
  readonly shown_compared: boolean;
}

/**
 * What the rows of a kind say of the call under whose id they stand: what was asked (`verdict`, and only where it judged a request), what was
 * decided, which request ran (`outcome`: and how it ended), how it ended, or something else of it (`call`). `nothing`: others may stand under the same id, as alarms do, which are Gate's
 * own and may name another tool or tenant.
 */
const SAYS: Readonly<Record<EventKind, 'verdict' | 'decision' | 'ran' | 'outcome' | 'end' | 'call' | 'nothing'>> = {
  'proxy.verdict': 'verdict',
  'proxy.control': 'nothing',
  'brain.inspection': 'nothing',
  'policy.evaluated': 'nothing',
  'hil.created': 'call',
  'hil.approved': 'decision',
  'hil.denied': 'decision',
  'hil.expired': 'call',
  'hil.modified': 'ran',
  'hil.vote': 'decision',
  'hil.escalated': 'call',
  'hil.assigned': 'call',
  'upstream.outcome': 'outcome',
  'execution.completed': 'end',
  'response.inspected': 'end',
  'call.aborted': 'end',
  'call.abandoned': 'end',
  'callback.delivered': 'nothing',
  'alarm.forged_decision': 'nothing',
  'alarm.row_conflict': 'nothing',
  'alarm.reconciled': 'nothing',
  'alarm.row_refused': 'nothing',
  'alarm.call_stuck': 'nothing',
  'alarm.record_tampered': 'nothing',
  'alarm.review_tampered': 'nothing',
  'alarm.tool_classes_outdated': 'nothing',
  'alarm.clock_apart': 'nothing',
  'tool_definition.pinned': 'nothing',
  'tool_definition.drifted': 'nothing',
  'tool_definition.accepted': 'nothing',
  'tool_class.set': 'nothing',
  'tool_class.forgotten': 'nothing',
  'tool_class.withdrawn': 'nothing',
  'policy.created': 'nothing',
  'policy.updated': 'nothing',
  'policy.activated': 'nothing',
  'policy.deactivated': 'nothing',
  'policy.deleted': 'nothing',
  'policy.installed_from_template': 'nothing',
  'identity.svid_issued': 'nothing',
  'identity.svid_renewed': 'nothing',
  'svid.revoked': 'nothing',
  'agent.svid_recovery_opened': 'nothing',
  'agent.registered': 'nothing',
  'agent.suspended': 'nothing',
  'agent.unsuspend_requested': 'nothing',
  'agent.unsuspended': 'nothing',
  'agent.decommissioned': 'nothing',
  'agent.containment_set': 'nothing',
  'agent.containment_cleared': 'nothing',
  'agent.owner_team_transferred': 'nothing',
  'agent.description_changed': 'nothing',
  'agent.certified': 'nothing',
  'svid.workload_refreshed': 'nothing',
  'workload.svid_recovery_opened': 'nothing',
  'stop.set': 'nothing',
  'stop.release_requested': 'nothing',
  'stop.released': 'nothing',
  'stop.reported': 'nothing',
  'tenant.budget_changed': 'nothing',
  'decoy.registered': 'nothing',
  'decoy.retired': 'nothing',
  'upstream.registered': 'nothing',
  'upstream.retired': 'nothing',
  'identity.key_announced': 'nothing',
  'identity.key_signs': 'nothing',
  'identity.key_withdrawn': 'nothing',
  'signing_key.announced': 'nothing',
  'signing_key.signs': 'nothing',
  'signing_key.withdrawn': 'nothing',
  'identity.grant_issued': 'nothing',
  'grant.revoked': 'nothing',
  'grant.auto_revoked': 'nothing',
  'agent.envelope_narrowed': 'nothing',
  'agent.envelope_widened': 'nothing',
  'attestation.measurement_approved': 'nothing',
  'attestation.measurement_retired': 'nothing',
  'attestation.enrollment_challenge_opened': 'nothing',
  'agent.attestation_kinds_changed': 'nothing',
  'tenant.operation_started': 'nothing',
  'tenant.operation_halted': 'nothing',
  'tenant.operation_retried': 'nothing',
  'tenant.operation_succeeded': 'nothing',
  'tenant.offboarded': 'nothing',
  'tenant.provisioned': 'nothing',
  'tenant.final_export': 'nothing',
  'tenant.tombstoned': 'nothing',
  'namespace.cleaned_up': 'nothing',
  'regulatory.exported': 'nothing',
  'chain.root_anchored': 'nothing',
  'active_agent.adjusted': 'nothing',
  agent_silent: 'nothing',
  behavior_drifted: 'nothing',
};
type Says = (typeof SAYS)[EventKind];
const isKind = (event: string): event is EventKind => Object.hasOwn(SAYS, event);
/** Rows of reviews, of a kind of a newer Gate, say something of the call too. */
const saysOf = (event: string): Says => (isKind(event) ? SAYS[event] : event.startsWith('hil.') ? 'call' : 'nothing');

/**
 * What the rows of one call prove about who decided it: one finding for each decision and vote. Only the rows and the public keys are
 * trusted, of Gate nothing. With `keys` (SubjectPublicKeyInfo, DER) only signatures by these count. One key is one person, whatever names the
 * rows give it.
 */
export function approvalFindings(rows: readonly LedgerEntry[], keys?: readonly Uint8Array[]): ApprovalFinding[] {
  const decisions = rows.filter((row) => saysOf(eventOf(row)) === 'decision');
  const denied = decisions.some((row) => eventOf(row) === 'hil.denied');
  const read = decisions.map((row) => findingOf(row, rows, keys));
  // What the approver signed says whether he agreed, and how many must; of rows anybody could say it.
  const agreed = read.filter(({ fault, statement }) => fault === null && statement?.decision !== 'deny');
  const signed = Math.min(
    new Set(agreed.map(({ decided_by }) => decided_by)).size,
    new Set(agreed.map(({ key_sha256 }) => key_sha256)).size,
  );
  const told = decisions.map((row) => Number(row.policy_decision?.required_approvers ?? 1));
  const needed = Math.max(1, ...told, ...agreed.map(({ statement }) => statement?.required_approvers ?? 1));
  return read.map((each) => {
    const { statement: _, ...finding } = each;
    if (finding.fault !== null || finding.event !== 'hil.approved') return finding;
    if (denied) return { ...finding, fault: 'another row says that the call was denied' };
    return signed < needed ? { ...finding, fault: `it needs ${needed} people, and ${signed} signed` } : finding;
  });
}

const eventOf = (row: LedgerEntry): string => row.event_kind ?? row.method;

/** A finding with what was signed. */
interface ReadFinding extends ApprovalFinding {
  readonly statement?: ApprovalStatement;
}

function findingOf(row: LedgerEntry, rows: readonly LedgerEntry[], keys?: readonly Uint8Array[]): ReadFinding {
  const { decided_by } = row.policy_decision ?? {};
  const found = {
    seq: row.seq,
    event: eventOf(row),
    decided_by: typeof decided_by === 'string' ? decided_by : null,
  };
  const nothing = { credential_id: null, key_sha256: null, origin: null, counter: null, shown_compared: false };
  const said = row.policy_decision?.approval;
  if (said === undefined) return { ...found, ...nothing, fault: 'nobody signed it with a passkey' };
  const read = passkeyApproval.safeParse(said);
  if (!read.success) return { ...found, ...nothing, fault: 'what was signed cannot be read' };
  const approval = read.data;
  // One key is one person, in whatever encoding it stands in a row.
  const key = usualKey(Buffer.from(approval.passkey.public_key, 'base64url'));
  const fault =
    passkeyFault(approval) ??
    otherThan(approval, row, rows) ??
    entryFault(row) ??
    (keys && !keys.some((given) => key !== null && usualKey(given)?.equals(key) === true)
      ? 'another key than those that were given signed it'
      : null);
  return {
    ...found,
    fault,
    statement: approval.statement,
    credential_id: approval.passkey.credential_id,
    key_sha256: key && createHash('sha256').update(key).digest('hex'),
    ...(fault === null ? circumstancesOf(approval) : { origin: null, counter: null }),
    shown_compared: fault === null && shownIn(row, rows).some(({ row_digest }) => row_digest !== undefined),
  };
}

/**
 * Whether a row says what was asked, decided or ran. Others may stand under the same id and say nothing of that: alarms, which are Gate's own,
 * and requests that limits refused, which may ask for another tool.
 */
const tellsOfCall = (row: LedgerEntry): boolean => {
  const says = saysOf(eventOf(row));
  return says === 'verdict' ? isVerdict(row) : says !== 'nothing';
};
/** Kinds whose rows tell of what ran and how it ended: under an id of theirs another row would hide one. */
const OF_ITS_END = EVENT_KINDS.filter((kind) => SAYS[kind] === 'end' || SAYS[kind] === 'outcome');
/** A request that limits refused has a row of that kind too, under an id of its caller's choice, and judges nothing. */
const isVerdict = (row: LedgerEntry): boolean =>
  eventOf(row) === 'proxy.verdict' && row.policy_decision?.request_digest !== undefined;

/** Rows of one kind that a call has of what ran, as often as it is looked for. */
const LOOKS = 16;
/**
 * Why a row under the id of the call may hide what it says of it: it is not what its hash says, it stands under another tenant, or its id is
 * that of a row of another kind. `null` for one that hides nothing.
 */
function hides(each: LedgerEntry, { tenant }: LedgerEntry): string | null {
  const event = eventOf(each);
  const broken = entryFault(each);
  if (broken) return `the row ${event} proves nothing: ${broken}`;
  if (each.tenant !== tenant && tellsOfCall(each)) return `the row ${event} stands under another tenant`;
  for (const kind of OF_ITS_END)
    for (let ordinal = 0; kind !== event && ordinal < LOOKS; ordinal += 1)
      if (each.id === ledgerRowId(each.correlation_id ?? '', kind, ordinal))
        return `the row ${event} has the id of a row ${kind}`;
  return null;
}

/**
 * Why the rows tell another call, or another change of it, than the statement. One of an earlier Gate does not name the call: then what ran must
 * be what the rows of the verdict and of the decision say.
 */
function toldOtherwise(
  statement: ApprovalStatement,
  {
    decided,
    verdict,
    asked,
    rows,
  }: {
    readonly decided: LedgerEntry;
    readonly verdict: LedgerEntry;
    readonly asked: Json;
    readonly rows: readonly LedgerEntry[];
  },
): string | null {
  const agent_id = statement.agent_id ?? verdict.agent_id;
  const tool = statement.tool ?? verdict.tool_name ?? undefined;
  const params = statement.tool_params_sha256 ?? decided.tool_params_sha256 ?? undefined;
  for (const each of rows.filter(({ correlation_id }) => correlation_id === decided.correlation_id)) {
    const why = hides(each, decided);
    if (why) return why;
  }
  const own = rows.filter((each) => tellsOfCall(each) && belongsTo(each, decided) === null);
  if (own.some((each) => each.agent_id !== agent_id)) return "it was signed for another agent's call";
  if (tool !== undefined && own.some((each) => (each.tool_name ?? tool) !== tool))
    return 'it was signed for another tool';
  const isOtherThanJudged = verdict.tool_params_sha256 !== null && verdict.tool_params_sha256 !== params;
  if (statement.decision === 'approve' && params !== undefined && isOtherThanJudged)
    return 'the rows say that another request ran than the one that was judged';
  const ran = own.filter((each) => each === decided || ['ran', 'outcome'].includes(saysOf(eventOf(each))));
  for (const each of ran) {
    const why = entryFault(each);
    if (why) return `the row ${eventOf(each)} proves nothing: ${why}`;
    if (tool !== undefined && each.tool_name === null)
      return `of the row ${eventOf(each)} it is not told which tool ran`;
    if (params === undefined || statement.decision === 'deny') continue;
    if (each.tool_params_sha256 === null) return `of the row ${eventOf(each)} it is not told which request ran`;
    if (each.tool_params_sha256 !== params) return 'the rows say that another request ran than the signed one';
  }
  if (decided.authorized !== (eventOf(decided) === 'hil.approved'))
    return 'the row says another outcome of the decision than its kind';
  if (statement.decision !== 'modify' || statement.modification_diff_digest === undefined) return null;
  if (asked !== statement.original_payload_digest) return 'it was signed for a change of another request';
  for (const { policy_decision: told } of own.filter((each) => each === decided || eventOf(each) === 'hil.modified')) {
    if (
      told?.modification_diff === undefined ||
      canonicalDigest(told.modification_diff) !== statement.modification_diff_digest
    )
      return 'it was signed for another change of the call';
    if (
      told.original_payload_digest !== statement.original_payload_digest ||
      told.reviewed_payload_digest !== statement.payload_digest ||
      told.candidate_execution_payload_digest !== statement.payload_digest
    )
      return 'the rows say another request than the one that was signed';
  }
  return null;
}

/** The rows that say what the approver was shown: that of the decision, and that of the review. */
const shownIn = (row: LedgerEntry, rows: readonly LedgerEntry[]): readonly JsonObject[] =>
  [row, createdIn(rows)].map((each) => each?.policy_decision ?? {});
const createdIn = (rows: readonly LedgerEntry[]) => rows.find((each) => eventOf(each) === 'hil.created');

/** Why a row is not about the call of the decision's row; `null` when it is. */
const belongsTo = (each: LedgerEntry, { correlation_id, tenant }: LedgerEntry): string | null =>
  each.correlation_id === correlation_id && each.tenant === tenant ? null : 'it is about another call';

/** Why a statement is not about the call of its row; `null` when it is. */
function otherThan({ statement }: PasskeyApproval, row: LedgerEntry, rows: readonly LedgerEntry[]): string | null {
  const told = row.policy_decision ?? {};
  if (statement.correlation_id !== row.correlation_id) return 'it was signed for another call';
  if (statement.pending_id !== told.pending_id) return 'it was signed for another row';
  if (statement.tenant !== row.tenant) return 'it was signed in another tenant';
  if (statement.approver !== told.decided_by) return 'it was signed by another approver than the row names';
  const event = eventOf(row);
  const denies = statement.decision === 'deny';
  // A changed call that may not run is denied although its approver agreed.
  const modifies = statement.decision === 'modify';
  if (modifies !== (told.decision === 'modify')) return 'it was signed for another change of the call';
  if (!modifies && denies !== (event === 'hil.denied')) return 'it was signed for another decision';
  const [verdict, another] = rows.filter(isVerdict);
  if (!verdict) return 'the row of the verdict is missing, which says what was asked and which rules judged it';
  if (another) return 'the call has several verdicts';
  for (const each of [verdict, createdIn(rows)]) {
    const why = each && (entryFault(each) ?? belongsTo(each, row));
    if (why) return `the row ${eventOf(each)} proves nothing: ${why}`;
  }
  const shown = shownIn(row, rows);
  const judged = typeof verdict.payload_sha256 === 'string' ? [`sha256:${verdict.payload_sha256}`] : [];
  const [asked = null, ...others] = new Set([...judged, ...shown.flatMap((each) => each.payload_digest ?? [])]);
  if (others.length > 0) return 'the rows of the call are about different requests';
  const ran = modifies ? told.reviewed_payload_digest : asked;
  if (statement.payload_digest !== ran) return 'it was signed for another request';
  for (const { sandbox_report_digest: report, row_digest } of shown) {
    if (report !== undefined && statement.sandbox_report_digest !== report)
      return 'it was signed for another report of the sandbox';
    if (row_digest !== undefined && statement.row_digest !== row_digest)
      return 'it was signed for a row that showed the call in another way';
  }
  const namesCall = [statement.agent_id, statement.tool, statement.tool_params_sha256].every((of) => of !== undefined);
  if (!namesCall && shown.some(({ row_digest }) => row_digest !== undefined))
    return 'what was signed does not name the call, as the rows of this Gate do';
  const why = toldOtherwise(statement, { decided: row, verdict, asked, rows });
  if (why) return why;
  const bundle = verdict.policy_decision?.policy_bundle;
  const rules = bundle !== null && typeof bundle === 'object' && !Array.isArray(bundle) ? bundle.hash_sha256 : null;
  return statement.policy_bundle_sha256 === (rules ?? null) ? null : 'it was signed for a call that other rules judged';
}
