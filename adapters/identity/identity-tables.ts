/** Postgres gives a bigint as text. */
type Count = number | string;

export interface IdentityTables {
  /** Rows that the ledger does not have yet; ids sort by time. */
  identity_outbox: { id: string; content: string; mac: string };
  identity_state: {
    id: number;
    revocation_generation: Count;
    bundle_sequence: Count;
    bundle_sha256: string;
    mac: string;
  };
  /** What came onto the list of revocations under each number. */
  identity_listings: {
    listed_generation: Count;
    /** The digest of the list up to this number. */
    history: string;
    /** The agent all of whose certificates were taken back; `null` for certificates alone. */
    tenant: string | null;
    agent_name: string | null;
    listed_ms: Count;
    mac: string;
  };
  identity_agents: {
    id: string;
    tenant: string;
    agent_name: string;
    /** `available` until the first certificate, then `retired`; `recovery` while another first one may be had. */
    svid_bootstrap_state: string;
    recovery_generation: Count;
    created_by_sub: string;
    created_ms: Count;
    /** Since its first certificate, or the first after a recovery. */
    renewals: Count;
    mac: string;
  };
  /** What people say of agents; by the agent's id. */
  identity_registry: {
    id: string;
    tenant: string;
    agent_name: string;
    owner_team: string | null;
    description: string | null;
    certified_at_version: string | null;
    certified_ms: Count | null;
    certificate_sha256: string | null;
    changed_ms: Count;
    /** How often it was changed. */
    registry_generation: Count;
    mac: string;
  };
  identity_enrollments: {
    token_sha256: string;
    agent_id: string;
    recovery_generation: Count;
    expires_ms: Count;
    created_by_sub: string;
    /** The request that used the token up. */
    intent_id: string | null;
    mac: string;
  };
  identity_intents: {
    id: string;
    agent_id: string;
    tenant: string;
    agent_name: string;
    csr_sha256: string;
    public_key_sha256: string;
    authority_kind: string;
    recovery_generation: Count;
    prior_svid_id: string | null;
    caller_spiffe: string | null;
    caller_fingerprint: string | null;
    /** `pending`, and then `issued`, `failed` or `interrupted`, which stay. */
    state: string;
    requested_ms: Count;
    mac: string;
  };
  /** The processes of Gate that ask for certificates of their own, by their names. */
  identity_workloads: {
    id: string;
    service: string;
    /** As of an agent: `available`, then `retired`; `recovery` while a bootstrap certificate that was used may be used once more. */
    bootstrap_state: string;
    /** The bootstrap certificate that was used last, also where its row in `identity_workload_svids` was removed. */
    bootstrap_sha256: string | null;
    recovery_generation: Count;
    svid_generation: Count;
    /** The request whose certificate counts. */
    current_id: string | null;
    mac: string;
  };
  /** What services asked for, and the certificate that came of it. */
  identity_workload_svids: {
    id: string;
    workload: string;
    service: string;
    csr_sha256: string;
    public_key_sha256: string;
    authority_kind: string;
    caller_fingerprint: string;
    prior_id: string | null;
    /** As of an intent. */
    state: string;
    requested_ms: Count;
    svid_id: string | null;
    svid_generation: Count | null;
    spiffe_id: string | null;
    serial: string | null;
    credential_fingerprint: string | null;
    cert_pem: string | null;
    not_before_ms: Count | null;
    not_after_ms: Count | null;
    superseded_ms: Count | null;
    revoked_ms: Count | null;
    revoked_by_sub: string | null;
    mac: string;
  };
  identity_svids: {
    id: string;
    agent_id: string;
    tenant: string;
    agent_name: string;
    spiffe_id: string;
    serial: string;
    credential_fingerprint: string;
    public_key_sha256: string;
    cert_pem: string;
    not_before_ms: Count;
    not_after_ms: Count;
    issuance_intent_id: string;
    superseded_ms: Count | null;
    superseded_by: string | null;
    revoked_ms: Count | null;
    revoked_by_sub: string | null;
    revoked_reason: string | null;
    /** The number of the revocation, or of the certificate that took its place. */
    listed_generation: Count | null;
    /** Since when it counts no more. */
    refused_from_ms: Count | null;
    mac: string;
  };
  /** Of the agents whose standing ever changed; by the agent's id. */
  identity_standings: {
    id: string;
    tenant: string;
    agent_name: string;
    /** `active`, `suspended` or `decommissioned`, which stays. */
    state: string;
    /** Grows with every change. */
    changed_ms: Count;
    state_changed_ms: Count | null;
    state_changed_by: string | null;
    state_reason: string | null;
    /** Until when every call waits for a person, and who said so. */
    hil_until_ms: Count | null;
    hil_applied_ms: Count | null;
    hil_by: string | null;
    hil_reason: string | null;
    /** Who asked for the end of the suspension. */
    release_ms: Count | null;
    release_by: string | null;
    release_reason: string | null;
    /** The number of its last change. */
    listed_generation: Count;
    mac: string;
  };
  /** What was running at each stop. */
  identity_stop_reports: {
    id: string;
    tenant: string;
    /** `agent`, `tool` or `tenant`. */
    kind: string;
    /** Of the agent, or of the stop. */
    stopped_id: string;
    /** The agent or the tool; `null`: the tenant whole. */
    name: string | null;
    stopped_ms: Count;
    stopped_by: string;
    reason: string | null;
    /** `taking-back`, `due`, or `made`, which stays. */
    state: string;
    /** Certificates that were taken back with it. */
    revoked_count: Count;
    made_ms: Count | null;
    report_sha256: string | null;
    /** The signed report, by whose digest its row is marked; until it is made, what its stop could not take back. */
    report: string | null;
    mac: string;
  };
  /** What may be delegated to agents that anything may be; by the agent's id. */
  identity_envelopes: {
    id: string;
    tenant: string;
    agent_name: string;
    /** JSON: a list of scopes. */
    scope_envelope: string;
    yellow_envelope: string;
    /** How often it was set. */
    envelope_generation: Count;
    changed_ms: Count;
    mac: string;
  };
  /** What was delegated; by the id that the grant has itself (`jti`). */
  identity_grants: {
    id: string;
    agent_id: string;
    tenant: string;
    agent_name: string;
    /** Without an instance. */
    agent_spiffe: string;
    /** The certificate by which the agent asked. */
    caller_fingerprint: string | null;
    /** Of what the token of the person signs; one token is for one grant. */
    id_token_sha256: string;
    human_sub: string;
    idp: string;
    /** JSON, as the next three. */
    amr: string;
    scope: string;
    yellow_scope: string;
    recurrence: string | null;
    max_count: Count | null;
    /** As proxies told it. */
    used_count: Count;
    issued_ms: Count;
    not_before_ms: Count | null;
    not_after_ms: Count | null;
    expires_ms: Count;
    /** `pending`, then `issued`, `failed` or `interrupted`; `issued` may become `used_up`, and either `revoked`. */
    state: string;
    revoked_ms: Count | null;
    revoked_by_sub: string | null;
    mac: string;
  };
  /** Grants that were taken back before their end, as the list of revocations has them, until a day after that. */
  identity_revoked_grants: {
    id: string;
    expires_ms: Count;
    changed_ms: Count;
    listed_generation: Count;
    mac: string;
  };
  /** Tokens that agents were given for other Gates. */
  identity_actor_tokens: {
    id: string;
    agent_id: string;
    tenant: string;
    agent_name: string;
    agent_spiffe: string;
    audience: string;
    operation: string;
    /** JSON. */
    scope: string;
    issued_ms: Count;
    expires_ms: Count;
    /** `pending`, `released`, `failed` or `interrupted`. */
    state: string;
    mac: string;
  };
  /** Tokens of other Gates that were used here. */
  identity_actor_uses: {
    id: string;
    issuer: string;
    jti: string;
    used_ms: Count;
    kept_until_ms: Count;
    mac: string;
  };
  /** What tokens of other Gates are verified with, as those said last; by their trust domains. */
  identity_peer_bundles: {
    id: string;
    bundle_sequence: Count;
    /** JSON. */
    content: string;
    /** Of the CAs of the settings that were trusted when it was asked for first. */
    pinned_sha256: string;
    fetched_ms: Count;
    mac: string;
  };
  /** What agents see of their tools, as it was reported last. */
  identity_tool_pins: {
    id: string;
    tenant: string;
    agent_name: string;
    /** `pinned` or `drifted`. */
    event: string;
    snapshot_sha256: string;
    /** JSON. */
    content: string;
    changed_ms: Count;
    mac: string;
  };
  /** The tools and tenants that somebody ever stopped. */
  identity_stops: {
    id: string;
    tenant: string;
    /** `null`: the tenant whole. */
    tool: string | null;
    /** `active` or `suspended`. */
    state: string;
    /** Grows with every change. */
    changed_ms: Count;
    state_changed_ms: Count | null;
    state_changed_by: string | null;
    state_reason: string | null;
    /** Who asked for its end. */
    release_ms: Count | null;
    release_by: string | null;
    release_reason: string | null;
    /** The number of its last change. */
    listed_generation: Count;
    mac: string;
  };
  /** What tenants and agents may spend in a month, where somebody ever said so. */
  identity_budgets: {
    id: string;
    tenant: string;
    /** `null`: the tenant whole. */
    agent_name: string | null;
    /** `null`: no limit any more. */
    budget_micros: Count | null;
    /** Grows with every change. */
    changed_ms: Count;
    set_ms: Count;
    set_by: string;
    reason: string | null;
    /** The number of its last change. */
    listed_generation: Count;
    mac: string;
  };
  /** What nobody should call or use; one that was taken away stays, as `retired`. */
  identity_decoys: {
    id: string;
    /** `*`: of everybody. */
    tenant: string;
    name: string;
    /** `tool` or `value`. */
    kind: string;
    decoy_value: string | null;
    /** `advertised`, `trap`, or `retired`. */
    state: string;
    /** `suspend`, `force_hil` or `none`. */
    action: string;
    schema_json: string | null;
    description: string | null;
    /** Grows with every change. */
    changed_ms: Count;
    set_ms: Count;
    set_by: string;
    reason: string | null;
    /** The number of its last change. */
    listed_generation: Count;
    mac: string;
  };
  /** The servers of tools that somebody vouched for; one that was retired stays. */
  identity_upstreams: {
    id: string;
    tenant: string;
    name: string;
    url: string;
    /** By which it is found; no two have one. */
    url_sha256: string;
    tls_pin: string | null;
    spiffe_id: string | null;
    owner_team: string | null;
    /** `active` or `retired`, which stays. */
    state: string;
    created_by_sub: string;
    created_ms: Count;
    retired_ms: Count | null;
    retired_by: string | null;
    /** Grows with every change. */
    changed_ms: Count;
    /** The number of its last change. */
    listed_generation: Count;
    mac: string;
  };
  /** How often the calls of an agent touched a decoy, as proxies told it. */
  identity_decoy_hits: {
    id: string;
    decoy_id: string;
    tenant: string;
    agent_name: string;
    hit_count: Count;
    first_ms: Count;
    last_ms: Count;
    /** Of the last call. */
    correlation_id: string;
    /** What was done to the agent then. */
    contained: string;
    mac: string;
  };
  /** What identity asked platforms, one for each agent and purpose. */
  identity_challenges: {
    id: string;
    agent_id: string;
    /** `runtime`: of its certificate; `enrollment`: before its first one. */
    purpose: string;
    request_id: string;
    nonce: string;
    /** JSON: what the answer has to be bound to. */
    expected: string;
    csr_sha256: string | null;
    recovery_generation: Count;
    opened_ms: Count;
    expires_ms: Count;
    opened_by_sub: string;
    /** The result, or the intent of the certificate, that used it up. */
    used_by: string | null;
    mac: string;
  };
  /** The last result of each agent. */
  identity_attestations: {
    id: string;
    agent_id: string;
    /** The certificate that it is bound to. */
    credential_fingerprint: string;
    /** JSON: the result. */
    content: string;
    mac: string;
  };
  /** What platforms may measure. */
  identity_measurements: {
    id: string;
    tenant: string;
    workload: string;
    evidence_kind: string;
    measurement_sha256: string;
    platform_issuer: string;
    trust_anchor_id: string;
    measurement_policy_version: string;
    verifier_policy_version: string;
    /** `approved`, or `retired`, which stays. */
    state: string;
    reason: string;
    approved_by_sub: string;
    approved_ms: Count;
    retired_ms: Count | null;
    retired_by_sub: string | null;
    signature: string;
    signing_key_id: string;
    mac: string;
  };
  /** What agents attest with that do not with any kind of evidence; by the agent's id. */
  identity_attestation_kinds: {
    id: string;
    /** JSON: a list; an empty one is any kind. */
    kinds: string;
    changed_ms: Count;
    mac: string;
  };
  /** The keys with which identity signs, where it ever had another one than that of its settings. */
  identity_signing_keys: {
    id: string;
    /** `certificates` or `tokens`. */
    key_use: string;
    /** `announced`, `signing`, `retiring`, `withdrawn`, in this order. */
    state: string;
    public_pem: string;
    /** `null` for the key of the settings, and for one that was withdrawn. */
    sealed_key: string | null;
    request_id: string | null;
    announced_ms: Count;
    signs_due_ms: Count;
    signed_ms: Count | null;
    retired_ms: Count | null;
    /** Until when the one before it stays at least. */
    old_until_ms: Count | null;
    withdraw_due_ms: Count | null;
    withdrawn_ms: Count | null;
    set_by: string;
    reason: string | null;
    mac: string;
  };
  /** Tenants that came or went; by their names. */
  identity_tenants: {
    id: string;
    /** `active`, or `offboarded`, which stays. */
    state: string;
    /** Grows with every change of the state. */
    tenant_generation: Count;
    /** The operation that changed it last. */
    operation_id: string;
    changed_ms: Count;
    /** Agents that its fence ended; `null` until all are. */
    ended_count: Count | null;
    mac: string;
  };
  /** What was begun with a tenant, and how far it is. */
  identity_tenant_operations: {
    id: string;
    tenant: string;
    kind: string;
    idempotency_key: string;
    state: string;
    /** The whole of it, with its steps, as JSON. */
    content: string;
    mac: string;
  };
}
