import { toolOf } from '../../contracts/call-methods.js';
import type { PendingRequest, PendingSummary } from '../../contracts/review.js';
import { predictedOf } from '../sandbox/told.js';
import { isRehearsal } from './rehearsal.js';
import { standingOf } from '../decision/quorum.js';
import { deadlineOf } from '../decision/transitions.js';

/** What a list says of a prediction; `null` where its report has no such line. */
export const predictedIn = (report: PendingRequest['sandbox_report']): string | null =>
  typeof report?.['summary'] === 'string' ? predictedOf({ sandbox_report: report }) : null;

type Made =
  | 'rehearsal'
  | 'tool'
  | 'expires_at'
  | 'approvals_count'
  | 'severity'
  | 'predicted'
  | 'operation_class'
  | 'projected_cost_micros';
/** What of a row a list is made of. */
export type Summarized = Pick<
  PendingRequest,
  Exclude<keyof PendingSummary, Made> | 'agent_spiffe' | 'request_payload' | 'approvals' | 'sandbox_report'
> & { readonly projected_cost_micros?: unknown };

/** A row in the form of a list. Nothing of it needs the payload: the tool's name is in the minimized one. */
export const summaryOf = (row: Summarized): PendingSummary => ({
  id: row.id,
  correlation_id: row.correlation_id,
  agent_id: row.agent_id,
  rehearsal: isRehearsal(row),
  method: row.method,
  tool: toolOf(row),
  risk_summary: row.risk_summary,
  status: row.status,
  created_at: row.created_at,
  ttl_seconds: row.ttl_seconds,
  expires_at: new Date(deadlineOf(row)).toISOString(),
  approval_tier: row.approval_tier,
  required_approvers: row.required_approvers ?? 1,
  approvals_count: standingOf(row.approvals).length,
  assigned_to: row.assigned_to ?? null,
  escalation_pool: row.escalation_pool ?? null,
  escalated_at: row.escalated_at ?? null,
  severity: row.sandbox_report?.severity ?? null,
  predicted: predictedIn(row.sandbox_report),
  operation_class: row.sandbox_report?.operation_class ?? null,
  projected_cost_micros: typeof row.projected_cost_micros === 'number' ? row.projected_cost_micros : null,
  decided_at: row.decided_at,
  decided_by: row.decided_by,
  decided_via: row.decided_via,
  tenant: row.tenant,
  state_namespace: row.state_namespace,
});
