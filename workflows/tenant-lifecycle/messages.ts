import { defineQuery } from '@temporalio/workflow';
import type { TenantOperationKind } from '../../contracts/tenant-lifecycle.js';
import type { TenantProgress } from '../../activities/tenants.js';

/** The workflow's type. Under another name, open operations would find no code to continue with. */
export const TENANT_LIFECYCLE = 'tenantLifecycle';

/** The id of the workflow that has an operation done; a second start finds the first. */
export const tenantLifecycleIdOf = (operationId: string): string => `tenant-lifecycle/${operationId}`;

/** The operation as identity has it. */
export interface TenantRun {
  readonly operation_id: string;
  readonly tenant: string;
  readonly kind: TenantOperationKind;
}

/** How far the operation is, for people who look at the workflow. */
export const tenantProgress = defineQuery<TenantProgress | null>('progress');

/** Why a run ended before its operation: a person looks first. */
export const NEEDS_A_PERSON = 'manual_recovery';
