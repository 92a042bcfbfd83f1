import { z } from 'zod';
import { ledgerEntry } from './ledger.js';

const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().min(0);

/** Proves one entry in the tree of a checkpoint (RFC 6962 section 2.1.1). Hashes are hex; the path goes from the leaf upwards. */
export const inclusionProof = z.object({
  contract: z.literal('gate.inclusion-proof/v1'),
  seq: count,
  leaf_index: count,
  entry_hash: hex64,
  tree_size: count,
  proof: z.array(hex64),
  /** The signed note, including cosignatures. */
  checkpoint: z.string(),
  /** Verifier key of the log (C2SP signed-note). A reader must have it from elsewhere to trust it. */
  log_key: z.string(),
  /** `null` when the entry is hidden from reads or was vacuumed; its hash is still proved. */
  entry: ledgerEntry.nullable(),
});
export type InclusionProof = z.infer<typeof inclusionProof>;

/** Proves that the tree of `to` entries begins with the tree of `from` entries (RFC 6962 section 2.1.2). */
export const consistencyProof = z.object({
  contract: z.literal('gate.consistency-proof/v1'),
  from: count,
  to: count,
  from_root: hex64,
  to_root: hex64,
  proof: z.array(hex64),
});
export type ConsistencyProof = z.infer<typeof consistencyProof>;

/** The cosignatures that were stored; the others were made with unknown keys. */
export const cosignResult = z.object({
  tree_size: count,
  accepted: z.array(z.object({ witness: z.string(), cosigned_at: count })),
});
export type CosignResult = z.infer<typeof cosignResult>;

/**
 * Proves one row to somebody who has no part of Gate: the row, its path to the root of a checkpoint, and, if the reader kept an older
 * checkpoint, the proof that the log only grew since. `entry` has the hashed fields and the hash, nothing else.
 */
export const proofBundle = z.strictObject({
  contract: z.literal('gate.proof-bundle/v1'),
  log_key: z.string(),
  checkpoint: z.string(),
  inclusion: z.strictObject({ seq: count.min(1), tree_size: count, entry_hash: hex64, proof: z.array(hex64) }),
  entry: z.record(z.string(), z.json()).nullable(),
  consistency: z.strictObject({ checkpoint: z.string(), from: count, to: count, proof: z.array(hex64) }).optional(),
});
export type ProofBundle = z.infer<typeof proofBundle>;
