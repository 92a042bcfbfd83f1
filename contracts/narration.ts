import { z } from 'zod';
import { jsonObject } from './json.js';
import { LONGEST_NOTE } from './review.js';
import { storableString } from './storable.js';

/** The largest body of a question to a model that writes for people. */
export const NARRATED_BYTES = 16_384;
const THRESHOLD_BYTES = 4_096;

const words = (most: number) => storableString(1, most);

/**
 * The body of `POST /explain-pattern`: what a rule was mined from, in sums. No agent, no call, no argument (docs/architecture/models.md#words-for-people).
 */
export const explainPattern = z.strictObject({
  tenant: z.string().max(256).nullish(),
  kind: words(64),
  tool_type: words(128),
  threshold: jsonObject.refine(
    (threshold) => Buffer.byteLength(JSON.stringify(threshold)) <= THRESHOLD_BYTES,
    `must be at most ${THRESHOLD_BYTES} bytes of JSON`,
  ),
  evidence_count: z.int().min(0),
});
export type ExplainPattern = z.infer<typeof explainPattern>;

/** A model's words about a rule, and which one wrote them (`alias:model`). */
export const patternExplained = z.object({
  one_liner: z.string(),
  rationale: z.string(),
  model: z.string(),
});
export type PatternExplained = z.infer<typeof patternExplained>;

/** The body of `POST /narrate-decision`: what was decided, in classes and sums. */
export const narrateDecision = z.strictObject({
  tenant: z.string().max(256).nullish(),
  verdict: z.enum(['approve', 'deny', 'modify']),
  risk_summary: words(500),
  decision_reason: words(300).optional(),
  sandbox_severity: words(64).optional(),
  sandbox_operation_class: words(64).optional(),
  sandbox_targets: z.array(words(256)).max(12).optional(),
});
export type NarrateDecision = z.infer<typeof narrateDecision>;

export const decisionNarrated = z.object({
  incident_summary: z.string().min(1).max(LONGEST_NOTE),
  model: z.string(),
});
export type DecisionNarrated = z.infer<typeof decisionNarrated>;
