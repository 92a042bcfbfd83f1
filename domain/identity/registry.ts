import type { JsonObject } from '../../contracts/json.js';
import type { RevokedBy } from './revoked-by.js';

/** What people say of an agent (docs/architecture/identity.md#registry). */
export interface AgentEntry {
  /** Whose it is: who is of that team may narrow and suspend it. */
  readonly ownerTeam: string | null;
  readonly description: string | null;
  /** `null` where nobody certified it. */
  readonly certified: { readonly version: string; readonly atMs: number } | null;
}
/** Of an agent of which nobody said anything. */
export const NO_ENTRY: AgentEntry = { ownerTeam: null, description: null, certified: null };

/** A name under which certificates were issued, and that no agent has. */
export interface Orphan {
  readonly agent: string;
  readonly lastSeenMs: number;
  readonly svids: number;
}

/** Whether an agent needs to be certified for a certificate: no, no but its row says so, or yes. */
export const CERTIFICATION_MODES = ['off', 'flag', 'enforce'] as const;
export type CertificationMode = (typeof CERTIFICATION_MODES)[number];

/** Every change throws `not_found` for what is another tenant's, and `agent_decommissioned`. The same again changes nothing. */
export interface RegistryStore {
  /** Of those of which somebody said something. One that somebody edited in the store says nothing. */
  entries(ids: readonly string[]): Promise<ReadonlyMap<string, AgentEntry>>;
  transferAgent(id: string, tenant: string, ownerTeam: string, by: RevokedBy): Promise<AgentEntry>;
  describeAgent(id: string, tenant: string, description: string | null, by: RevokedBy): Promise<AgentEntry>;
  certifyAgent(
    id: string,
    tenant: string,
    certification: {
      readonly version: string;
      readonly certificateSha256: string;
      /** For its row in the ledger, and beside it. */
      readonly detail: JsonObject;
      readonly content: JsonObject;
    },
    by: RevokedBy,
  ): Promise<AgentEntry>;
  orphans(tenant: string): Promise<readonly Orphan[]>;
}
