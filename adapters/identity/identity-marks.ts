import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { rowContent } from '../../domain/crypto/row-content.js';
import { errorText, GateError } from '../../domain/errors.js';

/** Rows that are read, and whose marks are verified, together where many are looked at. */
export const AT_ONCE = 1_000;

/**
 * The columns that a row's mark covers, by table and in this order: everything by which a certificate is given, counts or is told of
 * (docs/architecture/identity.md#marks).
 */
const MARKED = {
  identity_state: ['id', 'revocation_generation', 'bundle_sequence', 'bundle_sha256'],
  identity_listings: ['listed_generation', 'history', 'tenant', 'agent_name', 'listed_ms'],
  identity_agents: [
    'id',
    'tenant',
    'agent_name',
    'svid_bootstrap_state',
    'recovery_generation',
    'created_by_sub',
    'created_ms',
    'renewals',
  ],
  identity_registry: [
    'id',
    'tenant',
    'agent_name',
    'owner_team',
    'description',
    'certified_at_version',
    'certified_ms',
    'certificate_sha256',
    'changed_ms',
    'registry_generation',
  ],
  identity_enrollments: [
    'token_sha256',
    'agent_id',
    'recovery_generation',
    'expires_ms',
    'created_by_sub',
    'intent_id',
  ],
  identity_intents: [
    'id',
    'agent_id',
    'tenant',
    'agent_name',
    'csr_sha256',
    'public_key_sha256',
    'authority_kind',
    'recovery_generation',
    'prior_svid_id',
    'caller_spiffe',
    'caller_fingerprint',
    'state',
    'requested_ms',
  ],
  identity_svids: [
    'id',
    'agent_id',
    'tenant',
    'agent_name',
    'spiffe_id',
    'serial',
    'credential_fingerprint',
    'public_key_sha256',
    'cert_pem',
    'not_before_ms',
    'not_after_ms',
    'issuance_intent_id',
    'superseded_ms',
    'superseded_by',
    'revoked_ms',
    'revoked_by_sub',
    'revoked_reason',
    'listed_generation',
    'refused_from_ms',
  ],
  identity_standings: [
    'id',
    'tenant',
    'agent_name',
    'state',
    'changed_ms',
    'state_changed_ms',
    'state_changed_by',
    'state_reason',
    'hil_until_ms',
    'hil_applied_ms',
    'hil_by',
    'hil_reason',
    'release_ms',
    'release_by',
    'release_reason',
    'listed_generation',
  ],
  identity_stops: [
    'id',
    'tenant',
    'tool',
    'state',
    'changed_ms',
    'state_changed_ms',
    'state_changed_by',
    'state_reason',
    'release_ms',
    'release_by',
    'release_reason',
    'listed_generation',
  ],
  identity_budgets: [
    'id',
    'tenant',
    'agent_name',
    'budget_micros',
    'changed_ms',
    'set_ms',
    'set_by',
    'reason',
    'listed_generation',
  ],
  identity_decoys: [
    'id',
    'tenant',
    'name',
    'kind',
    'decoy_value',
    'state',
    'action',
    'schema_json',
    'description',
    'changed_ms',
    'set_ms',
    'set_by',
    'reason',
    'listed_generation',
  ],
  identity_upstreams: [
    'id',
    'tenant',
    'name',
    'url',
    'url_sha256',
    'tls_pin',
    'spiffe_id',
    'owner_team',
    'state',
    'created_by_sub',
    'created_ms',
    'retired_ms',
    'retired_by',
    'changed_ms',
    'listed_generation',
  ],
  identity_decoy_hits: [
    'id',
    'decoy_id',
    'tenant',
    'agent_name',
    'hit_count',
    'first_ms',
    'last_ms',
    'correlation_id',
    'contained',
  ],
  identity_stop_reports: [
    'id',
    'tenant',
    'kind',
    'stopped_id',
    'name',
    'stopped_ms',
    'stopped_by',
    'reason',
    'state',
    'revoked_count',
    'made_ms',
    'report_sha256',
  ],
  identity_workloads: [
    'id',
    'service',
    'bootstrap_state',
    'bootstrap_sha256',
    'recovery_generation',
    'svid_generation',
    'current_id',
  ],
  identity_workload_svids: [
    'id',
    'workload',
    'service',
    'csr_sha256',
    'public_key_sha256',
    'authority_kind',
    'caller_fingerprint',
    'prior_id',
    'state',
    'requested_ms',
    'svid_id',
    'svid_generation',
    'spiffe_id',
    'serial',
    'credential_fingerprint',
    'cert_pem',
    'not_before_ms',
    'not_after_ms',
    'superseded_ms',
    'revoked_ms',
    'revoked_by_sub',
  ],
  identity_tenants: ['id', 'state', 'tenant_generation', 'operation_id', 'changed_ms', 'ended_count'],
  identity_tenant_operations: ['id', 'tenant', 'kind', 'idempotency_key', 'state', 'content'],
  identity_signing_keys: [
    'id',
    'key_use',
    'state',
    'public_pem',
    'sealed_key',
    'request_id',
    'announced_ms',
    'signs_due_ms',
    'signed_ms',
    'retired_ms',
    'old_until_ms',
    'withdraw_due_ms',
    'withdrawn_ms',
    'set_by',
    'reason',
  ],
  identity_envelopes: [
    'id',
    'tenant',
    'agent_name',
    'scope_envelope',
    'yellow_envelope',
    'envelope_generation',
    'changed_ms',
  ],
  identity_grants: [
    'id',
    'agent_id',
    'tenant',
    'agent_name',
    'agent_spiffe',
    'caller_fingerprint',
    'id_token_sha256',
    'human_sub',
    'idp',
    'amr',
    'scope',
    'yellow_scope',
    'recurrence',
    'max_count',
    'used_count',
    'issued_ms',
    'not_before_ms',
    'not_after_ms',
    'expires_ms',
    'state',
    'revoked_ms',
    'revoked_by_sub',
  ],
  identity_revoked_grants: ['id', 'expires_ms', 'changed_ms', 'listed_generation'],
  identity_actor_tokens: [
    'id',
    'agent_id',
    'tenant',
    'agent_name',
    'agent_spiffe',
    'audience',
    'operation',
    'scope',
    'issued_ms',
    'expires_ms',
    'state',
  ],
  identity_actor_uses: ['id', 'issuer', 'jti', 'used_ms', 'kept_until_ms'],
  identity_peer_bundles: ['id', 'bundle_sequence', 'content', 'pinned_sha256', 'fetched_ms'],
  identity_challenges: [
    'id',
    'agent_id',
    'purpose',
    'request_id',
    'nonce',
    'expected',
    'csr_sha256',
    'recovery_generation',
    'opened_ms',
    'expires_ms',
    'opened_by_sub',
    'used_by',
  ],
  identity_attestations: ['id', 'agent_id', 'credential_fingerprint', 'content'],
  identity_measurements: [
    'id',
    'tenant',
    'workload',
    'evidence_kind',
    'measurement_sha256',
    'platform_issuer',
    'trust_anchor_id',
    'measurement_policy_version',
    'verifier_policy_version',
    'state',
    'reason',
    'approved_by_sub',
    'approved_ms',
    'retired_ms',
    'retired_by_sub',
    'signature',
    'signing_key_id',
  ],
  identity_attestation_kinds: ['id', 'kinds', 'changed_ms'],
  identity_tool_pins: ['id', 'tenant', 'agent_name', 'event', 'snapshot_sha256', 'content', 'changed_ms'],
  identity_outbox: ['id', 'content'],
} as const;

/** What is read of a report of a stop without its text is what its mark covers. */
export const MARKED_OF_REPORT = MARKED.identity_stop_reports;
export type MarkedTable = keyof typeof MARKED;
const TABLES = Object.keys(MARKED) as readonly MarkedTable[];

const isNumber = (column: string): boolean => NUMBERS.some((end) => column.endsWith(end)) || column === 'renewals';
const NUMBERS = ['_ms', '_generation', '_sequence', '_count', '_micros'];

const MAC_USE = 'gate.identity-row/1';

/** The marks of identity's rows: the table's name is in what is authenticated, so that no row passes for one of another table. */
export function identityMarks(keys: KeyRing) {
  const contents = new Map(
    TABLES.map((table) => {
      const columns: readonly string[] = MARKED[table];
      const numbers = table === 'identity_state' ? [...columns.filter(isNumber), 'id'] : columns.filter(isNumber);
      return [table, rowContent(columns, numbers)];
    }),
  );
  const message = (table: MarkedTable, row: object): string =>
    contents.get(table)?.messageOf(`gate.${table}/1`, row as Readonly<Record<string, unknown>>) ?? table;

  /** What is wrong with a row, or `null`. */
  function fault(table: MarkedTable, row: { readonly mac: string }): string | null {
    try {
      return keys.authentic(row.mac, message(table, row), MAC_USE) ? null : 'its mark does not hold';
    } catch (error) {
      return errorText(error);
    }
  }
  /** What names a row, beside its table. */
  const NAMES = ['id', 'agent_id', 'listed_generation'];
  const named = (table: MarkedTable, row: object): string => {
    const by: Readonly<Record<string, unknown>> = { ...row };
    return `${table} ${String(by[NAMES.find((name) => name in by) ?? ''])}`;
  };

  return {
    markOf: (table: MarkedTable, row: object): string => keys.authenticate(message(table, row), MAC_USE),
    fault: (table: MarkedTable, row: { readonly mac: string }): string | null => {
      const found = fault(table, row);
      return found === null ? null : `${named(table, row)}: ${found}`;
    },
    /** The row, where Gate wrote it as it is. Throws `identity_tampered` with its place. */
    intact<Found extends { readonly mac: string }>(table: MarkedTable, row: Found): Found {
      const found = fault(table, row);
      if (found !== null)
        throw new GateError('identity_tampered', `edited in the store: ${named(table, row)}: ${found}`);
      return row;
    },
  };
}
