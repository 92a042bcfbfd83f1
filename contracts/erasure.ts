import { z } from 'zod';

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);

export const tenantName = z.string().regex(/^[A-Za-z0-9._-]{1,63}$/);

/** Body of a tombstone. The reason is stored encrypted beside the row about the erasure. */
export const tombstoneRequest = z.object({ reason: z.string().max(512).optional() }).nullish();
export const tombstoneReply = z.object({ tombstoned: z.number().int().min(0) });

/** The result of cleaning up the demonstration (docs/architecture/ledger-reads.md#erasure). */
export const namespaceCleanupReceipt = z.object({
  contract: z.literal('gate.namespace-cleanup-receipt/v1'),
  namespace: z.literal('demo'),
  selected: z.number().int().min(0),
  tombstoned: z.number().int().min(0),
  retained_operator: z.number().int().min(0),
});

/** The ledger's steps in a tenant's life cycle. */
export const lifecycleKind = z.enum(['final_export', 'tombstone', 'lifecycle_marker']);
export type LifecycleKind = z.infer<typeof lifecycleKind>;
export const lifecycleRequest = z.object({
  operation_id: z.uuid().regex(/^[0-9a-f-]{36}$/),
  kind: lifecycleKind,
});
/** The result of a step; a repeat returns the same one. `receipt_sha256` covers the RFC 8785 JSON of the rest. */
export const lifecycleReceipt = z.object({
  tenant: tenantName,
  operation_id: z.string(),
  kind: lifecycleKind,
  state: z.enum(['exported', 'tombstoned', 'marked']),
  generation: z.number().int().min(1),
  rows_affected: z.number().int().min(0),
  artifact_sha256: hex64.nullable(),
  artifact_bytes: z.number().int().nullable(),
  receipt_sha256: hex64,
  updated_at: z.string(),
});
export type LifecycleReceipt = z.infer<typeof lifecycleReceipt>;
