import { type Migration, sql } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

/**
 * 0001: agents, the tokens for their first certificates, what was asked for, and every certificate that was issued
 * (docs/architecture/identity.md). An intent is unique by its request and by its key, so that neither is certified twice. `identity_state` has
 * the numbers that only grow. New tables; locks nothing that exists.
 */
const tables: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_state (
      id ${integer} not null primary key, revocation_generation ${integer} not null, bundle_sequence ${integer} not null,
      bundle_sha256 ${text} not null
    ) ${strict}`.execute(db);
    await sql`insert into identity_state (id, revocation_generation, bundle_sequence, bundle_sha256) values (1, 0, 0, '')
      on conflict do nothing`.execute(db);
    await sql`create table if not exists identity_agents (
      id ${text} not null primary key, tenant ${text} not null, agent_name ${text} not null,
      svid_bootstrap_state ${text} not null, recovery_generation ${integer} not null, created_by_sub ${text} not null,
      created_ms ${integer} not null, unique (tenant, agent_name)
    ) ${strict}`.execute(db);
    await sql`create table if not exists identity_enrollments (
      token_sha256 ${text} not null primary key, agent_id ${text} not null, recovery_generation ${integer} not null,
      expires_ms ${integer} not null, created_by_sub ${text} not null, intent_id ${text}, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_enrollments_agent on identity_enrollments (agent_id)`.execute(db);
    await sql`create table if not exists identity_intents (
      id ${text} not null primary key, agent_id ${text} not null, tenant ${text} not null, agent_name ${text} not null,
      csr_sha256 ${text} not null unique, public_key_sha256 ${text} not null unique, authority_kind ${text} not null,
      recovery_generation ${integer} not null, prior_svid_id ${text}, caller_spiffe ${text}, caller_fingerprint ${text},
      state ${text} not null, requested_ms ${integer} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_intents_state on identity_intents (state)`.execute(db);
    await sql`create table if not exists identity_svids (
      id ${text} not null primary key, agent_id ${text} not null, tenant ${text} not null, agent_name ${text} not null,
      spiffe_id ${text} not null unique, serial ${text} not null unique, credential_fingerprint ${text} not null unique,
      public_key_sha256 ${text} not null, cert_pem ${text} not null, not_before_ms ${integer} not null,
      not_after_ms ${integer} not null, issuance_intent_id ${text} not null unique, superseded_ms ${integer},
      superseded_by ${text}, revoked_ms ${integer}, revoked_by_sub ${text}, revoked_reason ${text}
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_svids_agent on identity_svids (agent_id, not_after_ms)`.execute(db);
    await sql`create index if not exists identity_svids_revoked on identity_svids (not_after_ms) where revoked_ms is not null`.execute(
      db,
    );
  },
};

/**
 * 0002: the number under which a certificate came onto the list of revocations, and when it counts no more, so that whoever asks gets only
 * what is new (docs/architecture/identity.md#revocation). Those revoked before are on the list under the number of now.
 */
const numberedRevocations: Migration = {
  async up(db) {
    const { integer } = dialectOf(db);
    for (const column of ['listed_generation', 'refused_from_ms'])
      if (!(await hasColumn(db, 'identity_svids', column)))
        await sql`alter table identity_svids add column ${sql.raw(column)} ${integer}`.execute(db);
    await sql`update identity_svids set refused_from_ms = revoked_ms,
        listed_generation = (select revocation_generation from identity_state where id = 1)
      where revoked_ms is not null and listed_generation is null`.execute(db);
    await sql`create index if not exists identity_svids_listed on identity_svids (listed_generation)
      where listed_generation is not null`.execute(db);
    await sql`drop index if exists identity_svids_revoked`.execute(db);
  },
};

/**
 * 0003: rows for the ledger, stored with what they tell of and sent from there (docs/architecture/identity.md#the-ledger), and how often an agent
 * renewed since a person let it in.
 */
const ledgerRows: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_outbox (
      id ${text} not null primary key, content ${text} not null
    ) ${strict}`.execute(db);
    if (!(await hasColumn(db, 'identity_agents', 'renewals')))
      await sql`alter table identity_agents add column renewals ${integer} not null default 0`.execute(db);
    await sql`create index if not exists identity_intents_agent on identity_intents (agent_id, requested_ms)`.execute(
      db,
    );
  },
};

/**
 * 0004: a mark on every row (docs/architecture/identity.md#marks). Rows without one would be as good as edited ones, so those are removed: no
 * released version wrote any, and their certificates count for an hour at most.
 */
const marks: Migration = {
  async up(db) {
    const { text } = dialectOf(db);
    if (await hasColumn(db, 'identity_outbox', 'mac')) return;
    for (const table of ['enrollments', 'svids', 'intents', 'agents', 'outbox'])
      await sql`delete from ${sql.table(`identity_${table}`)}`.execute(db);
    await sql`update identity_state set revocation_generation = 0, bundle_sequence = 0, bundle_sha256 = ''`.execute(db);
    // The one by which a run that was interrupted is told comes last.
    for (const table of ['state', 'agents', 'intents', 'svids', 'outbox'])
      if (!(await hasColumn(db, `identity_${table}`, 'mac')))
        await sql`alter table ${sql.table(`identity_${table}`)} add column mac ${text} not null default ''`.execute(db);
  },
};

/**
 * 0005: what came onto the list of revocations under each number, with a digest of all before it, by which a proxy tells a store that was put
 * back to an earlier day (docs/architecture/identity.md#revocation). Numbers that were given before have none. A new table.
 */
const listings: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_listings (
      listed_generation ${integer} not null primary key, history ${text} not null, listed_ms ${integer} not null,
      mac ${text} not null
    ) ${strict}`.execute(db);
  },
};

/**
 * 0006: the agent that was taken back whole, beside the number (docs/architecture/identity.md#revocation). Its mark covers that, so rows of before are
 * removed: proxies ask for all anew. A small table; locks it for a moment.
 */
const revokedAgents: Migration = {
  async up(db) {
    const { text } = dialectOf(db);
    if (!(await hasColumn(db, 'identity_listings', 'agent_name'))) {
      await sql`delete from identity_listings`.execute(db);
      // The one by which a run that was interrupted is told comes last.
      for (const column of ['tenant', 'agent_name'])
        if (!(await hasColumn(db, 'identity_listings', column)))
          await sql`alter table identity_listings add column ${sql.raw(column)} ${text}`.execute(db);
    }
    await sql`create index if not exists identity_listings_agents on identity_listings (listed_generation)
      where agent_name is not null`.execute(db);
  },
};

/**
 * 0007: certificates by their ends, so that what looks at all that have not ended passes over those of years. Locks: reads the table once.
 */
const ends: Migration = {
  async up(db) {
    await sql`create index if not exists identity_svids_ends on identity_svids (not_after_ms, id)`.execute(db);
  },
};

/**
 * 0009: what agents may do that somebody stopped, or did (docs/architecture/identity.md#standing). An agent without a row here may do what
 * policy lets it. A new table.
 */
const standings: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_standings (
      id ${text} not null primary key, tenant ${text} not null, agent_name ${text} not null, state ${text} not null,
      changed_ms ${integer} not null, state_changed_ms ${integer}, state_changed_by ${text}, state_reason ${text},
      hil_until_ms ${integer}, hil_applied_ms ${integer}, hil_by ${text}, hil_reason ${text},
      release_ms ${integer}, release_by ${text}, release_reason ${text},
      listed_generation ${integer} not null unique, mac ${text} not null
    ) ${strict}`.execute(db);
  },
};

/** 0008: the certificates of Gate's own services, and the processes that have them (docs/architecture/identity.md#services). New tables. */
const workloads: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_workloads (
      id ${text} not null primary key, service ${text} not null, bootstrap_state ${text} not null, bootstrap_sha256 ${text},
      recovery_generation ${integer} not null, svid_generation ${integer} not null, current_id ${text}, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create table if not exists identity_workload_svids (
      id ${text} not null primary key, workload ${text} not null, service ${text} not null, csr_sha256 ${text} not null unique,
      public_key_sha256 ${text} not null unique, authority_kind ${text} not null, caller_fingerprint ${text} not null,
      prior_id ${text}, state ${text} not null, requested_ms ${integer} not null, svid_id ${text} unique,
      svid_generation ${integer}, spiffe_id ${text}, serial ${text} unique, credential_fingerprint ${text} unique,
      cert_pem ${text}, not_before_ms ${integer}, not_after_ms ${integer}, superseded_ms ${integer}, revoked_ms ${integer},
      revoked_by_sub ${text}, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_workload_svids_asked on identity_workload_svids (workload, requested_ms)`.execute(
      db,
    );
    await sql`create index if not exists identity_workload_svids_open on identity_workload_svids (state) where state = 'pending'`.execute(
      db,
    );
  },
};

/**
 * 0010: what a bootstrap certificate was used for, by its digest (docs/architecture/identity.md#services). For a time no row of a workload had that of
 * its last one; no released version wrote any such row, so those are removed: their services come again with a bootstrap certificate that was never
 * used. A small table, locked for a moment; reads `identity_workload_svids` once.
 */
const usedBootstraps: Migration = {
  async up(db) {
    if (!(await hasColumn(db, 'identity_workloads', 'bootstrap_sha256'))) {
      await sql`delete from identity_workloads`.execute(db);
      await sql`alter table identity_workloads add column bootstrap_sha256 ${dialectOf(db).text}`.execute(db);
    }
    await sql`create index if not exists identity_workload_svids_first on identity_workload_svids (caller_fingerprint)
      where authority_kind = 'bootstrap'`.execute(db);
  },
};

/**
 * 0011: the tools and tenants that somebody stopped (docs/architecture/identity.md#stops). What has no row here is not stopped. A new table.
 */
const stops: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_stops (
      id ${text} not null primary key, tenant ${text} not null, tool ${text}, state ${text} not null,
      changed_ms ${integer} not null, state_changed_ms ${integer}, state_changed_by ${text}, state_reason ${text},
      release_ms ${integer}, release_by ${text}, release_reason ${text},
      listed_generation ${integer} not null unique, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_stops_tenant on identity_stops (tenant, id)`.execute(db);
  },
};

/**
 * 0012: the reports of what was running when something was stopped (docs/architecture/identity.md#reports), and the tenants whose agents' certificates
 * are still to be taken back. Stops of before have none. A new table.
 */
const stopReports: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_stop_reports (
      id ${text} not null primary key, tenant ${text} not null, kind ${text} not null, stopped_id ${text} not null, name ${text},
      stopped_ms ${integer} not null, stopped_by ${text} not null, reason ${text}, state ${text} not null,
      revoked_count ${integer} not null, made_ms ${integer}, report_sha256 ${text}, report ${text}, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_stop_reports_tenant on identity_stop_reports (tenant, stopped_ms)`.execute(
      db,
    );
    await sql`create index if not exists identity_stop_reports_open on identity_stop_reports (state, stopped_ms)
      where state <> 'made'`.execute(db);
  },
};

/**
 * 0013: what may be delegated to agents, what was, and what of that was taken back (docs/architecture/identity.md#grants). An agent without a row of the
 * first can be granted nothing. New tables.
 */
const grants: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_envelopes (
      id ${text} not null primary key, tenant ${text} not null, agent_name ${text} not null, scope_envelope ${text} not null,
      yellow_envelope ${text} not null, envelope_generation ${integer} not null, changed_ms ${integer} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create table if not exists identity_grants (
      id ${text} not null primary key, agent_id ${text} not null, tenant ${text} not null, agent_name ${text} not null,
      agent_spiffe ${text} not null, caller_fingerprint ${text}, id_token_sha256 ${text} not null, human_sub ${text} not null,
      idp ${text} not null, amr ${text} not null,
      scope ${text} not null, yellow_scope ${text} not null, recurrence ${text}, max_count ${integer}, used_count ${integer} not null,
      issued_ms ${integer} not null, not_before_ms ${integer}, not_after_ms ${integer}, expires_ms ${integer} not null,
      state ${text} not null, revoked_ms ${integer}, revoked_by_sub ${text}, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_grants_agent on identity_grants (agent_id, expires_ms)`.execute(db);
    // What was never given is no grant: its token is good for another try.
    await sql`create unique index if not exists identity_grants_token on identity_grants (id_token_sha256)
      where state in ('pending', 'issued', 'used_up', 'revoked')`.execute(db);
    await sql`create index if not exists identity_grants_tenant on identity_grants (tenant, id)`.execute(db);
    await sql`create index if not exists identity_grants_open on identity_grants (state, expires_ms)
      where state in ('pending', 'issued')`.execute(db);
    await sql`create table if not exists identity_revoked_grants (
      id ${text} not null primary key, expires_ms ${integer} not null, changed_ms ${integer} not null,
      listed_generation ${integer} not null unique, mac ${text} not null
    ) ${strict}`.execute(db);
  },
};

/**
 * 0014: what tenants, and agents of them, may spend in a month (docs/architecture/budgets.md). Who has no row here has no limit. A new table.
 */
const budgets: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_budgets (
      id ${text} not null primary key, tenant ${text} not null, agent_name ${text}, budget_micros ${integer},
      changed_ms ${integer} not null, set_ms ${integer} not null, set_by ${text} not null, reason ${text},
      listed_generation ${integer} not null unique, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_budgets_tenant on identity_budgets (tenant, agent_name)`.execute(db);
  },
};

/**
 * 0015: tenants that came or went, and the operations by which they do (docs/architecture/tenants.md). A tenant that has no row here was neither made
 * nor offboarded, and may do what policy lets it. New tables.
 */
const tenantOperations: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_tenants (
      id ${text} not null primary key, state ${text} not null, tenant_generation ${integer} not null,
      operation_id ${text} not null, changed_ms ${integer} not null, ended_count ${integer}, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create table if not exists identity_tenant_operations (
      id ${text} not null primary key, tenant ${text} not null, kind ${text} not null, idempotency_key ${text} not null,
      state ${text} not null, content ${text} not null, mac ${text} not null, unique (tenant, kind, idempotency_key)
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_tenant_operations_open on identity_tenant_operations (state, id)
      where state <> 'succeeded'`.execute(db);
  },
};

/**
 * 0016: the grants of an agent by when they were made, so that neither a request for another one nor a stop reads all that the agent ever had
 * (docs/architecture/identity.md#grants); and those that are due for the sweep. Locks: reads the table twice.
 */
const grantsOfAgents: Migration = {
  async up(db) {
    await sql`create index if not exists identity_grants_made on identity_grants (agent_id, id)`.execute(db);
    await sql`drop index if exists identity_grants_agent`.execute(db);
    // Whole: SQLite uses no part of one where a query names one state of two.
    await sql`drop index if exists identity_grants_open`.execute(db);
    await sql`create index identity_grants_open on identity_grants (state, expires_ms)`.execute(db);
  },
};

/**
 * 0017: what nobody should call or use, and how often the calls of which agents did (docs/architecture/decoys.md). New tables.
 */
const decoys: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_decoys (
      id ${text} not null primary key, tenant ${text} not null, name ${text} not null, kind ${text} not null, decoy_value ${text},
      state ${text} not null, action ${text} not null, schema_json ${text}, description ${text}, changed_ms ${integer} not null,
      set_ms ${integer} not null, set_by ${text} not null, reason ${text}, listed_generation ${integer} not null unique,
      mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_decoys_tenant on identity_decoys (tenant, name)`.execute(db);
    await sql`create table if not exists identity_decoy_hits (
      id ${text} not null primary key, decoy_id ${text} not null, tenant ${text} not null, agent_name ${text} not null,
      hit_count ${integer} not null, first_ms ${integer} not null, last_ms ${integer} not null, correlation_id ${text} not null,
      contained ${text} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_decoy_hits_tenant on identity_decoy_hits (tenant, last_ms)`.execute(
      db,
    );
  },
};

/**
 * 0018: the keys with which identity signs, and how far the one is that takes another one's place (docs/architecture/identity.md#rotation). Where there is
 * none here, those of the settings sign. A new table.
 */
const signingKeys: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_signing_keys (
      id ${text} not null primary key, key_use ${text} not null, state ${text} not null, public_pem ${text} not null,
      sealed_key ${text}, request_id ${text} unique, announced_ms ${integer} not null, signs_due_ms ${integer} not null,
      signed_ms ${integer}, retired_ms ${integer}, old_until_ms ${integer}, withdraw_due_ms ${integer},
      withdrawn_ms ${integer}, set_by ${text} not null, reason ${text}, mac ${text} not null
    ) ${strict}`.execute(db);
  },
};

/**
 * 0020: tokens that agents take to other Gates, those of other Gates that were used here, and what the latter are verified with
 * (docs/architecture/identity.md#actor-tokens). New tables.
 */
const actorTokens: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_actor_tokens (
      id ${text} not null primary key, agent_id ${text} not null, tenant ${text} not null, agent_name ${text} not null,
      agent_spiffe ${text} not null, audience ${text} not null, operation ${text} not null, scope ${text} not null,
      issued_ms ${integer} not null, expires_ms ${integer} not null, state ${text} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_actor_tokens_state on identity_actor_tokens (state, expires_ms)`.execute(
      db,
    );
    await sql`create table if not exists identity_actor_uses (
      id ${text} not null primary key, issuer ${text} not null, jti ${text} not null, used_ms ${integer} not null,
      kept_until_ms ${integer} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_actor_uses_kept on identity_actor_uses (kept_until_ms)`.execute(db);
    await sql`create table if not exists identity_peer_bundles (
      id ${text} not null primary key, bundle_sequence ${integer} not null, content ${text} not null,
      pinned_sha256 ${text} not null, fetched_ms ${integer} not null, mac ${text} not null
    ) ${strict}`.execute(db);
  },
};

/**
 * 0019: what identity asked platforms, what they measured, and what of that may be so (docs/architecture/attestation.md). An agent that has no row here
 * attested nothing, and takes any kind of evidence. New tables.
 */
const attestation: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_challenges (
      id ${text} not null primary key, agent_id ${text} not null, purpose ${text} not null, request_id ${text} not null,
      nonce ${text} not null unique, expected ${text} not null, csr_sha256 ${text}, recovery_generation ${integer} not null,
      opened_ms ${integer} not null, expires_ms ${integer} not null, opened_by_sub ${text} not null, used_by ${text},
      mac ${text} not null, unique (agent_id, purpose)
    ) ${strict}`.execute(db);
    await sql`create table if not exists identity_attestations (
      id ${text} not null primary key, agent_id ${text} not null unique, credential_fingerprint ${text} not null,
      content ${text} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create table if not exists identity_measurements (
      id ${text} not null primary key, tenant ${text} not null, workload ${text} not null, evidence_kind ${text} not null,
      measurement_sha256 ${text} not null, platform_issuer ${text} not null, trust_anchor_id ${text} not null,
      measurement_policy_version ${text} not null, verifier_policy_version ${text} not null, state ${text} not null,
      reason ${text} not null, approved_by_sub ${text} not null, approved_ms ${integer} not null, retired_ms ${integer},
      retired_by_sub ${text}, signature ${text} not null, signing_key_id ${text} not null, mac ${text} not null,
      unique (tenant, workload, evidence_kind, measurement_sha256, measurement_policy_version)
    ) ${strict}`.execute(db);
    await sql`create table if not exists identity_attestation_kinds (
      id ${text} not null primary key, kinds ${text} not null, changed_ms ${integer} not null, mac ${text} not null
    ) ${strict}`.execute(db);
  },
};

/**
 * 0021: what agents see of their tools, as proxies reported it last (docs/architecture/identity.md#tool-definitions). A new table.
 */
const toolPins: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_tool_pins (
      id ${text} not null primary key, tenant ${text} not null, agent_name ${text} not null, event ${text} not null,
      snapshot_sha256 ${text} not null, content ${text} not null, changed_ms ${integer} not null, mac ${text} not null
    ) ${strict}`.execute(db);
  },
};

/**
 * 0022: what people say of agents: whose they are, what they are for, and who certified them (docs/architecture/identity.md#registry). Of an agent without
 * a row here nobody said anything. A new table.
 */
const registry: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_registry (
      id ${text} not null primary key, tenant ${text} not null, agent_name ${text} not null, owner_team ${text},
      description ${text}, certified_at_version ${text}, certified_ms ${integer}, certificate_sha256 ${text},
      changed_ms ${integer} not null, registry_generation ${integer} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_registry_team on identity_registry (tenant, owner_team)`.execute(db);
    // Names under which certificates were issued, and that no agent has.
    await sql`create index if not exists identity_svids_named on identity_svids (tenant, agent_name)`.execute(db);
  },
};

/**
 * 0023: the servers of tools that somebody vouched for (docs/architecture/upstreams.md). Where there is none here, calls say nothing of that. A new table.
 */
const upstreams: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists identity_upstreams (
      id ${text} not null primary key, tenant ${text} not null, name ${text} not null, url ${text} not null,
      url_sha256 ${text} not null unique, tls_pin ${text}, spiffe_id ${text}, owner_team ${text}, state ${text} not null,
      created_by_sub ${text} not null, created_ms ${integer} not null, retired_ms ${integer}, retired_by ${text},
      changed_ms ${integer} not null, listed_generation ${integer} not null unique, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists identity_upstreams_tenant on identity_upstreams (tenant, name)`.execute(db);
  },
};

export const identityMigrations: Record<string, Migration> = {
  '0001-identity': tables,
  '0002-numbered-revocations': numberedRevocations,
  '0003-ledger-rows': ledgerRows,
  '0004-marks': marks,
  '0005-listings': listings,
  '0006-revoked-agents': revokedAgents,
  '0007-ends': ends,
  '0008-workloads': workloads,
  '0009-standings': standings,
  '0010-used-bootstraps': usedBootstraps,
  '0011-stops': stops,
  '0012-stop-reports': stopReports,
  '0013-grants': grants,
  '0014-budgets': budgets,
  '0015-tenant-operations': tenantOperations,
  '0016-grants-of-agents': grantsOfAgents,
  '0017-decoys': decoys,
  '0018-signing-keys': signingKeys,
  '0019-attestation': attestation,
  '0020-actor-tokens': actorTokens,
  '0021-tool-pins': toolPins,
  '0022-registry': registry,
  '0023-upstreams': upstreams,
};
