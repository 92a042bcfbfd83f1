/**
 * Ledger event kinds (spec section 6; ledger sheet 4.1). Gate's own rows carry the kind both as `method` and as `event_kind`.
 * `call.aborted`, `call.abandoned` and the `alarm.*` kinds are Gate's own: they close or flag a call that could not end normally.
 */
export const EVENT_KINDS = [
  'proxy.verdict',
  'brain.inspection',
  'policy.evaluated',
  'hil.created',
  'hil.approved',
  'hil.denied',
  'hil.expired',
  'hil.modified',
  'hil.vote',
  'hil.escalated',
  'hil.assigned',
  'upstream.outcome',
  'call.aborted',
  'call.abandoned',
  'alarm.forged_decision',
  'alarm.row_conflict',
  'alarm.reconciled',
  'alarm.row_refused',
  'alarm.call_stuck',
  'tool_definition.drifted',
  'tool_definition.accepted',
  'identity.svid_issued',
  'identity.grant_issued',
  'tenant.provisioned',
  'tenant.final_export',
  'tenant.tombstoned',
  'namespace.cleaned_up',
  'regulatory.exported',
  'chain.root_anchored',
  'active_agent.adjusted',
  'agent_silent',
  'behavior_drifted',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
