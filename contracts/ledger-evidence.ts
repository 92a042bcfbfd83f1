import { z } from 'zod';
import { verifyResult } from './ledger.js';

const count = z.number().int().min(0);

const cryptographicFailure = z.object({
  seq: z.number().int().nullable(),
  reason: z.enum([
    'key_set_unavailable',
    'key_set_stale',
    'key_set_rollback',
    'key_missing',
    'key_retired',
    'key_untrusted',
    'key_not_yet_active',
    'key_substituted',
    'signature_malformed',
    'signature_forged',
    'partial_signature',
    'tsa_trust_unavailable',
    'tsa_missing',
    'tsa_proof_digest_mismatch',
    'tsa_response_malformed',
    'tsa_signature_invalid',
    'tsa_chain_untrusted',
    'tsa_imprint_mismatch',
  ]),
});
export type CryptographicFailure = z.infer<typeof cryptographicFailure>;

/** The result of checking the signatures of rows and anchors (docs/architecture/ledger-rows.md#verification). */
export const cryptographicVerification = z.object({
  contract: z.literal('gate.cryptographic-verification/v2'),
  status: z.enum(['verified', 'unavailable', 'invalid']),
  key_set: z
    .object({
      issuer: z.string(),
      audience: z.union([z.string(), z.array(z.string())]),
      sequence: z.number().int(),
      generated_at: z.string(),
      expires_at: z.string(),
      lineage_sha256: z.string(),
    })
    .nullable(),
  signed_rows: count,
  /** True when no row is signed. `verified` then only means that nothing was found wrong. */
  nothing_signed: z.boolean(),
  verified_signed_rows: count,
  unsigned_rows: count,
  legacy_unverifiable: z.null(),
  first_failure: cryptographicFailure.nullable(),
  tsa: z.object({
    required: z.boolean(),
    anchors_observed: count,
    rfc3161_observed: count,
    verified: count,
    failed: count,
    trust_bundle_sha256: z.string().nullable(),
    first_failure: cryptographicFailure.nullable(),
  }),
});
export type CryptographicVerification = z.infer<typeof cryptographicVerification>;

/**
 * A copy of the chain's root that a third party holds (docs/architecture/ledger-rows.md#anchors). `chain_match` is null once the row was
 * vacuumed.
 */
export const anchor = z.object({
  anchored_seq: z.number().int(),
  anchored_entry_hash: z.string(),
  source: z.enum(['rfc3161', 'webhook', 'identity']),
  status: z.enum(['pending', 'anchored', 'failed']),
  gen_time: z.string().nullable(),
  proof_sha256: z.string().nullable(),
  anchored_at: z.string().nullable(),
  chain_match: z.boolean().nullable(),
});
export type Anchor = z.infer<typeof anchor>;

/** `GET /verify`: the result of the walk, of the signatures, and of comparing the anchors. */
export const assuredVerifyResult = verifyResult.extend({
  anchors: z.array(anchor).optional(),
  anchor_mismatch: z.boolean().nullable(),
  cryptographic_verification: cryptographicVerification,
});
export type AssuredVerifyResult = z.infer<typeof assuredVerifyResult>;
