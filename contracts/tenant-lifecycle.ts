import { z } from 'zod';
import { tenantName } from './erasure.js';
import { caSignature, standingReason } from './identity.js';
import { jsonObject } from './json.js';

/** A tenant comes, or goes for good. */
export const tenantOperationKind = z.enum(['provision', 'offboard']);
export type TenantOperationKind = z.infer<typeof tenantOperationKind>;

/** Whose each step is: who has what it changes. */
export const STEP_OWNERS = ['identity', 'policy-engine', 'hil', 'proxy', 'ledger', 'platform'] as const;
export type StepOwner = (typeof STEP_OWNERS)[number];

export const STEP_IDS = [
  'tenant_record',
  'credential_keys',
  'policy_namespace',
  'hil_namespace',
  'cache_generation',
  'ledger_lifecycle_marker',
  'authority_fence',
  'ledger_final_export',
  'ledger_tombstone',
  'retained_backup_disposition',
] as const;
export type StepId = (typeof STEP_IDS)[number];

/** How a step could be taken back: nothing does so by itself. */
export const compensation = z.enum(['idempotent-reverse', 'manual-recovery-only', 'not-required']);

export const tenantOperationState = z.enum(['pending', 'running', 'waiting_retry', 'manual_recovery', 'succeeded']);
export type TenantOperationState = z.infer<typeof tenantOperationState>;
export const tenantStepState = z.enum(['pending', 'running', 'retryable', 'manual_recovery', 'succeeded']);

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const instant = z.iso.datetime();

export const tenantStep = z.strictObject({
  id: z.enum(STEP_IDS),
  order: z.number().int().min(1),
  owner: z.enum(STEP_OWNERS),
  effect: z.string(),
  compensation,
  state: tenantStepState,
  attempts: z.number().int().min(0),
  /** Until then whoever claimed it may complete it, and nobody else claims it. */
  lease_expires_at: instant.nullable(),
  /** Not before then is it claimed again. */
  next_retry_at: instant.nullable(),
  /** SHA-256 of the RFC 8785 form of the receipt. */
  receipt_sha256: hex64.nullable(),
  receipt: jsonObject.nullable(),
  last_error: z.string().nullable(),
  /** Who claimed it last, said last what came of it, and had it taken up again last: a person, or the worker. */
  claimed_by: z.string().nullable(),
  completed_by: z.string().nullable(),
  retried_by: z.string().nullable(),
  updated_at: instant,
});
export type TenantStep = z.infer<typeof tenantStep>;

export const tenantOperation = z.strictObject({
  id: z.uuid(),
  tenant: tenantName,
  kind: tenantOperationKind,
  idempotency_key: z.string(),
  /** SHA-256 of the RFC 8785 form of kind, reason and tenant. */
  intent_sha256: hex64,
  reason: z.string(),
  state: tenantOperationState,
  actor_sub: z.string(),
  created_at: instant,
  updated_at: instant,
  steps: z.array(tenantStep),
});
export type TenantOperation = z.infer<typeof tenantOperation>;

/** One that somebody edited in the store: nobody does anything by it. */
export const tamperedTenantOperation = z.strictObject({ id: z.string(), tenant: tenantName, tampered: z.string() });
export type TamperedTenantOperation = z.infer<typeof tamperedTenantOperation>;
export const listedTenantOperation = z.union([tenantOperation, tamperedTenantOperation]);
export type ListedTenantOperation = z.infer<typeof listedTenantOperation>;

/** Body of `POST /tenants/{tenant}/lifecycle`. */
export const tenantOperationRequest = z.strictObject({
  kind: tenantOperationKind,
  /** The tenant, typed out once more. */
  confirm: z.string().max(63),
  reason: standingReason,
});
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,128}$/);

export const tenantStepClaimRequest = z.strictObject({ owner: z.enum(STEP_OWNERS) });
/** The token is shown this once. */
export const tenantStepClaimed = z.strictObject({
  operation: tenantOperation,
  step_id: z.enum(STEP_IDS),
  lease_token: z.string(),
  lease_expires_at: instant,
});
export type TenantStepClaimed = z.infer<typeof tenantStepClaimed>;

/** Of a receipt in its RFC 8785 form, in bytes. */
export const LONGEST_RECEIPT = 16_384;
export const tenantStepCompletion = z.strictObject({
  lease_token: z.string().min(1).max(128),
  outcome: z.enum(['succeeded', 'retryable', 'manual_recovery']),
  /** For a step that succeeded and is not identity's own. */
  receipt: jsonObject.optional(),
  error: z.string().max(4_096).optional(),
});
export type TenantStepCompletion = z.infer<typeof tenantStepCompletion>;

/** Body of `POST /tenants/{tenant}/offboard`. */
export const tenantFenceRequest = z.strictObject({ confirm: z.string().max(63), reason: standingReason.optional() });
export const tenantFence = z.strictObject({
  tenant: tenantName,
  state: z.literal('offboarded'),
  generation: z.number().int().min(1),
  agents_decommissioned: z.number().int().min(0),
  /** Whether the tenant, or an agent of it, had a budget. */
  budget_cleared: z.boolean(),
});

/**
 * That identity has a step done: signed by the CA, for one owner, until the lease of the step ends. Whoever brings it, it says who asked for what.
 */
export const tenantWarrantContent = z.strictObject({
  owner: z.enum(STEP_OWNERS),
  tenant: tenantName,
  operation_id: z.uuid(),
  kind: tenantOperationKind,
  step_id: z.enum(STEP_IDS),
  asked_by: z.string(),
  not_after: instant,
});
export type TenantWarrantContent = z.infer<typeof tenantWarrantContent>;
export const tenantWarrant = tenantWarrantContent.extend({ signature: caSignature });
export type TenantWarrant = z.infer<typeof tenantWarrant>;

/** Of an operation that goes on by itself: where it is, and when it can be taken on. */
export const dueTenantOperation = z.strictObject({ id: z.uuid(), tenant: tenantName, kind: tenantOperationKind });
export type DueTenantOperation = z.infer<typeof dueTenantOperation>;
/** Given at a time. */
export const DUE_OPERATIONS = 100;

/** What a driver is given: the step that it has to have done, or none, and when to ask again. */
export const drivenTenantOperation = z.strictObject({
  operation: tenantOperation,
  /** Milliseconds until a step can be claimed; `null` where none goes on by itself. */
  wait_ms: z.number().int().min(0).nullable(),
});
export type DrivenTenantOperation = z.infer<typeof drivenTenantOperation>;
export const drivenTenantStep = drivenTenantOperation.extend({
  claim: z
    .strictObject({
      step_id: z.enum(STEP_IDS),
      owner: z.enum(STEP_OWNERS),
      lease_token: z.string(),
      warrant: tenantWarrant,
      /** The number of the list of revocations that says what the tenant may do. */
      feed_generation: z.number().int().min(0),
    })
    .nullable(),
});
export type DrivenTenantStep = z.infer<typeof drivenTenantStep>;
export const drivenTenantCompletion = tenantStepCompletion.extend({ step_id: z.enum(STEP_IDS) });
export type DrivenTenantCompletion = z.infer<typeof drivenTenantCompletion>;
