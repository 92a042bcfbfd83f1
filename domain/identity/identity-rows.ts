import { EVERY_TENANT } from '../../contracts/decoys.js';
import type { EventKind } from '../../contracts/event-kinds.js';
import type { JsonObject } from '../../contracts/json.js';
import type { Measurement } from '../../contracts/attestation.js';
import type { StopReport } from '../../contracts/identity.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { fittingRow } from '../ledger/fitting-row.js';
import type { Decoy } from './decoys.js';
import type { RegisteredUpstream } from './upstreams.js';

/** Who writes the rows of certificates. */
export const IDENTITY_AGENT = 'gate-identity';

const KINDS = [
  'identity.svid_issued',
  'identity.svid_renewed',
  'svid.revoked',
  'agent.svid_recovery_opened',
  'agent.registered',
  'agent.suspended',
  'agent.unsuspend_requested',
  'agent.unsuspended',
  'agent.decommissioned',
  'agent.containment_set',
  'agent.containment_cleared',
  'agent.owner_team_transferred',
  'agent.description_changed',
  'agent.certified',
  'svid.workload_refreshed',
  'workload.svid_recovery_opened',
  'stop.set',
  'stop.release_requested',
  'stop.released',
  'stop.reported',
  'tenant.budget_changed',
  'decoy.registered',
  'decoy.retired',
  'upstream.registered',
  'upstream.retired',
  'tenant.operation_started',
  'tenant.operation_halted',
  'tenant.operation_retried',
  'tenant.operation_succeeded',
  'tenant.offboarded',
  'identity.grant_issued',
  'grant.revoked',
  'grant.auto_revoked',
  'agent.envelope_narrowed',
  'agent.envelope_widened',
  'attestation.measurement_approved',
  'attestation.measurement_retired',
  'attestation.enrollment_challenge_opened',
  'agent.attestation_kinds_changed',
  'identity.key_announced',
  'identity.key_signs',
  'identity.key_withdrawn',
  'tool_definition.pinned',
] as const satisfies readonly EventKind[];
export type IdentityEventKind = Exclude<
  (typeof KINDS)[number],
  | WorkloadEvent['kind']
  | StopEvent['kind']
  | TenantEvent['kind']
  | GrantEvent['kind']
  | KeyEvent['kind']
  | 'stop.reported'
  | 'tenant.budget_changed'
  | 'tool_definition.pinned'
  | DecoyEvent['kind']
  | UpstreamEvent['kind']
  | AttestationEvent['kind']
>;

/** What happened to a certificate, or to an agent that has none. */
export interface IdentityEvent {
  readonly kind: IdentityEventKind;
  /** What happened once: the same event always makes the same row. */
  readonly subject: string;
  readonly tenant: string;
  readonly agent: string;
  readonly agentId: string;
  /** Who did it: a person, or the agent itself by its SPIFFE id. */
  readonly by: string;
  readonly reason: string | null;
  readonly svid?: {
    readonly id: string;
    readonly spiffe: string;
    readonly serial: string;
    readonly fingerprint: string;
    readonly notAfterMs: number;
  };
  readonly priorSvidId?: string | null;
  readonly recoveryGeneration?: number;
  /** What the agent might do before and may do now. */
  readonly standing?: JsonObject;
  /** Beside the reason in the sidecar. */
  readonly content?: JsonObject;
  /** What is odd about it. */
  readonly signal?: 'uncertified_agent';
}

const WORDS: Readonly<Record<IdentityEventKind, string>> = {
  'identity.svid_issued': 'a first certificate',
  'identity.svid_renewed': 'the next certificate',
  'svid.revoked': 'a certificate was revoked',
  'agent.svid_recovery_opened': 'a recovery was opened',
  'agent.registered': 'the registration',
  'agent.suspended': 'the suspension',
  'agent.unsuspend_requested': 'somebody asked for the end of the suspension',
  'agent.unsuspended': 'the end of the suspension, by two people,',
  'agent.decommissioned': 'the end for good',
  'agent.containment_set': 'from now on a person decides about every call',
  'agent.containment_cleared': 'a person decides no more about every call',
  'agent.owner_team_transferred': 'another team has',
  'agent.description_changed': 'another description',
  'agent.certified': 'the certification',
  'agent.envelope_narrowed': 'less may be delegated to the agent: the envelope',
  'attestation.enrollment_challenge_opened': 'a challenge before a first certificate',
  'agent.attestation_kinds_changed': 'other kinds of attestation',
  'agent.envelope_widened': 'more may be delegated to the agent: the envelope',
};

type IdentityRow = NewLedgerRow & { readonly id: string };
const OF_IDENTITY = {
  agent_id: IDENTITY_AGENT,
  intent_category: 'Privileged Action',
  authorized: true,
  state_namespace: 'operator',
  source: 'identity',
} as const satisfies Partial<NewLedgerRow>;
/** A row of identity. Its id is made of what happened, so that it is appended once, however often it is sent. */
const rowOf = (
  kind: (typeof KINDS)[number],
  subject: string,
  row: Omit<NewLedgerRow, keyof typeof OF_IDENTITY | 'id' | 'method' | 'event_kind'>,
): IdentityRow =>
  fittingRow({
    id: uuidFromDigest('gate.identity-event', kind, subject),
    method: kind,
    event_kind: kind,
    ...OF_IDENTITY,
    ...row,
  });
type Payload = Pick<NewLedgerRow, 'payload_sha256' | 'payload_canonical_json'>;
const payloadOf = (text: string): Payload => ({ payload_sha256: sha256Hex(text), payload_canonical_json: text });
const reasonOf = (reason: string | null, content: JsonObject = {}): Payload =>
  reason === null && Object.keys(content).length === 0
    ? {}
    : payloadOf(canonicalJson({ ...content, ...(reason !== null && { reason }) }));
/** All rows of an agent have this one. */
const correlationOf = (agentId: string): string => uuidFromDigest('gate.identity-agent', agentId);

/** The row of an agent's event. */
export function identityRow(event: IdentityEvent): IdentityRow {
  const { kind, subject, tenant, agent, agentId, by, reason, svid, priorSvidId, recoveryGeneration } = event;
  const { standing, content, signal } = event;
  return rowOf(kind, subject, {
    reasoning: `${WORDS[kind]} of ${tenant}/${agent}`,
    policy_decision: {
      agent,
      agent_id: agentId,
      ...(svid && {
        svid_id: svid.id,
        serial: svid.serial,
        not_after: new Date(svid.notAfterMs).toISOString(),
      }),
      ...(priorSvidId !== undefined && { prior_svid_id: priorSvidId }),
      ...(recoveryGeneration !== undefined && { recovery_generation: recoveryGeneration }),
      ...standing,
    },
    correlation_id: correlationOf(agentId),
    tenant,
    actor_sub: by,
    ...(svid && { agent_spiffe: svid.spiffe, credential_fingerprint: svid.fingerprint }),
    ...(signal !== undefined && { signal }),
    ...reasonOf(reason, content),
  });
}

/** What happened to a grant. */
export interface GrantEvent {
  readonly kind: 'identity.grant_issued' | 'grant.revoked' | 'grant.auto_revoked';
  readonly subject: string;
  readonly jti: string;
  readonly tenant: string;
  readonly agent: string;
  readonly agentId: string;
  /** Who delegated, or who took it back. */
  readonly by: string;
  /** Where that person is known by an issuer, its name. */
  readonly idp?: string;
  /** The agent, without an instance, and the certificate by which it asked. */
  readonly spiffe?: string;
  readonly fingerprint?: string | null;
  readonly reason: string | null;
  readonly detail: JsonObject;
}

const GRANT_WORDS: Readonly<Record<GrantEvent['kind'], string>> = {
  'identity.grant_issued': 'a person delegated to',
  'grant.revoked': 'a grant was taken back of',
  'grant.auto_revoked': 'a grant ended by itself of',
};

/** The row of a grant. */
export function grantRow(event: GrantEvent): IdentityRow {
  const { kind, subject, jti, tenant, agent, agentId, by, reason, detail, ...more } = event;
  return rowOf(kind, subject, {
    reasoning: `${GRANT_WORDS[kind]} ${tenant}/${agent}`,
    policy_decision: { agent, agent_id: agentId, jti, ...detail },
    correlation_id: correlationOf(agentId),
    tenant,
    actor_sub: by,
    ...(more.idp !== undefined && { actor_idp: more.idp }),
    ...(more.spiffe !== undefined && { agent_spiffe: more.spiffe }),
    ...(more.fingerprint && { credential_fingerprint: more.fingerprint }),
    ...reasonOf(reason),
  });
}

/** What happened to the certificate of a service of Gate. */
export type WorkloadEvent = { readonly workload: string; readonly by: string } & (
  | {
      readonly kind: 'svid.workload_refreshed';
      readonly callerKind: 'bootstrap' | 'workload' | 'self';
      readonly generation: number;
      readonly ttlSeconds: number;
      readonly issuedMs: number;
      readonly svid: NonNullable<IdentityEvent['svid']>;
    }
  | {
      readonly kind: 'workload.svid_recovery_opened';
      readonly recoveryGeneration: number;
      readonly revokedSvidId: string | null;
      readonly reason: string | null;
    }
);

/** The row of a workload's event, of no tenant. */
export function workloadRow(event: WorkloadEvent): IdentityRow {
  const { kind, workload, by } = event;
  const common = { correlation_id: uuidFromDigest('gate.identity-workload', workload), actor_sub: by };
  if (kind === 'workload.svid_recovery_opened') {
    const { recoveryGeneration, revokedSvidId, reason } = event;
    return rowOf(kind, `${workload}/${recoveryGeneration}`, {
      ...common,
      reasoning: `a recovery of the service ${workload} was opened`,
      policy_decision: { workload, recovery_generation: recoveryGeneration, revoked_svid_id: revokedSvidId },
      ...reasonOf(reason),
    });
  }
  const { svid, callerKind, generation, ttlSeconds, issuedMs } = event;
  return rowOf(kind, svid.id, {
    ...common,
    reasoning: `the next certificate of the service ${workload}`,
    policy_decision: {
      workload,
      issued_id: svid.id,
      serial: svid.serial,
      caller_kind: callerKind,
      generation,
      ttl_seconds: ttlSeconds,
      issued_at: new Date(issuedMs).toISOString(),
      expires_at: new Date(svid.notAfterMs).toISOString(),
    },
    agent_spiffe: svid.spiffe,
    credential_fingerprint: svid.fingerprint,
  });
}

/** A tool or a tenant was stopped, or let go again. */
export interface StopEvent {
  readonly kind: 'stop.set' | 'stop.release_requested' | 'stop.released';
  readonly subject: string;
  readonly id: string;
  readonly tenant: string;
  /** `null`: the tenant whole. */
  readonly tool: string | null;
  readonly by: string;
  readonly reason: string | null;
  readonly detail: JsonObject;
}

const STOP_WORDS: Readonly<Record<StopEvent['kind'], string>> = {
  'stop.set': 'nobody may use any more',
  'stop.release_requested': 'somebody asked to let go',
  'stop.released': 'two people let go',
};

/** The row of a stop. */
export function stopRow({ kind, subject, id, tenant, tool, by, reason, detail }: StopEvent): IdentityRow {
  return rowOf(kind, subject, {
    reasoning: `${STOP_WORDS[kind]}: ${tool === null ? `tenant ${tenant}` : `the tool ${tool}`}`,
    policy_decision: { stop_id: id, tool, ...detail },
    correlation_id: id,
    tenant,
    actor_sub: by,
    ...reasonOf(reason),
  });
}

/** What a tenant, or an agent of it, may spend in a month was set, or the limit taken away. */
export interface BudgetEvent {
  readonly subject: string;
  readonly id: string;
  readonly tenant: string;
  /** `null`: the tenant whole. */
  readonly agent: string | null;
  readonly by: string;
  readonly reason: string | null;
  readonly detail: JsonObject;
}

/** The row of a budget. */
export function budgetRow({ subject, id, tenant, agent, by, reason, detail }: BudgetEvent): IdentityRow {
  const whose = agent === null ? `tenant ${tenant}` : `${tenant}/${agent}`;
  return rowOf('tenant.budget_changed', subject, {
    reasoning: `${detail['budget_micros'] === null ? 'the limit was taken off' : 'a new budget'}: ${whose}`,
    policy_decision: { ...(agent !== null && { agent }), ...detail },
    correlation_id: id,
    tenant,
    actor_sub: by,
    ...reasonOf(reason),
  });
}

/** A decoy was set, or taken away. */
export interface DecoyEvent {
  readonly kind: 'decoy.registered' | 'decoy.retired';
  readonly subject: string;
  readonly decoy: Decoy;
  readonly by: string;
  readonly reason: string | null;
  readonly detail: JsonObject;
}

/** The row of a decoy: what it is called, and never the value. */
export function decoyRow({ kind, subject, decoy, by, reason, detail }: DecoyEvent): IdentityRow {
  const { id, tenant, name, isAdvertised, action } = decoy;
  return rowOf(kind, subject, {
    reasoning: `${kind === 'decoy.registered' ? 'a new decoy' : 'a decoy was taken away'}: ${name}`,
    policy_decision: { decoy_id: id, name, kind: decoy.kind, advertised: isAdvertised, action, ...detail },
    correlation_id: id,
    ...(tenant !== EVERY_TENANT && { tenant }),
    actor_sub: by,
    ...reasonOf(reason),
  });
}

/** Somebody vouched for a server of tools, or nobody does any more. */
export interface UpstreamEvent {
  readonly kind: 'upstream.registered' | 'upstream.retired';
  readonly subject: string;
  readonly upstream: RegisteredUpstream;
  readonly by: string;
  readonly reason: string | null;
}

/** Somebody said that a platform may measure this, or that it may no more. */
export interface AttestationEvent {
  readonly kind: 'attestation.measurement_approved' | 'attestation.measurement_retired';
  readonly measurement: Measurement;
  readonly by: string;
  readonly reason: string | null;
}

/** The row of an upstream. */
export function upstreamRow({ kind, subject, upstream, by, reason }: UpstreamEvent): IdentityRow {
  const { id, tenant, name, url, tlsPin, spiffe, ownerTeam } = upstream;
  return rowOf(kind, subject, {
    reasoning: `${kind === 'upstream.registered' ? 'a new upstream' : 'an upstream was retired'}: ${name}`,
    policy_decision: { upstream_id: id, name, url, tls_pin: tlsPin, spiffe_id: spiffe, owner_team: ownerTeam },
    correlation_id: id,
    tenant,
    actor_sub: by,
    ...reasonOf(reason),
  });
}

/** The row of a measurement. */
export function attestationRow({ kind, measurement, by, reason }: AttestationEvent): IdentityRow {
  const { id, tenant, workload, signature, key_id: keyId } = measurement;
  const isApproved = kind === 'attestation.measurement_approved';
  return rowOf(kind, id, {
    reasoning: `${isApproved ? 'a measurement was approved' : 'the approval of a measurement was withdrawn'}: ${tenant}/${workload}`,
    policy_decision: {
      measurement_id: id,
      agent: workload,
      evidence_kind: measurement.evidence_kind,
      measurement_sha256: measurement.measurement_sha256,
      platform_issuer: measurement.platform_issuer,
      trust_anchor_id: measurement.trust_anchor_id,
      measurement_policy_version: measurement.measurement_policy_version,
      verifier_policy_version: measurement.verifier_policy_version,
      ...(isApproved && { signature, key_id: keyId }),
    },
    correlation_id: id,
    tenant,
    actor_sub: by,
    ...reasonOf(reason),
  });
}

/** What an agent saw of its tools first, or sees once they were let go. */
export interface ToolPinEvent {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly snapshot: string;
  readonly tools: number;
  readonly nowMs: number;
}

/** The row of a pin. The same tools may be pinned again after others: each time is a row. */
export function toolPinRow({ id, tenant, agent, snapshot, tools, nowMs }: ToolPinEvent): IdentityRow {
  return rowOf('tool_definition.pinned', `${id}/${snapshot}/${nowMs}`, {
    reasoning: `what ${agent} sees of its tools`,
    policy_decision: { agent, snapshot_sha256: snapshot, tools },
    correlation_id: id,
    tenant,
    actor_sub: 'system:proxy',
  });
}

/** A report of a stop, and its RFC 8785 form. */
export interface StopReportEvent {
  readonly report: StopReport;
  readonly text: string;
}

/** The row of a report; what it says is in the sidecar, unless that is too long. */
export function stopReportRow({ report, text }: StopReportEvent): IdentityRow {
  const { id, tenant, stopped, stopped_at, stopped_by, certificates_revoked, counts, signature } = report;
  const name = stopped.kind === 'tenant' ? `tenant ${tenant}` : `the ${stopped.kind} ${stopped.name}`;
  return rowOf('stop.reported', id, {
    reasoning: `what was running when ${name} was stopped`,
    policy_decision: {
      report_id: id,
      report_sha256: sha256Hex(text),
      stopped,
      stopped_at,
      certificates_revoked,
      counts,
      signature,
    },
    correlation_id: stopped.kind === 'agent' ? correlationOf(stopped.id) : stopped.id,
    tenant,
    actor_sub: stopped_by,
    ...payloadOf(text),
  });
}

/** A tenant comes or goes. */
export interface TenantEvent {
  readonly kind:
    | 'tenant.operation_started'
    | 'tenant.operation_halted'
    | 'tenant.operation_retried'
    | 'tenant.operation_succeeded'
    | 'tenant.offboarded';
  readonly subject: string;
  readonly operationId: string;
  readonly tenant: string;
  /** Whether the row is one of the tenant's, which its final export has and its tombstone hides. */
  readonly isOfTenant: boolean;
  readonly by: string;
  readonly reason: string | null;
  readonly detail: JsonObject;
}

const TENANT_WORDS: Readonly<Record<TenantEvent['kind'], string>> = {
  'tenant.operation_started': 'an operation began on',
  'tenant.operation_halted': 'a person has to look at the operation on',
  'tenant.operation_retried': 'a step is taken up again of the operation on',
  'tenant.operation_succeeded': 'the operation is done on',
  'tenant.offboarded': 'nobody is let in any more of',
};

/** The row of a tenant's event. */
export function tenantRow({
  kind,
  subject,
  operationId,
  tenant,
  isOfTenant,
  by,
  reason,
  detail,
}: TenantEvent): IdentityRow {
  return rowOf(kind, subject, {
    reasoning: `${TENANT_WORDS[kind]} tenant ${tenant}`,
    policy_decision: { operation_id: operationId, tenant, ...detail },
    correlation_id: operationId,
    ...(isOfTenant && { tenant }),
    actor_sub: by,
    ...reasonOf(reason),
  });
}

/** A key of identity went on to its next stage. */
export interface KeyEvent {
  readonly kind: 'identity.key_announced' | 'identity.key_signs' | 'identity.key_withdrawn';
  readonly id: string;
  readonly by: string;
  readonly reason: string | null;
  readonly detail: JsonObject;
}

const KEY_WORDS: Readonly<Record<KeyEvent['kind'], string>> = {
  'identity.key_announced': 'will sign',
  'identity.key_signs': 'signs from now on',
  'identity.key_withdrawn': 'counts no more',
};

/** The row of a key, of no tenant: each stage once. */
export function keyRow({ kind, id, by, reason, detail }: KeyEvent): IdentityRow {
  return rowOf(kind, id, {
    reasoning: `a key of identity ${KEY_WORDS[kind]}`,
    policy_decision: { key_id: id, ...detail },
    correlation_id: uuidFromDigest('gate.identity-key', id),
    actor_sub: by,
    ...reasonOf(reason),
  });
}

/** A row about an agent or a certificate, and about no call: what identity may append. */
export function isOfIdentity(row: unknown): boolean {
  const { method, event_kind: kind, agent_id: agent } = (row ?? {}) as Partial<NewLedgerRow>;
  return method === kind && KINDS.some((known) => known === kind) && agent === IDENTITY_AGENT;
}
