import { z } from 'zod';
import { jsonObject, jsonValue } from './json.js';
import { policyBundle, policyInput } from './policy.js';
import { batchDiff, policyBody, policyName } from './policy-library.js';
import { storableString } from './storable.js';

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

const policyTier = z.enum(['green', 'yellow', 'red']);

/** Who or what a fact is of: who would have to change it. */
export const factOwner = z.enum(['call', 'agent', 'time', 'operator', 'inspection']);
export type FactOwner = z.infer<typeof factOwner>;

/** Why a call was judged as it was (docs/architecture/policies.md#a-past-verdict). */
export const explainedVerdict = z.object({
  /** What the rules say of it: those that judged it (`then`), or those of now where these are not here any more. */
  tier: policyTier,
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
      tier: policyTier,
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

/** Rules that are tried on recorded traffic: files over what is in force, each in the place of one of its name, and names that are left out. */
export const policyLab = z.strictObject({
  files: z
    .array(z.strictObject({ name: policyName, content_type: z.enum(['rego', 'json']), body: policyBody }))
    .max(1_000),
  without: z.array(policyName).max(1_000).default([]),
  /** RFC 3339. */
  since: z.string().max(64),
  until: z.string().max(64).optional(),
  agent_id: storableString(1, 256).optional(),
  tool_type: storableString(1, 256).optional(),
});
export type PolicyLab = z.infer<typeof policyLab>;

const asPeopleDecided = z.object({ green: z.int(), yellow: z.int(), red: z.int() });
const said = z.object({ tier: policyTier, reasons: z.array(z.string()), review_reasons: z.array(z.string()) });
const cost = z.object({ p50_us: z.int(), p99_us: z.int() });

export const labResult = z.object({
  /** What judges now, and what was tried. */
  policy_bundle: policyBundle,
  candidate_bundle: policyBundle,
  judged: z.int(),
  /** Not judged: inputs that were purged, and ones that no rule of today can read. */
  purged: z.int(),
  unreadable: z.int(),
  /** Calls about which the rules of now say something else than was said then. */
  not_as_recorded: z.int(),
  counts: z.record(batchDiff, z.int()),
  /** What the candidate says of calls that people decided. */
  people: z.object({ approved: asPeopleDecided, denied: asPeopleDecided, expired: asPeopleDecided }),
  cost: z.object({ now: cost, candidate: cost }),
  /** Calls whose verdict changes, the first of each kind; `rows_left` is how many others there are. */
  rows: z.array(
    z.object({
      seq: z.int(),
      at: z.string(),
      correlation_id: z.string().nullable(),
      agent_id: z.string(),
      tool: z.string().nullable(),
      people: z.enum(['approved', 'denied', 'expired']).nullable(),
      diff: batchDiff,
      before: said,
      after: said,
    }),
  ),
  rows_left: z.int(),
  /** What would be in force and never hold, since nothing has what it reads. */
  warnings: z.array(z.string()),
});
export type LabResult = z.infer<typeof labResult>;

/** One line of the answer: how far it is, and at last the result, or why there is none. */
export const labLine = z.union([
  z.object({ progress: z.object({ judged: z.int(), seq: z.int(), at: z.string() }) }),
  z.object({ result: labResult }),
  z.object({ error: z.object({ code: z.string(), reason: z.string() }) }),
]);
export type LabLine = z.infer<typeof labLine>;
