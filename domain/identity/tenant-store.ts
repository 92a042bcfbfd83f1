import type { DueTenantOperation, TamperedTenantOperation } from '../../contracts/tenant-lifecycle.js';
import type { GateError } from '../errors.js';
import type { RevokedBy } from './revoked-by.js';
import type { KeptOperation, NewOperation } from './tenant-operations.js';

/** A tenant that came or went. */
export interface KnownTenant {
  readonly tenant: string;
  readonly state: 'active' | 'offboarded';
  readonly generation: number;
}
/** A tenant whose agents are all ended. */
export interface FencedTenant extends KnownTenant {
  readonly agentsDecommissioned: number;
  /** Whether it, or an agent of it, had a budget. */
  readonly isBudgetCleared: boolean;
}

/** What a change makes of an operation; `refused` is thrown when that is stored. */
export interface Move {
  readonly operation: KeptOperation;
  readonly refused?: GateError | null;
  /** The step that somebody had taken up again. */
  readonly retried?: string;
}

/** For whom an operation does something. */
export interface Doing extends RevokedBy {
  readonly reason: string;
  readonly operationId: string;
  readonly tenant: string;
}

/** Operations on tenants, and what identity itself does in their course. Every move is stored, with its row for the ledger, before it is answered. */
export interface TenantStore {
  /**
   * The new operation, or the one of this key (`isNew` is false then). Throws `lifecycle_conflict`, `lifecycle_active`, and `tenant_offboarded` for a
   * tenant that has gone.
   */
  startOperation(asked: NewOperation): Promise<{ readonly operation: KeptOperation; readonly isNew: boolean }>;
  /** Throws `not_found` also for one of another tenant. Without a tenant: of any. */
  operation(id: string, tenant?: string): Promise<KeptOperation>;
  /** Newest first, 100 at most; those that somebody edited are named. */
  operations(tenant: string): Promise<readonly (KeptOperation | TamperedTenantOperation)[]>;
  /** Those that go on by themselves, oldest first. */
  dueOperations(): Promise<readonly DueTenantOperation[]>;
  /** One after the other of all operations; `by` is who moves it. */
  moveOperation(id: string, by: string, move: (operation: KeptOperation) => Move): Promise<KeptOperation>;

  /** Makes the tenant's record, or confirms it. Throws `tenant_offboarded`. */
  recordTenant(doing: Doing): Promise<KnownTenant>;
  /** With which sequence of the trust bundle the tenant's certificates are verified. */
  confirmKeys(tenant: string): Promise<KnownTenant & { readonly bundleSequence: number }>;
  /**
   * Stops the tenant for good, and then ends its agents, one after the other. Throws `operation_unfinished` where that is not done by `untilMs`; a repeat
   * goes on, and says the same once all are ended.
   */
  fenceTenant(doing: Doing, clock: () => number, untilMs: number): Promise<FencedTenant>;
  /** Ends what came into being beside the fence, and says that nothing of the tenant counts any more. Throws what the fence throws. */
  retireKeys(
    doing: Doing,
    clock: () => number,
    untilMs: number,
  ): Promise<KnownTenant & { readonly certificatesRevoked: number }>;
  /** Whether the report of a stop of the tenant since that time is still to be made. */
  hasOpenReport(tenant: string, sinceMs: number): Promise<boolean>;
  /** The number of the list of revocations now. */
  feedGeneration(): Promise<number>;
}
