import type { PendingRequest } from '../../contracts/review.js';

const UNDONE: Readonly<Record<string, string>> = { yes: 'can be undone', no: 'cannot be undone' };

/** What the sandbox predicts of a call that waits, in one line: "destructive: delete file `accounts.db` (cannot be undone)". */
export function predictionOf({ sandbox_report: report }: Pick<PendingRequest, 'sandbox_report'>): string {
  if (!report) return 'no report';
  const { operation_class, severity, summary, reversible } = report;
  const undone = typeof reversible === 'string' ? UNDONE[reversible] : undefined;
  const said = typeof summary === 'string' ? summary : operation_class;
  return `${severity}: ${said}${undone === undefined ? '' : ` (${undone})`}`;
}

/** Why, where the whole report is shown. */
export const reasonsOf = ({ sandbox_report: report }: Pick<PendingRequest, 'sandbox_report'>): readonly string[] =>
  Array.isArray(report?.['reasons']) ? report['reasons'].filter((one) => typeof one === 'string') : [];
