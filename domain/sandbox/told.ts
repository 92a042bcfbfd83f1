import type { PendingRequest } from '../../contracts/review.js';
import { textsIn } from '../texts-in.js';

const UNDONE: Readonly<Record<string, string>> = { yes: 'can be undone', no: 'cannot be undone' };

/** What the sandbox predicts of a call that waits, in one line: "destructive: delete file `accounts.db` (cannot be undone)". */
export function predictionOf(row: Pick<PendingRequest, 'sandbox_report'>): string {
  const predicted = predictedOf(row);
  return row.sandbox_report && predicted !== null ? `${row.sandbox_report.severity}: ${predicted}` : 'no report';
}

/** The same beside its severity; `null` without a report. */
export function predictedOf({ sandbox_report: report }: Pick<PendingRequest, 'sandbox_report'>): string | null {
  if (!report) return null;
  const { operation_class, summary, reversible } = report;
  const undone = typeof reversible === 'string' ? UNDONE[reversible] : undefined;
  const said = typeof summary === 'string' ? summary : operation_class;
  return `${said}${undone === undefined ? '' : ` (${undone})`}`;
}

/** Why, where the whole report is shown. */
export const reasonsOf = ({ sandbox_report: report }: Pick<PendingRequest, 'sandbox_report'>): readonly string[] =>
  textsIn(report?.['reasons']);

/** Whether other arguments run than were asked for. The digest outlives the change itself, which is deleted with the request. */
export const wasChanged = ({
  modification_diff: diff,
  reviewed_payload_digest: changed,
}: Pick<PendingRequest, 'modification_diff' | 'reviewed_payload_digest'>): boolean => Boolean(diff ?? changed);

/** Stands beside a prediction of a call that was changed: nobody predicted what runs. */
export const AS_ASKED = 'this is of the call as its agent asked for it, before the changes';
