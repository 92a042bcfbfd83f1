import { z } from 'zod';
import { tenantName } from './erasure.js';

const count = z.number().int().min(0);
const hex64 = z.string().regex(/^[0-9a-f]{64}$/);
/** `sha256:` and the digest of RFC 8785 JSON. */
const commitment = z.string().regex(/^sha256:[0-9a-f]{64}$/);
/** UTC to the second, in its one canonical spelling. The meter checks that it is a real time. */
const wholeSecond = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/, 'is no time written 2026-01-02T03:04:05Z');
/** `<tenant>/<agent>`, as in the agent's SPIFFE ID. */
const agentKey = z.string().regex(/^[A-Za-z0-9._-]{1,63}\/[A-Za-z0-9._-]{1,63}$/, 'is not <tenant>/<agent>');

const adjustmentKind = z.enum(['credit', 'correction']);
const unitsDelta = z
  .number()
  .int()
  .min(-100_000)
  .max(100_000)
  .refine((units) => units !== 0, 'changes nothing');
const reason = z
  .string()
  .min(1)
  .max(512)
  .refine((text) => text.isWellFormed() && !text.includes('\0'), 'holds U+0000 or a lone surrogate');

/**
 * A manual change to one invoice (docs/architecture/ledger-reads.md#active-agent-meter). The whole of it becomes the `policy_decision` of
 * its row.
 */
export const activeAgentAdjustment = z
  .strictObject({
    contract: z.literal('gate.active-agent-adjustment/v1'),
    meter_version: z.literal('1.0.0'),
    tenant: tenantName,
    target_as_of: wholeSecond,
    idempotency_key: z.uuid().regex(/^[0-9a-f-]{36}$/, 'is not lower case'),
    kind: adjustmentKind,
    units_delta: unitsDelta,
    agent_key: agentKey.nullable(),
    reason,
  })
  .refine(({ kind, units_delta }) => kind !== 'credit' || units_delta < 0, {
    path: ['units_delta'],
    message: 'of a credit must be negative',
  })
  .refine(({ agent_key, tenant }) => agent_key === null || agent_key.startsWith(`${tenant}/`), {
    path: ['agent_key'],
    message: 'is of another tenant',
  });
export type ActiveAgentAdjustment = z.infer<typeof activeAgentAdjustment>;

/** The result of an adjustment; `retained` when the same one existed already. */
export const adjustmentReceipt = z.object({
  retained: z.boolean(),
  adjustment_sha256: commitment,
  entry_id: z.string(),
  entry_seq: z.number().int(),
  entry_hash: hex64,
});
export type AdjustmentReceipt = z.infer<typeof adjustmentReceipt>;

/** The agents of a tenant that executed a tool within 30 days, according to the chain up to one place. */
export const activeAgentInvoice = z.object({
  contract: z.literal('gate.active-agent-meter/v1'),
  meter_version: z.literal('1.0.0'),
  tenant: tenantName,
  /** Half-open. */
  window: z.object({ kind: z.literal('rolling'), days: z.literal(30), from: wholeSecond, to: wholeSecond }),
  observed_through: wholeSecond,
  finalization: z.object({
    late_event_grace_hours: z.literal(72),
    final_at: wholeSecond,
    status: z.enum(['preliminary', 'final']),
  }),
  agents: z.array(
    z.object({
      agent_key: agentKey,
      qualified_events: z.number().int().min(1),
      late_events: count,
      first_qualified_at: z.string(),
      last_qualified_at: z.string(),
      /** Covers the list of this agent's events, in the order of `event_commitment`. */
      source_commitment: commitment,
    }),
  ),
  base_active_agents: count,
  net_active_agents: count,
  adjustments: z.array(
    z.object({
      idempotency_key: z.string(),
      kind: adjustmentKind,
      units_delta: unitsDelta,
      agent_key: agentKey.nullable(),
      reason,
      recorded_at: z.string(),
      source_entry_id: z.string(),
      source_entry_hash: hex64,
    }),
  ),
  source: z.object({
    qualification: z.literal('authorized tool execution by exact tenant-qualified agent'),
    deduplication: z.literal('tenant+agent+stable-stage-identity'),
    qualified_event_count: count,
    late_event_count: count,
    /** Covers the list of all events: {agent_key, occurred_at, stage_identity, entry_id, entry_hash, late}, sorted by the first four. */
    event_commitment: commitment,
    /** Covers `adjustments`. */
    adjustment_commitment: commitment,
    chain_length: count,
    chain_head: hex64,
  }),
  /** Covers the invoice without this field. */
  invoice_sha256: commitment,
});
export type ActiveAgentInvoice = z.infer<typeof activeAgentInvoice>;
