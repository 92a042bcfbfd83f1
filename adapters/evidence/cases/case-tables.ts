import type { CaseEvent, CaseSeverity, CaseStatus } from '../../../contracts/cases.js';

export interface CaseTable {
  id: string;
  tenant: string | null;
  title: string;
  status: CaseStatus;
  severity: CaseSeverity | null;
  regulatory_deadline: string | null;
  /** JSON arrays of text, sorted. */
  agent_ids: string;
  correlation_ids: string;
  created_at: string;
  updated_at: string;
  version: number | string;
}
interface TimelineTable extends CaseEvent {
  case_id: string;
  version: number | string;
  /** Of the form that it was written by. */
  request_id: string | null;
}
export interface NotificationTable {
  id: string;
  case_id: string;
  severity: CaseSeverity;
  regulatory_deadline: string;
  classified_at: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number | string;
  next_attempt_at: string;
  last_error: string | null;
  delivered_at: string | null;
}
export interface CaseTables {
  cases: CaseTable;
  case_timeline: TimelineTable;
  authority_notifications: NotificationTable;
}
