import type { JsonObject } from '../../contracts/json.js';
import { type LifecycleEvent, type Notice, NOTIFICATION_CONTRACT } from '../../contracts/notification.js';
import { shortened } from '../text.js';
import { mailText, plainText } from './escaping.js';
import { linesOf, type Places } from './lines.js';
import { incidentsOf, titleOf } from './notice.js';

const HEADLINE = 512;
/** Longest summary of an event of PagerDuty. */
const SUMMARY = 1_024;

const headlineOf = (notice: Notice): string =>
  notice.test || notice.deleted
    ? titleOf(notice)
    : `${titleOf(notice)}: ${plainText(notice.tool)} by ${plainText(notice.agent_id)}`;

/** What a webhook receives (`gate.hil-notification-lifecycle/v1`). */
export function webhookEvent(notice: Notice, { approve, deny }: Places): LifecycleEvent {
  const { phase, status, notification_id, pending_id, correlation_id, agent_id, method, tenant } = notice;
  return {
    contract: NOTIFICATION_CONTRACT,
    schema_version: 1,
    event: 'hil_notification',
    ...(notice.test && { test: notice.test }),
    ...(notice.rehearsal && { rehearsal: notice.rehearsal }),
    ...(notice.modified && { modified: notice.modified }),
    phase,
    status,
    notification_id,
    dedup_key: pending_id,
    headline: headlineOf(notice).slice(0, HEADLINE).toWellFormed(),
    pending_id,
    correlation_id,
    agent_id,
    method,
    tool: notice.tool,
    tenant,
    state_namespace: notice.state_namespace,
    created_at: notice.created_at,
    decided_at: notice.decided_at,
    ...(approve !== undefined && { approve_url: approve }),
    ...(deny !== undefined && { deny_url: deny }),
  };
}

/** Events of PagerDuty's Events API v2: an incident for each row and for each of its escalations, which end with it. */
export const pagerDutyEvents = (notice: Notice, places: Places, routingKey: string): JsonObject[] =>
  incidentsOf(notice).map((incident) =>
    pagerDutyEvent(notice, places, { routing_key: routingKey, dedup_key: incident }),
  );

function pagerDutyEvent(notice: Notice, { open }: Places, event: JsonObject): JsonObject {
  if (notice.phase === 'resolve') return { ...event, event_action: 'resolve' };
  return {
    ...event,
    event_action: 'trigger',
    payload: {
      summary: headlineOf(notice).slice(0, SUMMARY).toWellFormed(),
      source: 'gate',
      severity: pagerSeverityOf(notice),
      timestamp: notice.created_at,
      custom_details: Object.fromEntries(linesOf(notice).map(([name, text]) => [name, plainText(text)])),
    },
    ...(open !== undefined && { links: [{ href: open, text: 'Open in console' }] }),
  };
}

const pagerSeverityOf = ({ test, escalated, severity }: Notice): string => {
  if (test) return 'info';
  return escalated || severity === 'destructive' ? 'critical' : 'warning';
};

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** How much of a tool's name the subject of a mail has: it stands whole in the mail. */
const SUBJECT_TOOL = 60;
/** What opens or closes a quotation, or looks as if it did. */
const QUOTATION_MARKS: ReadonlySet<string> = new Set('"\u201c\u201d\u201e\u201f\u2033\u2036\u301d\u301e\u301f\uff02');

/**
 * By which mails are told apart in a list: Gate's own words, how severe the predicted effect is, the beginning of the tool's name, in quotation
 * marks that it cannot close, and the number of the call.
 */
function subjectOf(notice: Notice): string {
  const title = `Gate: ${titleOf(notice)}`;
  const call = `(${notice.correlation_id})`;
  if (notice.test || notice.deleted) return `${title} ${call}`;
  const severity = notice.severity === null ? '' : `, ${notice.severity}`;
  const name = Array.from(mailText(notice.tool), (one) => (QUOTATION_MARKS.has(one) ? "'" : one)).join('');
  return `${title}${severity}: "${shortened(name, SUBJECT_TOOL)}" ${call}`;
}

/** A mail in plain text. */
export const mailOf = (notice: Notice, { open, approve, deny }: Places): MailText => ({
  subject: subjectOf(notice),
  text: [
    `${titleOf(notice)}.`,
    '',
    ...linesOf(notice).map(([name, text]) => `${name}: ${mailText(text)}`),
    '',
    ...(open === undefined ? [] : [`Open in console: ${open}`]),
    ...(approve === undefined ? [] : [`Approve in console: ${approve}`]),
    ...(deny === undefined ? [] : [`Deny in console: ${deny}`]),
    '',
  ].join('\n'),
});
