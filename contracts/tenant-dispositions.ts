import { z } from 'zod';
import { tenantName } from './erasure.js';

export const DISPOSITIONS_CONTRACT = 'gate.tenant-erasure-disposition/v1';

/** What was decided last about a tenant's reviews. `generation` counts the operations of the tenant. */
export const tenantDisposition = z.strictObject({
  tenant: tenantName,
  state: z.enum(['active', 'offboarded']),
  generation: z.number().int().min(1),
  operation_id: z.uuid(),
});
export type TenantDisposition = z.infer<typeof tenantDisposition>;

/**
 * The same with the generation in which the tenant left last, 0 for never: what an older copy holds of it is from before that. `left_done`:
 * nothing of it was left then, so a copy in which that operation is under way is an older one too. A file of an earlier Gate does not say so.
 */
export const knownDisposition = tenantDisposition.extend({
  left_in: z.number().int().min(0),
  left_done: z.boolean().optional(),
});
export type KnownDisposition = z.infer<typeof knownDisposition>;

/**
 * Somebody with a passkey alone who was taken out. `left` counts how often that was done to one of this name: whoever has the name after it has
 * that count, in whichever copy. `generation` is the least that a standing of the name has from then on. Copies count their generations each
 * for itself, so that one says nothing of another copy's. A file of an earlier Gate says `generation` alone.
 */
export const takenOut = z.strictObject({
  tenant: z.string().min(1),
  subject: z.string().min(1),
  generation: z.number().int().min(1),
  left: z.number().int().min(1).optional(),
});
export type TakenOut = z.infer<typeof takenOut>;
export const leftOf = ({ left = 1 }: Pick<TakenOut, 'left'>): number => left;

/** The file beside the store that says which tenants have left, and who was taken out; `hmac` covers the RFC 8785 JSON of the rest. */
export const tenantDispositions = z.strictObject({
  contract: z.literal(DISPOSITIONS_CONTRACT),
  /** Operations of all tenants: it only grows. */
  generation: z.number().int().min(0),
  key_id: z.string().regex(/^sha256:[0-9a-f]{16}$/),
  updated_at: z.iso.datetime(),
  tenants: z.array(knownDisposition),
  /** A file of an earlier Gate does not say so. */
  people: z.array(takenOut).optional(),
  hmac: z.string().regex(/^[0-9a-f]{64}$/),
});
export type TenantDispositions = z.infer<typeof tenantDispositions>;

/** What was done to a store before it was served, because it may be an older copy. It names no tenant and nobody, and holds nothing of a call. */
export const backupErasureReceipt = z.strictObject({
  contract: z.literal('gate.hil-backup-erasure/v1'),
  /** Of the dispositions that the store was brought to. */
  disposition_generation: z.number().int(),
  disposition_key_id: z.string(),
  disposition_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Tenants of which the store did not know what was decided last. */
  tenants_behind: z.number().int(),
  /** People of whom the store did not know that they were taken out. */
  people_behind: z.number().int(),
  payloads_purged: z.number().int(),
  rows_deleted: z.number().int(),
  /** Rows of tenants that left, kept by a legal hold. */
  rows_held: z.number().int(),
  evaluated_at: z.iso.datetime(),
});
export type BackupErasureReceipt = z.infer<typeof backupErasureReceipt>;
