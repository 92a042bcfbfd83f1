import type { PolicyReason, TenantPoliciesReceipt, TenantPoliciesRequest } from '../../contracts/policy-library.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { inForce, type PolicyLibrary } from './library.js';
import type { PolicyStore } from './library-ports.js';

/**
 * Steps in a tenant's life (docs/architecture/policies.md#tenants). A finished step leaves a receipt, and a repeat is answered with it; an
 * unfinished one is done again, unless a later step of the tenant has overtaken it.
 */
export function createTenantPolicies({
  store,
  library,
  clock,
}: {
  readonly store: PolicyStore;
  readonly library: Pick<PolicyLibrary, 'withdraw'>;
  readonly clock: () => number;
}) {
  return {
    async step(
      tenant: string,
      { operation_id, kind }: TenantPoliciesRequest,
      by: PolicyReason,
    ): Promise<TenantPoliciesReceipt> {
      const begun_at = new Date(clock()).toISOString();
      const operation = await store.beginOperation({ operation_id, tenant, kind, begun_at });
      if (operation.tenant !== tenant || operation.kind !== kind)
        throw new GateError('operation_conflict', 'this operation id was used for another tenant or kind');
      if (operation.receipt) return operation.receipt;
      const { generation } = operation;
      const stillWanted = async (): Promise<void> => {
        if ((await store.newestOperation(tenant)) > generation)
          throw new GateError('operation_conflict', 'a later operation of the tenant has overtaken this one');
      };
      await stillWanted();
      const receiptOf = (policies: number): TenantPoliciesReceipt => {
        const receipt = {
          tenant,
          operation_id,
          kind,
          state: kind === 'offboard' ? ('offboarded' as const) : ('active' as const),
          generation,
          policies,
          updated_at: new Date(clock()).toISOString(),
        };
        return { ...receipt, receipt_sha256: sha256Hex(canonicalJson(receipt)) };
      };
      // A tenant that comes has what holds for everybody, and follows its changes until it makes a copy of its own.
      const policies =
        kind === 'offboard'
          ? (await library.withdraw(tenant, by, { stillWanted, receiptOf })).removed
          : inForce((await store.catalogue()).policies, tenant).length;
      // Where copies were withdrawn, the receipt was stored with that, and is the answer.
      return store.endOperation(receiptOf(policies));
    },
  };
}
export type TenantPolicies = ReturnType<typeof createTenantPolicies>;
