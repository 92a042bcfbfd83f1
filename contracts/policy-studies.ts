import { z } from 'zod';
import { jsonObject, jsonValue } from './json.js';
import { policyBundle, policyInput } from './policy.js';

/**
 * What the rows of a call say of its verdict, as `GET /audit/correlation/{correlation_id}/policy-input` of the ledger gives it. `request` is
 * that of a batch, whose calls policy judges one by one.
 */
export const recordedVerdict = z.object({
  input: policyInput,
  decision: jsonObject,
  request: jsonObject.nullable().default(null),
  verdict: jsonObject.nullable().default(null),
  inspection: jsonObject.nullable().default(null),
});
export type RecordedVerdict = z.infer<typeof recordedVerdict>;

/** A past verdict, derived again by the rules that it was judged by. */
export const replayedVerdict = z.object({
  policy_bundle: policyBundle,
  /** How many facts of the rows were compared, and how many differ. */
  compared: z.int(),
  differences: z.int(),
  /** The first difference, in the order in which the facts were made. */
  difference: z.object({ at: z.string(), recorded: z.string(), now: z.string() }).nullable(),
});
export type ReplayedVerdict = z.infer<typeof replayedVerdict>;

/** Who or what a fact is of: who would have to change it. */
export const factOwner = z.enum(['call', 'agent', 'time', 'operator', 'inspection']);
export type FactOwner = z.infer<typeof factOwner>;

/** Why a call was judged as it was (docs/architecture/policies.md#why). */
export const explainedVerdict = z.object({
  /** What the rules say of it: those that judged it (`then`), or those of now where these are not here any more. */
  tier: z.enum(['green', 'yellow', 'red']),
  rules: z.enum(['then', 'now']),
  policy_bundle: policyBundle,
  /** The reasons, the rule of each where its words are found in a text, and the facts without which it would not have been said. */
  spoke: z.array(
    z.object({
      effect: z.enum(['denies', 'asks']),
      reason: z.string(),
      rule: z.object({ file: z.string(), rule: z.string(), line: z.int(), title: z.string().nullable() }).nullable(),
      facts: z.array(z.string()),
    }),
  ),
  /** The smallest sets of facts that were found to alter the verdict, and what it is then. A missing `to` is a fact that is left out. */
  changes: z.array(
    z.object({
      tier: z.enum(['green', 'yellow', 'red']),
      facts: z.array(
        z.object({
          name: z.string(),
          whose: factOwner,
          from: jsonValue.optional(),
          to: jsonValue.optional(),
        }),
      ),
    }),
  ),
  /** Calls that were judged for this. */
  tried: z.int(),
  /** Whether every fact, and every pair where no single one sufficed, was tried. */
  complete: z.boolean(),
  /** All of it in words for whoever wrote the call; secrets and personal data masked. */
  text: z.string(),
});
export type ExplainedVerdict = z.infer<typeof explainedVerdict>;
