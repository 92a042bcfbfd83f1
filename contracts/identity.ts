import { z } from 'zod';
import { decoyAction, decoyKind } from './decoy-kinds.js';
import { CALL_STATES } from './call.js';
import { envelopeShape, scopeList } from './scopes.js';
import { label } from './label.js';
import { toolName } from './storable.js';
import { attestationRequest } from './verified-attestation.js';

export { label };

// Control characters as ranges, not as a class of Unicode: not every reader of an OpenAPI document knows those.
// oxlint-disable-next-line no-control-regex
const NO_CONTROL_CHARACTERS = /^[^\u0000-\u001f\u007f-\u009f]*$/;
/** Of why something is revoked, stopped or let go, in characters. */
export const LONGEST_STANDING_REASON = 512;
/** Why something is revoked, stopped or let go, or a tenant comes or goes. */
export const standingReason = z
  .string()
  .trim()
  .min(1)
  .max(LONGEST_STANDING_REASON)
  .regex(NO_CONTROL_CHARACTERS, 'must not hold control characters')
  .refine((text) => text.isWellFormed(), 'must not hold half of a surrogate pair');
const reason = standingReason;
/** Most teams of one person that count. */
export const MOST_TEAMS = 16;
/** A team that agents and upstreams belong to: a group of the provider of the console's people, by the name that it has there. */
export const ownerTeam = z
  .string()
  .regex(/^[ -+\--~]{1,64}$/, 'must be of 1 to 64 printable characters of ASCII, without a comma')
  .refine((text) => text === text.trim(), 'must not begin or end with a space');
const instant = z.iso.datetime();
const hex64 = z.string().regex(/^[0-9a-f]{64}$/);

/** Longer is a code of its own. */
export const SVID_TTL_SECONDS = { min: 60, max: 3_600 } as const;
const svidTtl = z.number().int().min(SVID_TTL_SECONDS.min).default(SVID_TTL_SECONDS.max);

/** Body of `POST /enrollments`: the agent that may have a first certificate. */
export const enrollmentRequest = z.strictObject({
  tenant: label,
  agent_name: label,
  /** How long the token may be used. */
  ttl_seconds: z.number().int().min(60).max(86_400).default(3_600),
});

/** The token is shown this once. */
export const enrollment = z.strictObject({ agent_id: z.uuid(), token: z.string(), expires_at: instant });

/** Body of `POST /enrollments/svid`. Which agent it is says the token. */
export const enrollmentSvidRequest = z.strictObject({ csr_pem: z.string().min(1), ttl_seconds: svidTtl });

/** Body of `POST /svid`. */
export const svidRequest = z.strictObject({
  tenant: label,
  agent_name: label,
  csr_pem: z.string().min(1),
  ttl_seconds: svidTtl,
  /** For a challenge that was opened for this request. */
  attestation: attestationRequest.optional(),
});

/** Body of the proxy's `POST /svid/renew`, from an agent: which one it is says its certificate. */
export const svidRenewal = z.strictObject({
  csr_pem: z.string().min(1),
  ttl_seconds: svidTtl,
  attestation: attestationRequest.optional(),
});

/** Body of identity's `POST /svid/renew`: what the agent asked, and the certificate that the proxy saw. */
export const svidRenewRequest = svidRenewal.extend({
  agent_spiffe: z.string().min(1).max(512),
  credential_fingerprint: hex64,
  public_key_sha256: hex64,
});
export type SvidRenewRequest = z.infer<typeof svidRenewRequest>;

export const issuedSvid = z.strictObject({
  id: z.uuid(),
  spiffe_id: z.string(),
  cert_pem: z.string(),
  ca_cert_pem: z.string(),
  not_before: instant,
  not_after: instant,
});

export type IssuedSvid = z.infer<typeof issuedSvid>;

export const WORKLOAD_TTL_SECONDS = { min: 60, max: 1_800, usual: 1_800 } as const;

/** Body of `POST /workload-svid`: a service asks for its own next certificate. Which one it is says the connection. */
export const workloadSvidRequest = z.strictObject({
  /** The same id and request bring the same certificate again. */
  request_id: z.uuid(),
  csr_pem: z.string().min(1),
  ttl_seconds: z.number().int().min(WORKLOAD_TTL_SECONDS.min).default(WORKLOAD_TTL_SECONDS.usual),
});
export type WorkloadSvidRequest = z.input<typeof workloadSvidRequest>;

export const workloadSvid = issuedSvid.extend({
  request_id: z.uuid(),
  /** The number of this certificate among those of its workload. */
  generation: z.number().int(),
});
export type WorkloadSvid = z.infer<typeof workloadSvid>;

/** A process of Gate, and the certificate with which it may ask for its first one. */
const pinnedWorkload = z.strictObject({
  name: label,
  /** As whom its peers see it; two processes may be one service. */
  service: label,
  /** SHA-256 of the certificate (DER). */
  bootstrap_sha256: hex64,
});
export type PinnedWorkload = z.infer<typeof pinnedWorkload>;

/** The file of `GATE_IDENTITY_WORKLOADS_FILE`. */
export const pinnedWorkloads = z.strictObject({ workloads: z.array(pinnedWorkload) });

export const workloadRecovery = z.strictObject({
  service: z.string(),
  recovery_generation: z.number().int(),
  /** Null where none counted any more. */
  revoked_svid_id: z.uuid().nullable(),
});

/** Body of `POST /revoke`: one certificate by id or serial, all of an agent, or a grant. */
export const revokeRequest = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('svid'), svid_id: z.string().min(1).max(64), reason: reason.optional() }),
  z.strictObject({ kind: z.literal('agent'), agent_id: z.uuid(), reason: reason.optional() }),
  z.strictObject({ kind: z.literal('grant'), jti: z.string().min(1).max(128), reason: reason.optional() }),
]);

export const revoked = z.strictObject({
  kind: z.enum(['svid', 'agent', 'grant']),
  id: z.string(),
  /** Null for a certificate that had ended by itself. */
  revoked_at: instant.nullable(),
  /** Certificates that counted until now. */
  revoked_svids: z.number().int().optional(),
});

export const svidRecoveryRequest = z.strictObject({ reason });
export const svidRecovery = z.strictObject({
  agent_id: z.uuid(),
  recovery_generation: z.number().int(),
  revoked_svids: z.number().int(),
  svid_bootstrap_state: z.literal('recovery'),
});

/** What an agent may do: everything that policy lets it, nothing until somebody lifts it, or nothing ever again. */
export const agentState = z.enum(['active', 'suspended', 'decommissioned']);
export type AgentState = z.infer<typeof agentState>;

/** While it stands, every call of the agent that policy would let run waits for a person. */
export const forceHil = z.strictObject({
  expires_at: instant,
  reason: z.string(),
  applied_at: instant,
  /** Who set it. */
  actor: z.string(),
});

/** An agent as the registry has it. */
export const agentRecord = z.strictObject({
  id: z.uuid(),
  tenant: label,
  agent_name: label,
  state: agentState,
  created_by_sub: z.string(),
  created_at: instant,
  /** When its state, or what else stands here, changed last; null where it never did. */
  state_changed_at: instant.nullable(),
  state_changed_by: z.string().nullable(),
  /** Of the last change of its state. */
  reason: z.string().nullable(),
  /**
   * Whether it may have a first certificate of identity: `available` where it never had one; `retired` once it had; `recovery` where what it had was
   * taken back, as by a stop: once it is active, a new token lets it have a first one again.
   */
  svid_bootstrap_state: z.enum(['available', 'retired', 'recovery']),
  /** While it is stopped, the report of what was running then (`GET /stops/reports/{id}`). */
  report_id: z.uuid().nullable(),
  force_hil: forceHil.nullable(),
  /** The team whose it is; who is of that may narrow and suspend it. Null where nobody said so. */
  owner_team: ownerTeam.nullable(),
  description: z.string().nullable(),
  /** The version of the SDK with which it passed its cases last, and when an administrator certified that. */
  certified_at_version: z.string().nullable(),
  certified_at: instant.nullable(),
  /** What people may delegate to it; nothing where both are empty. */
  ...envelopeShape,
  /** With what it may attest; with any kind of evidence where there is none. */
  attestation_kinds_accepted: z.array(z.string()),
  /** Somebody asked for the end of its suspension; somebody else confirms it, until then. */
  release: z
    .strictObject({ requested_by: z.string(), requested_at: instant, reason: z.string().nullable(), until: instant })
    .nullable(),
});
export type AgentRecord = z.infer<typeof agentRecord>;
/** A release that somebody asked for. */
export const agentRelease = agentRecord.extend({
  /** Whether somebody else is known who could confirm it: another operator, or whoever signs in where the console vouches for people. */
  somebody_else: z.boolean(),
});
/** Answer of `POST /agents/{id}/unsuspend`: asked for, or done. */
export const agentReleased = agentRelease.partial({ somebody_else: true });
export type AgentReleased = z.infer<typeof agentReleased>;

/** What an agent is for. */
const agentDescription = z
  .string()
  .trim()
  .min(1)
  .max(1_024)
  .regex(NO_CONTROL_CHARACTERS, 'must not hold control characters')
  .refine((text) => text.isWellFormed(), 'must not hold half of a surrogate pair');
/** Body of `POST /agents/{id}/owner-team`. */
export const ownerTeamChange = z.strictObject({ owner_team: ownerTeam, reason: reason.optional() });
/** Body of `POST /agents/{id}/description`; null takes it away. */
export const descriptionChange = z.strictObject({
  description: agentDescription.nullable(),
  reason: reason.optional(),
});

const shortText = z.string().min(1).max(128).regex(NO_CONTROL_CHARACTERS, 'must not hold control characters');
const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
/** A case that an agent was put through, and what came of it. */
const certificationCase = z.strictObject({
  id: shortText,
  category: shortText,
  expected: shortText,
  observed: shortText,
  passed: z.boolean(),
});
/** Body of `POST /agents/{id}/certification`: what an agent passed. */
export const certificationRequest = z.strictObject({
  sdk_version: shortText,
  proxy_url: z.string().min(1).max(2_048).regex(NO_CONTROL_CHARACTERS, 'must not hold control characters'),
  /** Of the catalogue of cases. */
  catalog_sha256: digest,
  cases: z.array(certificationCase).max(1_000),
  total: z.number().int(),
  passed: z.number().int(),
});
export type CertificationRequest = z.infer<typeof certificationRequest>;
/** What is signed of it. */
export const agentCertificate = certificationRequest.extend({
  schema: z.literal('gate.agent-certificate/v1'),
  agent_id: z.uuid(),
  tenant: label,
  agent_name: label,
  certified_at: instant,
});
export type AgentCertificate = z.infer<typeof agentCertificate>;
/** Answer of `POST /agents/{id}/certification`. */
export const certifiedAgent = z.strictObject({
  certificate: agentCertificate,
  certificate_sha256: digest,
  /** By the key of tokens, over `gate.agent-certificate/1`, a line feed and the RFC 8785 form of the certificate. */
  signature: z.strictObject({ algorithm: z.literal('Ed25519'), key_id: z.string(), value: z.string() }),
});
export type CertifiedAgent = z.infer<typeof certifiedAgent>;

/** A name under which certificates were issued, and that no agent has. */
export const orphan = z.strictObject({ agent_name: z.string(), last_seen: instant, svid_count: z.number().int() });
export type OrphanRecord = z.infer<typeof orphan>;
export const orphansQuery = z.strictObject({ tenant: label });
/** Most of one answer. */
export const ORPHANS_LISTED = 1_000;

/** Body of `POST /agents`: an agent that may be stopped by its name, whoever issues what it comes with. */
export const agentRegistration = z.strictObject({
  tenant: label,
  agent_name: label,
  /** Who is no administrator says a team of theirs. */
  owner_team: ownerTeam.optional(),
  description: agentDescription.optional(),
  scope_envelope: scopeList.default([]),
  yellow_envelope: scopeList.default([]),
});
export const agentsQuery = z.strictObject({
  tenant: label,
  state: agentState.optional(),
  agent_name: label.optional(),
  owner_team: ownerTeam.optional(),
  /** The name behind which the answer begins: it has 1,000 agents at most, by their names. */
  after: label.optional(),
});
/** Most agents of one answer. */
export const AGENTS_LISTED = 1_000;

/** Body of each change of what an agent may do. */
export const standingChange = z.strictObject({ reason: reason.optional() });
/** Body of `POST /agents/{id}/containment`. */
export const containmentRequest = z.strictObject({
  reason,
  /** How long it stands; `GATE_IDENTITY_FORCE_HIL_TTL_SECS` if absent. */
  ttl_seconds: z.number().int().min(60).max(604_800).optional(),
});
export const containment = z.strictObject({ force_hil: forceHil.nullable() });
export type Containment = z.infer<typeof containment>;

/** A tool that nobody of a tenant may use, or a tenant of which nobody may do anything, until two people lift that. */
export const stopRecord = z.strictObject({
  id: z.uuid(),
  tenant: label,
  /** Null for the tenant whole. */
  tool: toolName.nullable(),
  state: z.enum(['suspended', 'active']),
  changed_at: instant,
  changed_by: z.string(),
  reason: z.string().nullable(),
  /** While it is stopped, as of an agent. */
  report_id: agentRecord.shape.report_id,
  /** Somebody asked for its end; somebody else confirms it, until then. */
  release: agentRecord.shape.release,
});
export type StopRecord = z.infer<typeof stopRecord>;
/** A release of a tool or a tenant that somebody asked for. */
export const stopRelease = stopRecord.extend({ somebody_else: agentRelease.shape.somebody_else });
/** Answer of `POST /stops/{id}/release`: asked for, or done. */
export const stopReleased = stopRelease.partial({ somebody_else: true });
export type StopReleased = z.infer<typeof stopReleased>;
/** Body of `POST /stops`: without a tool, the tenant whole. */
export const stopRequest = z.strictObject({ tenant: label, tool: toolName.optional(), reason });
export const stopsQuery = z.strictObject({
  tenant: label,
  state: stopRecord.shape.state.optional(),
  /** The id behind which the answer begins: it has 1,000 at most, by their ids. */
  after: z.uuid().optional(),
});
/** Most stops of one answer. */
export const STOPS_LISTED = 1_000;

const micros = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const setBudget = {
  /** In micro-units of the currency, for a month in UTC; 0 lets nothing through. Absent: no limit. */
  budget_micros: micros.optional(),
  updated_at: instant.optional(),
  updated_by: z.string().optional(),
  reason: z.string().optional(),
};
/** Answer of `GET` and `POST /tenants/{tenant}/budget`: what the tenant may spend, and each agent of it for which somebody said so. */
export const tenantBudget = z.strictObject({
  tenant: z.string(),
  ...setBudget,
  agents: z.array(z.strictObject({ agent_name: z.string(), ...setBudget })),
});
export type TenantBudget = z.infer<typeof tenantBudget>;
/** Body of `POST /tenants/{tenant}/budget`. */
export const budgetChange = z.strictObject({
  /** An integer, or null to take the limit away. Anything else is `budget_invalid`. */
  budget_micros: z.unknown().optional(),
  /** Of one agent; without it, of the tenant whole. */
  agent_name: label.optional(),
  reason: reason.optional(),
});
export const budgetMicros = micros.nullable();
export const ofTenantPath = z.strictObject({ tenant: label });
/** Most agents of a tenant that have a budget of their own. */
export const AGENT_BUDGETS_MOST = 1_000;

/** Query of `GET /revocation/list`: the number up to which the caller knows all. */
export const revocationQuery = z.strictObject({ after: z.coerce.number().int().min(0).default(0) });

export const revocationContent = z.strictObject({
  trust_domain: z.string(),
  /** The list has what was taken back after this number… */
  after: z.number().int(),
  /** The digest of all that came onto the list up to `after`; `null` where the number is none of this store's. */
  after_history: hex64.nullable(),
  /** …up to this one, and nothing of it is left out. */
  generation: z.number().int(),
  /** The same digest up to `generation`: two stores that have it have the same list. */
  history: hex64,
  /** The number now: where it is greater, there is more. */
  latest: z.number().int(),
  generated_at: instant,
  /** From then on nobody knows what else was taken back. */
  expires_at: instant,
  /** Agents all of whose certificates were taken back in the last hour or so: every connection of theirs that is open ends. */
  agents: z.array(z.strictObject({ tenant: z.string(), agent_name: z.string(), revoked_at: instant })),
  /** Agents whose standing changed, as it is now. */
  standings: z.array(
    z.strictObject({
      tenant: z.string(),
      agent_name: z.string(),
      state: agentState,
      /** Until then every call waits for a person. */
      force_hil_until: instant.nullable(),
      /** Grows with every change of this agent. */
      changed_at: instant,
    }),
  ),
  /** Tools and tenants that were stopped, or let go again, as it is now; absent where there are none, as for who does not know of them yet. */
  stops: z
    .array(
      z.strictObject({
        tenant: z.string(),
        /** Null for the tenant whole. */
        tool: z.string().nullable(),
        state: stopRecord.shape.state,
        /** The tenant was offboarded: it is let go by nobody. */
        offboarded: z.literal(true).optional(),
        /** Grows with every change of this one. */
        changed_at: instant,
      }),
    )
    .optional(),
  /** Budgets that were set, or taken away, as they are now; absent where there are none, as for who does not know of them yet. */
  budgets: z
    .array(
      z.strictObject({
        tenant: z.string(),
        /** Null for the tenant whole. */
        agent_name: z.string().nullable(),
        /** Null: no limit any more. */
        budget_micros: z.number().int().min(0).nullable(),
        /** Grows with every change of this one. */
        changed_at: instant,
      }),
    )
    .optional(),
  /** Decoys that were set, or taken away, as they are now; absent where there are none, as for who does not know of them yet. */
  decoys: z
    .array(
      z.strictObject({
        id: z.uuid(),
        /** `*`: of everybody. */
        tenant: z.string(),
        name: z.string(),
        kind: decoyKind,
        /** Of kind `value`. */
        value: z.string().nullable(),
        advertised: z.boolean(),
        action: decoyAction,
        schema_json: z.string().nullable(),
        description: z.string().nullable(),
        retired: z.literal(true).optional(),
        /** Grows with every change of this one. */
        changed_at: instant,
      }),
    )
    .optional(),
  /** Upstreams that somebody vouched for, or retired, as they are now; absent where there are none, as for who does not know of them yet. */
  upstreams: z
    .array(
      z.strictObject({
        id: z.uuid(),
        tenant: z.string(),
        name: z.string(),
        url: z.string(),
        tls_pin: z.string().nullable(),
        spiffe_id: z.string().nullable(),
        retired: z.literal(true).optional(),
        /** Grows with every change of this one. */
        changed_at: instant,
      }),
    )
    .optional(),
  /** Grants that were taken back before their end; absent where there are none, as for who does not know of them yet. */
  grants: z.array(z.strictObject({ jti: z.uuid(), exp: instant })).optional(),
  svids: z.array(
    z.strictObject({
      svid_id: z.uuid(),
      serial: z.string(),
      spiffe_id: z.string(),
      credential_fingerprint: hex64,
      not_after: instant,
      why: z.enum(['revoked', 'superseded']),
      /** From then on the certificate counts no more. */
      refused_from: instant,
    }),
  ),
});
export type RevocationContent = z.infer<typeof revocationContent>;

export const caSignature = z.strictObject({
  algorithm: z.literal('ES256'),
  /** SHA-256 of the public key of the CA (SPKI DER). */
  key_id: hex64,
  /** r and s of RFC 7518 3.4, in base64url. */
  value: z.string(),
});
export type CaSignature = z.infer<typeof caSignature>;

/** What was taken back, under a signature of the CA. */
export const revocationList = revocationContent.extend({ signature: caSignature });
export type RevocationList = z.infer<typeof revocationList>;

/**
 * A call that a stop met: `was` is what it was then, everything else as it was looked at. Its times are by the clocks of the proxies and workers that wrote
 * them; `was` compares those with the time of the stop, which is by identity's.
 */
export const stopCall = z.strictObject({
  correlation_id: z.string().min(1).max(64),
  agent: z.string().max(256),
  tool: z.string().max(256),
  contract: z.string().max(64),
  /**
   * `running`: let through, and not ended; `parked`: it waited for a person; `judged`: it had no verdict yet; `started`: it came after the stop, to a
   * proxy that had not heard of it.
   */
  was: z.enum(['running', 'parked', 'judged', 'started']),
  state: z.enum(CALL_STATES),
  received_at: instant,
  /** Since when it is in that state. */
  state_since: instant,
  /** Of the call as it was asked for. */
  digest: z.string().max(128),
  params_sha256: hex64,
  pending_id: z.string().max(64).nullable(),
  outcome: z
    .strictObject({
      stage: z.string().max(32),
      code: z.string().max(64).nullable(),
      at: instant,
      result_sha256: hex64.nullable(),
    })
    .nullable(),
});
export type StopCall = z.infer<typeof stopCall>;

/** Most calls that a report has; how many others there were, it says. */
export const STOP_CALLS_TOLD = 5_000;
/** Body of `POST /stops/reports/{id}/calls`, from a proxy. */
export const stopCalls = z.strictObject({
  /** When the calls were looked at, by the clock of the proxy that tells them. */
  looked_at: instant,
  calls: z.array(stopCall).max(STOP_CALLS_TOLD),
  left_out: z.number().int().min(0),
});
export type StopCalls = z.infer<typeof stopCalls>;

const stopped = z.strictObject({
  kind: z.enum(['agent', 'tool', 'tenant']),
  /** Of the agent, or of the stop. */
  id: z.uuid(),
  /** The agent or the tool; null for the tenant whole. */
  name: z.string().nullable(),
});
const stopCounts = z.strictObject({
  running: z.number().int(),
  parked: z.number().int(),
  judged: z.number().int(),
  started: z.number().int(),
  /** Calls that the report does not list. */
  left_out: z.number().int(),
});

/** Agents of `not_taken_back`, and rows of each. */
export const NOT_TAKEN_BACK_LISTED = 100;
/** What was running when something was stopped. */
export const stopReportContent = z.strictObject({
  schema: z.literal('gate.stop-report/1'),
  id: z.uuid(),
  trust_domain: z.string(),
  tenant: z.string(),
  stopped,
  /** By the clock of identity. */
  stopped_at: instant,
  stopped_by: z.string(),
  reason: z.string().nullable(),
  /** The certificates of agents that were taken back with it. */
  certificates_revoked: z.number().int(),
  /** What the stop could not take back, by agent, since somebody edited these rows in the store; absent where there was nothing. */
  not_taken_back: z
    .array(z.strictObject({ agent: z.string(), rows: z.array(z.string()) }))
    .max(NOT_TAKEN_BACK_LISTED)
    .optional(),
  /** When a proxy looked at the calls, by its own clock: a moment before `made_at`, so the two say how far the clocks are apart. */
  looked_at: instant,
  counts: stopCounts,
  calls: z.array(stopCall),
  /** By the clock of identity. */
  made_at: instant,
});
export type StopReportContent = z.infer<typeof stopReportContent>;
/** The same under a signature of the CA. */
export const stopReport = stopReportContent.extend({ signature: caSignature });
export type StopReport = z.infer<typeof stopReport>;

/** Of which a proxy says what was running. */
export const dueStopReport = z.strictObject({
  id: z.uuid(),
  tenant: z.string(),
  kind: stopped.shape.kind,
  name: stopped.shape.name,
  stopped_at: instant,
});
export type DueStopReport = z.infer<typeof dueStopReport>;

/** A report as it is listed. */
export const keptStopReport = z.strictObject({
  id: z.uuid(),
  tenant: z.string(),
  stopped,
  stopped_at: instant,
  stopped_by: z.string(),
  reason: z.string().nullable(),
  /** `taking-back`: certificates are still being taken back; `due`: no proxy has said yet what was running. */
  state: z.enum(['taking-back', 'due', 'made']),
  certificates_revoked: z.number().int(),
  made_at: instant.nullable(),
  /** SHA-256 of its RFC 8785 form, as the row in the ledger has it; null until it is made. */
  report_sha256: hex64.nullable(),
});
export type KeptStopReport = z.infer<typeof keptStopReport>;
/** Answer of `GET /stops/reports/{id}`. */
export const stopReportAnswer = keptStopReport.extend({ report: stopReport.nullable() });
export type StopReportAnswer = z.infer<typeof stopReportAnswer>;
export const stopReportsQuery = z.strictObject({
  tenant: label,
  /** Only those of before this time. */
  before: instant.optional(),
});
/** Most reports of one answer. */
export const STOP_REPORTS_LISTED = 100;

/** A bundle of SPIFFE: a JWK set with two members of its own. */
export const spiffeBundle = z.strictObject({
  keys: z.array(
    z.discriminatedUnion('use', [
      z.strictObject({
        use: z.literal('x509-svid'),
        kty: z.string(),
        crv: z.string(),
        x: z.string(),
        y: z.string(),
        x5c: z.array(z.string()).length(1),
      }),
      z.strictObject({ use: z.literal('jwt-svid'), kty: z.string(), crv: z.string(), x: z.string(), kid: z.string() }),
    ]),
  ),
  spiffe_sequence: z.number().int(),
  spiffe_refresh_hint: z.number().int(),
});
export type SpiffeBundle = z.infer<typeof spiffeBundle>;

/** RFC 7517: the keys of grants and tokens. */
export const jwks = z.strictObject({
  keys: z.array(
    z.strictObject({
      kty: z.literal('OKP'),
      crv: z.literal('Ed25519'),
      x: z.string(),
      kid: z.string(),
      use: z.literal('sig'),
      alg: z.literal('EdDSA'),
    }),
  ),
});

/** What a key of identity signs. */
export const keyUse = z.enum(['certificates', 'tokens']);
export type KeyUse = z.infer<typeof keyUse>;

/** A key with which identity signs, or will. */
export const identityKey = z.strictObject({
  /** SHA-256 of the public key of a CA, or the `kid` of tokens. */
  id: z.string(),
  use: keyUse,
  /** It is in the trust bundle; it signs; everything that it signed still counts; it counts no more. */
  state: z.enum(['announced', 'signing', 'retiring', 'withdrawn']),
  /** The certificate of a CA, or the public key of tokens. */
  public_pem: z.string(),
  /** Whether it is the key of the settings. */
  configured: z.boolean(),
  request_id: z.uuid().nullable(),
  announced_at: instant,
  signs_from: instant,
  retired_at: instant.nullable(),
  withdrawn_from: instant.nullable(),
  by: z.string(),
});
export type IdentityKeyRecord = z.infer<typeof identityKey>;
/** Answer of `GET /keys`: none where no key of the settings was ever replaced. */
export const identityKeys = z.strictObject({ keys: z.array(identityKey) });
/** Body of `POST /keys/rotations`; the same `request_id` again is the same rotation. */
export const keyRotation = z.strictObject({
  request_id: z.uuid(),
  use: keyUse,
  /** Until when the key before counts at least, for what it signed elsewhere. Must be said of the CA of the settings. */
  old_until: instant.optional(),
  reason: reason.optional(),
});
