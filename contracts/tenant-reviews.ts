import { z } from 'zod';
import { tenantName } from './erasure.js';

/** HIL's steps in a tenant's life: it may have reviews, or no more. */
export const tenantReviewsKind = z.enum(['provision', 'offboard']);
export type TenantReviewsKind = z.infer<typeof tenantReviewsKind>;

/** The body of `POST /admin/tenants/{tenant}/lifecycle`. */
export const tenantReviewsRequest = z.strictObject({ operation_id: z.uuid().lowercase(), kind: tenantReviewsKind });

/** The result of a step; a repeat returns the same one. `receipt_sha256` covers the RFC 8785 JSON of the rest. */
export const tenantReviewsReceipt = z.strictObject({
  tenant: tenantName,
  operation_id: z.string(),
  kind: tenantReviewsKind,
  state: z.enum(['active', 'offboarded']),
  /** Counts the operations of the tenant. */
  generation: z.number().int().min(1),
  /** Reviews that waited and were denied. */
  pending_denied: z.number().int().min(0),
  /** Rows that were deleted, and those that stay until a legal hold is released. */
  rows_erased: z.number().int().min(0),
  rows_held: z.number().int().min(0),
  receipt_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  updated_at: z.iso.datetime(),
});
export type TenantReviewsReceipt = z.infer<typeof tenantReviewsReceipt>;

/** What HIL knows of a tenant, newest operation first. A tenant that nobody provisioned is active, with no operation. */
export const tenantReviews = z.strictObject({
  tenant: tenantName,
  state: z.enum(['active', 'offboarded']),
  operations: z.array(
    z.strictObject({
      operation_id: z.string(),
      kind: tenantReviewsKind,
      generation: z.number().int().min(1),
      asked_by: z.string(),
      begun_at: z.iso.datetime(),
      /** `null` while it is not finished. */
      receipt: tenantReviewsReceipt.nullable(),
    }),
  ),
});
export type TenantReviews = z.infer<typeof tenantReviews>;

/** The result of cleaning up the demonstration's reviews. Repeated, it selects nothing but what is under a legal hold. */
export const demoCleanupReceipt = z.strictObject({
  contract: z.literal('gate.namespace-cleanup-receipt/v1'),
  namespace: z.literal('demo'),
  selected: z.number().int().min(0),
  deleted: z.number().int().min(0),
  retained_operator: z.number().int().min(0),
  retained_legal_hold: z.number().int().min(0),
  completed_at: z.iso.datetime(),
});
export type DemoCleanupReceipt = z.infer<typeof demoCleanupReceipt>;
