import { z } from 'zod';

export const tenantName = z.string().regex(/^[A-Za-z0-9._-]{1,63}$/);

/** Body of a tombstone; the reason is kept encrypted beside the row that notes the erasure. */
export const tombstoneRequest = z.object({ reason: z.string().max(512).optional() }).nullish();
export const tombstoneReply = z.object({ tombstoned: z.number().int().min(0) });

/** What the cleanup of the demonstration did (ledger sheet 5, row 23). */
export const namespaceCleanupReceipt = z.object({
  contract: z.literal('gate.namespace-cleanup-receipt/v1'),
  namespace: z.literal('demo'),
  selected: z.number().int().min(0),
  tombstoned: z.number().int().min(0),
  retained_operator: z.number().int().min(0),
});
