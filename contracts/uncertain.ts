import { z } from 'zod';
import { CALL_STATES } from './call.js';
import { jsonValue } from './json.js';
import { storableString } from './storable.js';

/** One look of a probe, as people are shown it. */
export const probeLook = z.object({
  at: z.string(),
  probe: z.string(),
  said: z.enum(['completed', 'not_run', 'not_run_too_early', 'nothing', 'both', 'unreachable', 'invalid', 'refused']),
  detail: z.string().nullable(),
  answer_sha256: z.string().nullable(),
});

/** A call of which nobody knows whether its tool ran. */
export const uncertainCall = z.object({
  correlation_id: z.string(),
  tenant: z.string(),
  agent: z.string(),
  tool: z.string(),
  lost_at: z.string(),
  why: z.string().nullable(),
  looks: z.number().int(),
  /** `probe`: another look follows by itself. */
  waits_for: z.enum(['probe', 'person']),
});
export type UncertainCall = z.infer<typeof uncertainCall>;
/** Newest first; `more` when there are more than are listed. */
export const uncertainList = z.object({ calls: z.array(uncertainCall), more: z.boolean() });
export type UncertainList = z.infer<typeof uncertainList>;

/** The same with its evidence; also of a call that was settled since. */
export const uncertainDetail = uncertainCall.extend({
  state: z.enum(CALL_STATES),
  waits_for: z.enum(['probe', 'person', 'nothing']),
  idempotency_id: z.string().nullable(),
  /** `null` when the request is not stored any more. */
  arguments: jsonValue,
  evidence: z.array(probeLook),
  settled: z
    .object({ by: z.enum(['probe', 'person']), at: z.string(), decided_by: z.string(), reason: z.string() })
    .nullable(),
});
export type UncertainDetail = z.infer<typeof uncertainDetail>;

export const ofUncertain = z.object({ correlation_id: z.uuid() });
/** What a person found out, and how. */
export const settleUncertain = z.strictObject({
  outcome: z.enum(['completed', 'not_run']),
  reason: storableString(1, 1_000).refine((text) => text.trim() !== '', 'is empty'),
});
export type SettleUncertain = z.infer<typeof settleUncertain>;
