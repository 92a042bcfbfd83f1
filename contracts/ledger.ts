import { z } from 'zod';
import { jsonObject } from './json.js';

export const stateNamespace = z.enum(['operator', 'demo']);
export type StateNamespace = z.infer<typeof stateNamespace>;

/** `source` of the rows of a review that no call asked for (docs/architecture/reviews.md#a-review-without-a-call). */
export const SIMULATOR_SOURCE = 'simulator';
const hex64 = z.string().regex(/^[0-9a-f]{64}$/);

/** Names the person for whom the console opens a stream, by a digest: the ledger counts it, and believes nothing else of it. */
export const STREAM_HOLDER_HEADER = 'x-gate-stream-holder';

/**
 * A row as its author gives it to the ledger: its fields by name (docs/architecture/ledger-rows.md#fields), and sidecar bytes. The ledger
 * checks the bytes against their digest, stores them encrypted beside the row, and can purge them without breaking the chain.
 */
export const newLedgerRow = z.object({
  id: z.uuid().optional(),
  /** Only with a signature: the signer's timestamp, which the ledger keeps instead of its own. */
  timestamp: z.string().optional(),
  agent_id: z.string().min(1).max(256),
  method: z.string().min(1).max(128),
  intent_category: z.string().min(1).max(128),
  authorized: z.boolean(),
  reasoning: z.string().max(8192),
  policy_decision: jsonObject.nullable(),
  state_namespace: stateNamespace,
  correlation_id: z.string().max(64).nullish(),
  event_kind: z.string().max(64).nullish(),
  source: z.string().max(32).nullish(),
  signal: z.string().max(128).nullish(),
  approver_assertion: z.string().max(4096).nullish(),
  agent_spiffe: z.string().max(512).nullish(),
  signature: z.string().nullish(),
  key_id: z.string().nullish(),
  tenant: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,63}$/)
    .nullish(),
  agent_name: z.string().max(63).nullish(),
  actor_sub: z.string().max(512).nullish(),
  actor_idp: z.string().max(512).nullish(),
  payload_sha256: hex64.nullish(),
  agent_kind: z.string().max(32).nullish(),
  cost_micros: z.number().int().min(0).nullish(),
  brain_evidence_sha256: hex64.nullish(),
  brain_scores: jsonObject.nullish(),
  tool_params_sha256: hex64.nullish(),
  credential_fingerprint: hex64.nullish(),
  upstream_id: z.string().max(64).nullish(),
  tool_name: z.string().max(256).nullish(),
  payload_canonical_json: z.string().nullish(),
  brain_evidence_canonical_json: z.string().nullish(),
});
export type NewLedgerRow = z.infer<typeof newLedgerRow>;

/** The ledger's answer for one appended row. `retained` means that the same row existed already. */
export const appendReceipt = z.object({
  status: z.enum(['created', 'retained']),
  id: z.string(),
  seq: z.number().int(),
  entry_hash: z.string(),
  chain_version: z.number().int(),
});
export type AppendReceipt = z.infer<typeof appendReceipt>;

/** A stored row as the read routes return it: the 33 hashed fields, entry_hash, and three readable projections. */
export const ledgerEntry = z.looseObject({
  chain_version: z.number().int(),
  id: z.string(),
  timestamp: z.string(),
  seq: z.number().int(),
  prev_hash: z.string(),
  entry_hash: z.string(),
  agent_id: z.string(),
  method: z.string(),
  intent_category: z.string(),
  authorized: z.boolean(),
  reasoning: z.string(),
  policy_decision: jsonObject.nullable(),
  correlation_id: z.string().nullable(),
  event_kind: z.string().nullable(),
  state_namespace: z.string(),
  tool_type: z.string().nullable(),
  decided_by: z.string().nullable(),
  status: z.string().nullable(),
});
export type LedgerEntry = z.infer<typeof ledgerEntry>;

/** The result of a walk of the chain (docs/architecture/ledger-rows.md#verification). */
export const verifyResult = z.looseObject({
  valid: z.boolean(),
  entries_checked: z.number().int().min(0),
  first_invalid_seq: z.number().int().nullable(),
  unsupported_chain_version: z.number().int().optional(),
  commitment: z
    .object({
      contract: z.literal('gate.verified-chain/v1'),
      head_hash: z.string(),
      length: z.number().int(),
      tail_chain_version: z.number().int().optional(),
    })
    .optional(),
});
export type VerifyResult = z.infer<typeof verifyResult>;

/**
 * Where rows are appended. Appends are idempotent by row id; the rows of one call to `append` become adjacent entries in one transaction.
 * Throws `ledger_entry_conflict` when an id exists with other content, and `ledger_store_unavailable` when it is not certain that the rows
 * were stored; repeating the append is then safe.
 */
export interface Ledger {
  append(rows: readonly NewLedgerRow[]): Promise<AppendReceipt[]>;
}

/** Most ids in one question. */
export const HELD_IDS_LIMIT = 64;
/** Those of the asked ids under which the ledger has a row. */
export const heldIds = z.object({ held: z.array(z.uuid()) });

/** Tells whether rows were ever written, hidden ones included. Throws `ledger_store_unavailable` when it cannot be asked. */
export interface HeldRows {
  /** The ids under which a row exists, also one that is hidden, edited or vacuumed. At most `HELD_IDS_LIMIT` ids. */
  held(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
