import { z } from 'zod';

const count = z.number().int().min(0);

/** One control of the register: how many rows of the window concern it, and samples of them. */
export const complianceControl = z.object({
  control_id: z.string(),
  framework: z.string(),
  title: z.string(),
  status: z.enum(['observed', 'no_data']),
  metric: z.record(z.string(), z.union([z.number(), z.boolean(), z.string(), z.record(z.string(), z.number())])),
  sample_seqs: z.array(z.number().int()).max(5),
  narrative: z.string(),
});
export type ComplianceControl = z.infer<typeof complianceControl>;

/**
 * Counts and samples of logged facts (docs/architecture/ledger-reads.md#compliance-register). `status` says whether there are any; no
 * register can say whether they suffice.
 */
export const complianceRegister = z.object({
  schema_version: z.literal('3'),
  generated_at: z.string(),
  window: z.object({ from: z.string(), to: z.string() }),
  row_count: count,
  chain_verify: z.object({
    valid: z.boolean(),
    entries_checked: count,
    first_invalid_seq: z.number().int().nullable(),
    cryptographic_status: z.enum(['verified', 'unavailable', 'invalid']),
    signed_rows: count,
    nothing_signed: z.boolean(),
    verified_signed_rows: count,
    tsa_verified: count,
    tsa_failed: count,
  }),
  controls: z.array(complianceControl),
  disclaimer: z.string(),
});
export type ComplianceRegister = z.infer<typeof complianceRegister>;
