import { z } from 'zod';
import { tenantName } from './erasure.js';
import { ledgerEntry } from './ledger.js';
import { storableString } from './storable.js';

export const caseStatus = z.enum(['open', 'contained', 'closed']);
export type CaseStatus = z.infer<typeof caseStatus>;
/** The severity of an incident, which sets the deadline for the report to the authority (docs/architecture/ledger-reads.md#cases). */
export const caseSeverity = z.enum(['serious', 'death', 'critical_infra']);
export type CaseSeverity = z.infer<typeof caseSeverity>;

/** Any RFC 3339 time; stored in the chain's spelling. */
const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text).toISOString());
const actor = storableString(1, 256);
const agentIds = z.array(storableString(1, 256)).max(1000);
const correlationIds = z.array(storableString(1, 64)).max(1000);

export const caseEvent = z.object({ at: z.string(), kind: z.string(), actor: z.string(), detail: z.string() });
export type CaseEvent = z.infer<typeof caseEvent>;

export const incidentCase = z.object({
  id: z.uuid(),
  /** Absent in a case from before cases had one. */
  tenant: tenantName.optional(),
  title: z.string(),
  status: caseStatus,
  created_at: z.string(),
  updated_at: z.string(),
  agent_ids: z.array(z.string()),
  correlation_ids: z.array(z.string()),
  timeline: z.array(caseEvent),
  severity: caseSeverity.optional(),
  regulatory_deadline: z.string().optional(),
});
export type IncidentCase = z.infer<typeof incidentCase>;

/** Names one sending of a form: whoever sends the same again, because no answer came, under the same id, has done it once. */
const requestId = z.uuid().optional();
export const LONGEST_TITLE = 200;
export const LONGEST_CASE_NOTE = 2_000;
/** `actor` is the person behind the calling service, such as an operator of the console. Without it, the service is the actor. */
export const openCase = z.object({
  request_id: requestId,
  title: storableString(1, LONGEST_TITLE),
  agent_ids: agentIds,
  correlation_ids: correlationIds,
  actor: actor.optional(),
});
export const addToTimeline = z.object({
  request_id: requestId,
  at: time,
  kind: storableString(1, 64),
  actor,
  detail: storableString(0, LONGEST_CASE_NOTE),
});
export const attachToCase = z.object({
  agent_ids: agentIds,
  correlation_ids: correlationIds,
  actor: actor.optional(),
});
/** The domain checks the values, because each fault has its own error code. */
export const setCaseStatus = z.object({ status: z.string(), actor: actor.optional() });
export const classifyCase = z.object({ severity: z.string(), actor: actor.optional() });
export const caseClassification = z.object({ severity: caseSeverity, regulatory_deadline: z.string() });
export const caseWithEvidence = z.object({ case: incidentCase, evidence: z.array(ledgerEntry) });
export type CaseWithEvidence = z.infer<typeof caseWithEvidence>;

/** The body sent to the authority's webhook, with the same bytes at every attempt. */
export interface AuthorityNotification {
  readonly framework: 'eu_ai_act_art_73';
  readonly notification_id: string;
  readonly case_id: string;
  readonly severity: CaseSeverity;
  readonly regulatory_deadline: string;
  readonly classified_at: string;
}

export const silenceEntry = z.object({
  agent_id: z.string(),
  reason: z.string(),
  source: z.string(),
  created_at: z.string(),
  created_by: z.string(),
});
export type SilenceEntry = z.infer<typeof silenceEntry>;
/** An agent whose silence is expected. */
export const allowSilence = z.object({
  agent_id: storableString(1, 256),
  reason: storableString(0, 512),
  source: storableString(0, 128),
});
