import { z } from 'zod';
import { jsonValue } from './json.js';
import { patternExplained } from './narration.js';
import { storableString } from './storable.js';

/** Suggestions of one answer. */
export const MOST_SUGGESTIONS = 20;

/** How long the engine compares the suggestions of a list with what people decided since; what it has not compared by then is `unchecked`. */
export const SUGGESTIONS_LOOK_MS = 10_000;

/** Which decisions of people a rule is mined from. */
export const minePolicies = z.strictObject({
  /** RFC 3339. */
  since: z.string().max(64),
  until: z.string().max(64).optional(),
  tool_type: storableString(1, 256).optional(),
  max_candidates: z.int().min(1).max(MOST_SUGGESTIONS).default(MOST_SUGGESTIONS),
});
export type MinePolicies = z.infer<typeof minePolicies>;

/**
 * What one argument has to be. `like` is a text whose letters and signs are always the same and whose digits are any, as many as people saw; a number
 * that is written as a text has `text`, with so many `decimals`.
 */
export const argumentBound = z.object({
  /** Where it stands (RFC 6901). */
  pointer: z.string(),
  is: z.union([
    z.object({ equals: jsonValue }),
    /** Few numbers, as they were given: those, and none between them. */
    z.object({ one_of: z.array(jsonValue) }),
    z.object({ like: z.string() }),
    z.object({
      from: z.number(),
      to: z.number(),
      whole: z.boolean(),
      text: z.boolean(),
      decimals: z.int(),
    }),
  ]),
});
export type ArgumentBound = z.infer<typeof argumentBound>;

/** Calls that people approved, as narrowly as one sentence says it: these agents, exactly these arguments, each within these bounds. */
export const approvedPart = z.object({
  upstream: z.string().nullable(),
  agents: z.array(z.string()),
  /** Approvals that lie in it. */
  approvals: z.int(),
  /** Objects among the arguments: where each stands, and the names that it has. The first is the arguments themselves. */
  objects: z.array(z.object({ pointer: z.string(), names: z.array(z.string()) })),
  arguments: z.array(argumentBound),
});
export type ApprovedPart = z.infer<typeof approvedPart>;

const example = z.object({ correlation_id: z.string().nullable(), at: z.string(), agent_id: z.string() });
export type MinedExample = z.infer<typeof example>;
const passed = z.object({ passed: z.int(), of: z.int() });

/** What speaks for a suggestion: every decision of the window about the tool, judged again with the class `change` and the rule. */
export const minedEvidence = z.object({
  approvals: passed,
  /** Also calls that were approved with other arguments only. */
  denials: passed,
  /** What the class alone would have let run. */
  class_alone: z.object({ approvals: z.int(), denials: z.int() }),
  /** Over how many days people approved what it lets pass, how many people, of how many agents. */
  days: z.int(),
  approvers: z.int(),
  agents: z.int(),
});
export type MinedEvidence = z.infer<typeof minedEvidence>;

/** What a store keeps of a suggestion beside its text. */
export const minedFacts = z.object({
  since: z.string(),
  until: z.string(),
  evidence: minedEvidence,
  parts: z.array(approvedPart),
  examples: z.object({ waits: z.array(example), denied: z.array(example) }),
  /** Absent where no model is set to write, or none answered in time. */
  explained: patternExplained.optional(),
});
export type MinedFacts = z.infer<typeof minedFacts>;

export const minedSuggestion = minedFacts.extend({
  id: z.string(),
  tenant: z.string(),
  tool: z.string(),
  rule_name: z.string(),
  /**
   * `unchecked`: the ledger cannot say now whether somebody denied such a call since; it cannot be installed then. `installed`: the rule is in force
   * with this text.
   */
  state: z.enum(['proposed', 'unchecked', 'withdrawn', 'installed']),
  state_why: z.string().nullable(),
  /** Whether the rule is in force with this text, whatever the state: one that is withdrawn may still let calls pass. */
  in_force: z.boolean(),
  one_liner: z.string(),
  /**
   * What a person does once the rule is in force, so that these calls wait no longer. Of one that was withdrawn and is in force: what he does before he
   * switches it off, as the class alone would let every call of the tool run.
   */
  next_step: z.string(),
  rego_body: z.string(),
  body_sha256: z.string(),
  proposed_at: z.string(),
});
export type MinedSuggestion = z.infer<typeof minedSuggestion>;
export const minedSuggestions = z.object({ suggestions: z.array(minedSuggestion) });

/** Why nothing is suggested for a tool. */
export const leftWhy = z.enum([
  'too_few',
  'rules_ask',
  'classed_for_people',
  'differs_each_time',
  'denied_alike',
  'too_large',
]);
export type LeftWhy = z.infer<typeof leftWhy>;
const left = z.object({
  tool: z.string(),
  approvals: z.int(),
  denials: z.int(),
  why: leftWhy,
  detail: z.string(),
});
export type LeftTool = z.infer<typeof left>;

export const minedResult = z.object({
  since: z.string(),
  until: z.string(),
  approvals: z.int(),
  denials: z.int(),
  /** Approved with other arguments than the agent's. */
  changed: z.int(),
  candidates: z.array(minedSuggestion),
  /** Rules that were found and are not among them: more than were asked for, or one that a denied call would have passed. */
  candidates_dropped: z.int(),
  /** Tools whose calls people decided and of which nothing can be suggested, the most decided ones first. */
  left: z.array(left),
  evaluated_in_ms: z.int(),
});
export type MinedResult = z.infer<typeof minedResult>;

/** One line of the answer: how far it is, and at last the result, or why there is none. */
export const mineLine = z.union([
  z.object({ progress: z.object({ decisions: z.int(), at: z.string() }) }),
  z.object({ result: minedResult }),
  z.object({ error: z.object({ code: z.string(), reason: z.string() }) }),
]);
export type MineLine = z.infer<typeof mineLine>;
