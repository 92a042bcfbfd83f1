import type { PolicyVersion } from '../../contracts/policy-library.js';
import type { StoredPolicy, TenantOperation } from '../../domain/policy/library-ports.js';
import type { SuggestionTables } from './suggestion-store.js';

/** Postgres gives its bigint columns back as text. */
type Count = number | string;

/** Null in a row of an earlier Gate until this one opens the store, and in one that somebody else wrote. */
interface Sealed {
  mac: string | null;
}

/** The tables of `migrations/policies.ts`. */
export interface PolicyTables extends SuggestionTables {
  /** One row. `set_macs` is JSON of the pairs of tenant and MAC of its set, `policies_sha256` the digest over every policy's MAC. */
  policy_state: Sealed & { id: number; generation: Count; set_macs: string | null; policies_sha256: string | null };
  policies: Omit<StoredPolicy, 'active' | 'current_version' | 'header'> &
    Sealed & {
      active: Count;
      current_version: Count;
      header: string;
    };
  policy_versions: Omit<PolicyVersion, 'active' | 'version' | 'chain_seq' | 'event_kind'> &
    Sealed & {
      tenant: string;
      event_kind: string;
      active: Count;
      version: Count;
      chain_seq: Count | null;
    };
  policy_modules: Sealed & { sources_sha256: string; wasm_sha256: string; wasm: Uint8Array; opa_version: string };
  policy_sets: Sealed & { tenant: string; version: string; files: string; data: string; sources_sha256: string | null };
  policy_tenant_operations: Omit<TenantOperation, 'generation' | 'receipt'> & {
    generation: Count;
    receipt: string | null;
  };
  policy_past_sets: Sealed & { tenant: string; version: string; files: string; sources_sha256: string | null };
  policy_outbox: Sealed & {
    generation: Count;
    ordinal: Count;
    tenant: string;
    name: string;
    version: Count;
    content: string;
  };
}
