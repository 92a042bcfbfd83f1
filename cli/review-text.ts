import { toolOf } from '../contracts/call-methods.js';
import type { PendingRequest, ShownApproval } from '../contracts/review.js';
import { oneLine, printable } from '../domain/printable.js';
import { pathText } from '../domain/decision/argument-path.js';
import { changesTold } from '../domain/decision/modification.js';
import { isRehearsal, REHEARSAL, REHEARSAL_MEANS } from '../domain/review/rehearsal.js';
import { deadlineOf, escalationTimes } from '../domain/decision/transitions.js';
import { argumentsOf, sinceLastTold } from '../domain/review/since-last.js';
import { whyItWaits } from '../domain/review/why-it-waits.js';
import { orderedJson } from '../domain/shown-json.js';
import { AS_ASKED, predictionOf, reasonsOf, wasChanged } from '../domain/sandbox/told.js';
import { besideApproval, standingOf } from '../domain/decision/quorum.js';

/**
 * Everything an approver needs to see of a call, above all its arguments; then what is new in it. Texts of more than `longest` characters are
 * shortened, with their digest.
 */
export const details = (row: PendingRequest, longest?: number): string =>
  `${whatRuns(row, longest)}${whatChanged(row)}`;

/** What the call has other than the last such call. Nothing from a Gate that does not say so. */
const whatChanged = ({ since_last_call: last }: PendingRequest): string =>
  last === undefined
    ? ''
    : `since the last such call\n${sinceLastTold(last)
        .map((line) => `  ${oneLine(line)}\n`)
        .join('')}`;

function approvalText(approval: ShownApproval): string {
  const { by, reason } = approval;
  const mark = besideApproval(approval);
  return `${by}${mark === null ? '' : ` (${mark})`}${reason === undefined ? '' : `: ${reason}`}`;
}

/** What would run, and why it waits: who approves it has read this. */
export function whatRuns(row: PendingRequest, longest?: number): string {
  const shown = argumentsOf(row.request_payload);
  const decided = [row.decided_by && `by ${row.decided_by}`, row.decision_reason].filter(Boolean).join(': ');
  const { approvals = [], required_approvers: required = 1, modification_diff: diff } = row;
  const escalated = escalationTimes(row).at(-1);
  const lines = {
    id: row.id,
    'correlation id': row.correlation_id,
    status:
      row.status === 'pending'
        ? `pending, expires ${expiry(row)}`
        : [outcomeOf(row), decided].filter(Boolean).join(' '),
    ...(isRehearsal(row) && { [REHEARSAL]: REHEARSAL_MEANS }),
    ...(row.assigned_to && { 'assigned to': row.assigned_to }),
    ...(escalated && { escalated: `nobody had decided by ${escalated}` }),
    ...(required > 1 && {
      approvals: `${standingOf(approvals).length} of ${required} ${approvals.map(approvalText).join(', ')}`.trim(),
    }),
    ...(required === 1 &&
      row.state_namespace === 'demo' &&
      row.approval_tier === 'strict' && { approvals: "a demonstration's call: one person is enough" }),
    agent: row.agent_id,
    tool: toolOf(row),
    why: whyItWaits(row),
    sandbox: [[predictionOf(row), ...reasonsOf(row)].join('; '), ...(wasChanged(row) ? [AS_ASKED] : [])],
  };
  const head = Object.entries(lines).flatMap(([name, value]) =>
    [value].flat().map((line, index) => `${(index === 0 ? name : '').padEnd(14)} ${oneLine(line)}\n`),
  );
  const changed = (diff?.replacements ?? []).map(
    ({ path, value }) => `changed to     ${oneLine(`${pathText(path)} = ${JSON.stringify(value)}`)}\n`,
  );
  return `${head.join('')}arguments\n${printable(orderedJson(shown ?? {}, longest))}\n${changed.join('')}`;
}

function outcomeOf(row: PendingRequest): string {
  if (row.status !== 'approved' || !wasChanged(row)) return row.status;
  return `approved with changes${row.modification_diff ? `: ${changesTold(row.modification_diff)};` : ''}`;
}

/** How long a row still waits. */
export const expiry = (row: Pick<PendingRequest, 'created_at' | 'ttl_seconds'>, nowMs = Date.now()): string => {
  const leftSecs = Math.round((deadlineOf(row) - nowMs) / 1000);
  if (leftSecs <= 0) return 'past';
  return leftSecs < 120 ? `in ${leftSecs} s` : `in ${Math.floor(leftSecs / 60)} min`;
};

/** A number of seconds as people say it. */
export const lasting = (secs: number | null): string => {
  if (secs === null) return '-';
  if (secs < 120) return `${Math.round(secs)} s`;
  return secs < 7_200 ? `${Math.round(secs / 60)} min` : `${Math.round(secs / 3_600)} h`;
};
