import { z } from 'zod';

const id = z.uuid().toLowerCase();

/** `POST /admin/pending/{id}/legal-hold`. The reason itself never reaches Gate: only its digest does. */
export const legalHoldRequest = z.strictObject({
  operation_id: id,
  action: z.enum(['apply', 'release']),
  hold_id: id,
  authority_reason_sha256: z.string().regex(/^sha256:[0-9a-f]{64}$/),
});
export type LegalHoldRequest = z.infer<typeof legalHoldRequest>;

export const legalHoldReceipt = z.strictObject({
  contract: z.literal('gate.hil-legal-hold/v1'),
  operation_id: z.string(),
  action: z.enum(['apply', 'release']),
  hold_id: z.string(),
  state: z.enum(['held', 'released']),
  /** `deferred`: something is past its date and stays because of the hold. `deleted`: something was, and is gone now. */
  deletion_disposition: z.enum(['retained', 'deferred', 'deleted']),
  updated_at: z.string(),
  /** SHA-256 over the canonical JSON of all other fields. */
  receipt_sha256: z.string(),
});
export type LegalHoldReceipt = z.infer<typeof legalHoldReceipt>;
