import type { EventKind } from '../../contracts/event-kinds.js';
import { POLICY_ENGINE_AGENT } from '../../contracts/policy-library.js';
import { IDENTITY_AGENT } from '../identity/identity-rows.js';

/**
 * As whom Gate's services write rows of their own: alarms, changes of policies and of classes of tools, certificates, what the ledger did. No
 * agent is enrolled under such a name; one that has its certificate from elsewhere may have it.
 */
const SERVICES: ReadonlySet<string> = new Set([
  'gate-proxy',
  'gate-ledger',
  POLICY_ENGINE_AGENT,
  'gate-operator',
  IDENTITY_AGENT,
]);
/** Where a tenant's coming and leaving stands. */
const TENANT = 'tenant:';

/** Who the rows of a kind name: an agent, or what of Gate itself wrote them. */
const NAMES: Readonly<Record<EventKind, 'agent' | 'gate'>> = {
  'proxy.verdict': 'agent',
  'proxy.control': 'agent',
  'brain.inspection': 'agent',
  'policy.evaluated': 'agent',
  'hil.created': 'agent',
  'hil.approved': 'agent',
  'hil.denied': 'agent',
  'hil.expired': 'agent',
  'hil.modified': 'agent',
  'hil.vote': 'agent',
  'hil.escalated': 'agent',
  'hil.assigned': 'agent',
  'upstream.outcome': 'agent',
  'execution.completed': 'agent',
  'response.inspected': 'agent',
  'call.aborted': 'agent',
  'call.abandoned': 'agent',
  'callback.delivered': 'gate',
  'alarm.forged_decision': 'gate',
  'alarm.row_conflict': 'gate',
  'alarm.reconciled': 'gate',
  'alarm.row_refused': 'gate',
  'alarm.call_stuck': 'gate',
  'alarm.record_tampered': 'gate',
  'alarm.review_tampered': 'gate',
  'alarm.tool_classes_outdated': 'gate',
  'alarm.clock_apart': 'gate',
  'tool_definition.pinned': 'gate',
  'tool_definition.drifted': 'agent',
  'tool_definition.accepted': 'agent',
  'tool_class.set': 'gate',
  'tool_class.forgotten': 'gate',
  'tool_class.withdrawn': 'gate',
  'policy.created': 'gate',
  'policy.updated': 'gate',
  'policy.activated': 'gate',
  'policy.deactivated': 'gate',
  'policy.deleted': 'gate',
  'policy.installed_from_template': 'gate',
  'identity.svid_issued': 'gate',
  'identity.svid_renewed': 'gate',
  'svid.revoked': 'gate',
  'agent.svid_recovery_opened': 'gate',
  'agent.registered': 'gate',
  'agent.suspended': 'gate',
  'agent.unsuspend_requested': 'gate',
  'agent.unsuspended': 'gate',
  'agent.decommissioned': 'gate',
  'agent.containment_set': 'gate',
  'agent.containment_cleared': 'gate',
  'agent.owner_team_transferred': 'gate',
  'agent.description_changed': 'gate',
  'agent.certified': 'gate',
  'svid.workload_refreshed': 'gate',
  'workload.svid_recovery_opened': 'gate',
  'stop.set': 'gate',
  'stop.release_requested': 'gate',
  'stop.released': 'gate',
  'stop.reported': 'gate',
  'tenant.budget_changed': 'gate',
  'decoy.registered': 'gate',
  'decoy.retired': 'gate',
  'upstream.registered': 'gate',
  'upstream.retired': 'gate',
  'identity.key_announced': 'gate',
  'identity.key_signs': 'gate',
  'identity.key_withdrawn': 'gate',
  'signing_key.announced': 'gate',
  'signing_key.signs': 'gate',
  'signing_key.withdrawn': 'gate',
  'tenant.operation_started': 'gate',
  'tenant.operation_halted': 'gate',
  'tenant.operation_retried': 'gate',
  'tenant.operation_succeeded': 'gate',
  'tenant.offboarded': 'gate',
  'identity.grant_issued': 'gate',
  'grant.revoked': 'gate',
  'grant.auto_revoked': 'gate',
  'agent.envelope_narrowed': 'gate',
  'agent.envelope_widened': 'gate',
  'attestation.measurement_approved': 'gate',
  'attestation.measurement_retired': 'gate',
  'attestation.enrollment_challenge_opened': 'gate',
  'agent.attestation_kinds_changed': 'gate',
  'tenant.provisioned': 'gate',
  'tenant.final_export': 'gate',
  'tenant.tombstoned': 'gate',
  'namespace.cleaned_up': 'gate',
  'regulatory.exported': 'gate',
  'chain.root_anchored': 'gate',
  'active_agent.adjusted': 'gate',
  agent_silent: 'agent',
  behavior_drifted: 'agent',
};
const isOfGate = (method: string): boolean => Object.hasOwn(NAMES, method) && NAMES[method as EventKind] === 'gate';

export type Principal = 'agent' | 'service' | 'tenant';

const reserved = (name: string): Exclude<Principal, 'agent'> | null =>
  SERVICES.has(name) ? 'service' : name.startsWith(TENANT) ? 'tenant' : null;

/** Whether a name, in either case, is one under which Gate writes rows of its own: no agent is enrolled under it. */
export const isReservedPrincipal = (name: string): boolean => reserved(name.toLowerCase()) !== null;

/**
 * Who is behind rows, told by the name and the kinds of all of them that are known: an agent may have any name, so whoever is called
 * `gate-proxy` and has one row that names an agent is one.
 */
export const principalOf = (agentId: string, methods: Iterable<string>): Principal => {
  const own = reserved(agentId);
  return own !== null && [...methods].every(isOfGate) ? own : 'agent';
};
