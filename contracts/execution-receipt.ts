import { z } from 'zod';
import { jsonObject } from './json.js';

const sha256 = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** Where a host says, signed with the key of its certificate, that it executed what Gate authorized: `POST /execution-receipts`. */
export const executionReceipt = z.strictObject({
  contract: z.literal('gate.execution/v1'),
  stage: z.literal('execution.completed'),
  authorization_id: z.uuid(),
  idempotency_id: z.uuid(),
  correlation_id: z.uuid(),
  agent_id: z.string().min(1).max(63),
  agent_spiffe: z.string().min(1).max(512),
  tenant: z.string().min(1).max(63),
  credential_fingerprint: sha256,
  method: z.string().min(1).max(128),
  tool_name: z.string().min(1).max(256),
  payload_sha256: sha256,
  /** As Gate gave it. */
  authorization: z.strictObject({
    authorization: jsonObject,
    identity_signature: z.strictObject({
      algorithm: z.literal('Ed25519'),
      key_id: z.string().max(64),
      value: z.string().max(128),
    }),
  }),
  result_sha256: sha256,
  /** What the host calls the effect. */
  effect_id: z.string().min(1).max(256),
  workload_signature: z.strictObject({
    algorithm: z.literal('ES256'),
    credential_fingerprint: sha256,
    /** Both halves of the signature, 64 bytes (RFC 7518 3.4), in base64url. */
    value: z.string().regex(/^[A-Za-z0-9_-]{86}$/),
  }),
});
export type ExecutionReceipt = z.infer<typeof executionReceipt>;

export const receiptRecorded = z.object({
  status: z.literal('recorded'),
  contract: z.literal('gate.execution/v1'),
  stage: z.literal('execution.completed'),
  authorization_id: z.uuid(),
  receipt_sha256: sha256,
  /** Gate's signature over the receipt. */
  identity_signature: z.object({ algorithm: z.literal('Ed25519'), key_id: z.string(), value: z.string() }),
});
