import { toolOf } from '../../contracts/call-methods.js';
import type { Notice, NoticeKind, NotificationPhase, NotificationStatus } from '../../contracts/notification.js';
import type { PendingRequest } from '../../contracts/review.js';
import { standingOf } from '../decision/quorum.js';
import { isRehearsal, REHEARSAL } from '../review/rehearsal.js';
import { wasChanged } from '../sandbox/told.js';
import { deadlineOf, escalationTimes, isSettled, statusTold } from '../decision/transitions.js';

const PHASE_OF = {
  trigger: 'trigger',
  approval: 'update',
  escalation: 'update',
  resolve: 'resolve',
} as const satisfies Record<NoticeKind, NotificationPhase>;

/** The place of a message among those of its row on one channel: an earlier one is sent first. */
export function ordinalOf(notice: Notice): number {
  return {
    trigger: 0,
    approval: notice.approvals,
    escalation: FIRST_ESCALATION - 1 + escalationsIn(notice),
    resolve: LAST_PLACE,
  }[notice.kind];
}
/** That of the first escalation; those between it and the last are escalations. */
export const FIRST_ESCALATION = 100;
/** That of how a row ended, whichever Gate stored it. No other message has it. */
export const LAST_PLACE = 1_000;

/** What a message is that an earlier Gate stored, which did not say so: by its phase and its place. */
export const kindOfEarlier = (phase: NotificationPhase, ordinal: number): NoticeKind =>
  phase === 'update' ? (ordinal < FIRST_ESCALATION ? 'approval' : 'escalation') : phase;

/** How many escalations of its row a message tells. One of an earlier Gate does not count them. */
const escalationsIn = ({ escalated, escalations = 1 }: Notice): number => (escalated ? escalations : 0);
const escalationsTold = (known: readonly Notice[]): number => Math.max(0, ...known.map(escalationsIn));

/** Whether the message is the first that tells of an escalation of the row. */
export const isEscalation = (notice: Notice, known: readonly Notice[]): boolean =>
  escalationsIn(notice) > escalationsTold(known);

/** What tells an escalation from the ones before it. */
const escalationName = (count: number): string => `escalated${count === 1 ? '' : `-${count}`}`;

/**
 * The incidents of a pager that a message is about. An escalation is one of its own, for a pager alerts nobody of what happens to one that is
 * open; the end of the row is that of them all.
 */
export function incidentsOf(notice: Notice): readonly string[] {
  const { pending_id, kind } = notice;
  const named = (count: number): string => `${pending_id}:${escalationName(count)}`;
  if (kind === 'resolve')
    return [pending_id, ...Array.from({ length: escalationsIn(notice) }, (_, index) => named(index + 1))];
  return [kind === 'escalation' ? named(escalationsIn(notice)) : pending_id];
}

/** The name of a message among those of its row, which receivers see. What it is stands in its `kind`. */
const nameOf = ({ status, approvals }: PendingRequest, kind: NoticeKind, escalations: number): string =>
  ({
    trigger: 'trigger',
    approval: `update:approval-${approvals?.length ?? 0}`,
    escalation: `update:${escalationName(escalations)}`,
    resolve: `resolve:${status}`,
  })[kind];

function lapsedIn({ approvals = [] }: PendingRequest): Pick<Notice, 'lapsed'> {
  const lapsed = approvals.length - standingOf(approvals).length;
  return lapsed > 0 ? { lapsed } : {};
}

/** Of how many people a message says that they have approved. By its `approvals`, with those that lapsed, it is told from others of its row. */
export const approvedBy = ({ approvals, lapsed = 0 }: Notice): number => approvals - lapsed;

const of = (row: PendingRequest, kind: NoticeKind, escalations = escalationTimes(row).length): Notice => ({
  notification_id: `${row.id}:${nameOf(row, kind, escalations)}`,
  kind,
  phase: PHASE_OF[kind],
  status: row.status,
  pending_id: row.id,
  correlation_id: row.correlation_id,
  agent_id: row.agent_id,
  method: row.method,
  tool: toolOf(row),
  risk_summary: row.risk_summary,
  severity: row.sandbox_report?.severity ?? null,
  tenant: row.tenant,
  state_namespace: row.state_namespace,
  created_at: row.created_at,
  expires_at: new Date(deadlineOf(row)).toISOString(),
  required_approvers: row.required_approvers ?? 1,
  approvals: row.approvals?.length ?? 0,
  ...lapsedIn(row),
  escalated: escalations > 0,
  ...(escalations > 1 && { escalations }),
  ...(isRehearsal(row) && { rehearsal: true as const }),
  decided_at: row.decided_at,
  decided_by: row.decided_by,
  decided_via: row.decided_via,
  ...(row.status === 'approved' && wasChanged(row) && { modified: true as const }),
  action_digest: row.original_payload_digest,
});

/**
 * What is to be told of a row, as it is shown, beyond what `known` already tells, the same for whoever asks: that it waits, that somebody else approved, that
 * nobody looks at it, how it ended. Of a row that was settled before anybody was told that it waits, nothing is.
 */
export function noticesOf(row: PendingRequest, known: readonly Notice[]): Notice[] {
  const isTold = known.some(({ phase }) => phase === 'trigger');
  if (isSettled(row.status))
    return isTold && !known.some(({ phase }) => phase === 'resolve') ? [of(row, 'resolve')] : [];
  if (row.status !== 'pending') return [];
  if (!isTold) return [of(row, 'trigger')];
  const approvals = row.approvals?.length ?? 0;
  return [
    ...escalationTimes(row)
      .map((_, index) => index + 1)
      .slice(escalationsTold(known))
      .map((count) => of(row, 'escalation', count)),
    ...(approvals > Math.max(...known.map((each) => each.approvals)) ? [of(row, 'approval')] : []),
  ];
}

/** A row as whoever just clicked sees it. */
export const noticeOfAnswer = (row: PendingRequest): Notice =>
  of(row, row.status === 'pending' ? 'approval' : 'resolve');

/** That a row ended without a decision and shows nothing any more, by what was told of it before; `null` where nothing was. */
export function goneNotice(
  known: readonly Notice[],
  status: Extract<NotificationStatus, 'withdrawn' | 'tampered'>,
): Notice | null {
  const last = known.at(-1);
  if (!last || known.some(({ phase }) => phase === 'resolve')) return null;
  return { ...last, ...ended(last.pending_id, status), status };
}

/** What makes another message of a row the one that it ended. */
const ended = (pendingId: string, how: string) =>
  ({
    notification_id: `${pendingId}:resolve:${how}`,
    kind: 'resolve',
    phase: PHASE_OF.resolve,
  }) as const;

/** The id of the message that tells how a row ended that is gone. */
export const lastIdOf = (pendingId: string): string => ended(pendingId, 'deleted').notification_id;

/** How a row ended that is about to be deleted. */
export type LastEnd = Pick<Notice, 'status' | 'decided_at' | 'decided_by' | 'decided_via' | 'modified'>;

/** The same where the row is deleted before people could be told. It outlives the row, so it has no text of the call. */
export const lastNotice = ({ action_digest: _gone, ...known }: Notice, end: LastEnd): Notice => ({
  ...known,
  ...end,
  ...ended(known.pending_id, 'deleted'),
  agent_id: '',
  tool: '',
  risk_summary: '',
  severity: null,
  deleted: true,
});

/** What a message says first, in Gate's words alone. */
export function titleOf(notice: Notice): string {
  const { kind, phase, required_approvers, test } = notice;
  if (test)
    return phase === 'resolve' ? 'TEST is over: no call waited' : 'TEST: no call waits, and there is nothing to decide';
  const title =
    phase !== 'update'
      ? notice.modified
        ? 'A call was approved with changed arguments'
        : TITLES[statusTold(notice)]
      : kind === 'escalation'
        ? 'A call still waits, and its time runs out'
        : `A call still waits: ${approvedBy(notice)} of ${required_approvers} people have approved`;
  return notice.rehearsal ? `${REHEARSAL.toUpperCase()}: ${title.charAt(0).toLowerCase()}${title.slice(1)}` : title;
}

const TITLES: Readonly<Record<NotificationStatus, string>> = {
  pending: 'A call waits for a decision',
  approved: 'A call was approved',
  denied: 'A call was denied',
  expired: 'A call expired: nobody decided in time, and nothing ran',
  aborted: 'A call was aborted: Gate closed it while it waited, and nothing ran',
  withdrawn: 'A call was withdrawn: nothing waits any more, and nothing ran',
  tampered: 'A review is not what Gate wrote: nobody can decide it',
};

/** How long a message of a test says that its call is open. */
const TEST_OPEN_MS = 60_000;

/** What a test of the channels sends: a row that does not exist waits, and does not any more. */
export function noticesOfTest(id: string, tenant: string, nowMs: number): { trigger: Notice; resolve: Notice } {
  const trigger: Notice = {
    notification_id: `${id}:trigger`,
    kind: 'trigger',
    phase: PHASE_OF.trigger,
    status: 'pending',
    pending_id: id,
    correlation_id: id,
    agent_id: 'gate',
    method: 'tools/call',
    tool: 'a test of this channel',
    risk_summary: 'Somebody tests whether this channel is told of calls that wait. There is nothing to decide.',
    severity: null,
    tenant,
    state_namespace: 'operator',
    created_at: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + TEST_OPEN_MS).toISOString(),
    required_approvers: 1,
    approvals: 0,
    escalated: false,
    decided_at: null,
    decided_by: null,
    decided_via: null,
    test: true,
  };
  return {
    trigger,
    resolve: { ...trigger, ...ended(id, 'withdrawn'), status: 'withdrawn' },
  };
}
