import type { Notice } from '../../contracts/notification.js';
import { createDecisionLinks, LINK_LIFE_SECONDS, redeemUrl } from '../review/decision-link.js';
import { REHEARSAL, REHEARSAL_MEANS } from '../review/rehearsal.js';
import { approvedBy } from './notice.js';
import { capitalized } from '../text.js';

/** Where a message leads. Each is absent where there is no such place. */
export interface Places {
  readonly open?: string;
  readonly approve?: string;
  readonly deny?: string;
}

/** Where the messages of a row lead: to the console, as long as the row waits. A test leads nowhere, nor does a row that is gone. The same notice leads to the same places. */
export function placesOf(consoleUrl: string | undefined, sessionKey: Uint8Array): (notice: Notice) => Places {
  if (consoleUrl === undefined) return () => ({});
  const base = consoleUrl.replace(/\/$/, '');
  const links = createDecisionLinks(sessionKey);
  return ({ pending_id, phase, created_at, expires_at, test, deleted }) => {
    if (test || deleted) return {};
    const open = `${base}/hil/${pending_id}`;
    if (phase === 'resolve') return { open };
    const latest = Date.parse(created_at) / 1000 + LINK_LIFE_SECONDS.most;
    const exp = Math.floor(Math.min(Date.parse(expires_at) / 1000, latest));
    const leadTo = (action: 'approve' | 'deny') => redeemUrl(base, links.tokenOf({ pending_id, action, exp }));
    return { open, approve: leadTo('approve'), deny: leadTo('deny') };
  };
}

/** The lines of a message: what Gate calls it, and a text of others that the channel must still escape. */
export function linesOf(notice: Notice): readonly (readonly [string, string])[] {
  const { tool, agent_id, risk_summary, severity, required_approvers, expires_at, correlation_id } = notice;
  if (notice.test)
    return [
      ['Test', risk_summary],
      ['Tenant', notice.tenant],
    ];
  if (notice.deleted)
    return [
      ['Tenant', notice.tenant],
      ...endOf(notice),
      ['Row', 'deleted with what it held of the call'],
      ['Call', correlation_id],
    ];
  return [
    ...(notice.rehearsal ? [[capitalized(REHEARSAL), REHEARSAL_MEANS] as const] : []),
    ['Tool', tool],
    ['Agent', agent_id],
    ['Tenant', notice.tenant],
    ['Why', risk_summary],
    ['Predicted effect', severity ?? 'no report'],
    ...(required_approvers > 1
      ? [['Approved by', `${approvedBy(notice)} of ${required_approvers} people`] as const]
      : []),
    ...(notice.phase === 'resolve' ? endOf(notice) : [['Open until', expires_at] as const]),
    ['Call', correlation_id],
  ];
}

const endOf = ({ decided_by, decided_via, decided_at }: Notice): readonly (readonly [string, string])[] =>
  decided_by === null || decided_at === null
    ? []
    : [['Decided', `${decided_by} by ${decided_via ?? 'unknown'} at ${decided_at}`]];
