import { z } from 'zod';
import { jsonObject } from './json.js';

/** What a case is about (docs/architecture/models.md#qualification). */
export const QUALIFICATION_CATEGORIES = [
  'benign_authorized',
  'benign_meta',
  'compromised_package',
  'credit_card_drift',
  'malicious_code_write',
  'meta_reasoning',
  'multi_turn_window_drift',
  'persona_drift_stretch',
  'privileged_action',
  'prompt_injection_direct',
] as const;
export const QUALIFIED_LANES = [
  'intent',
  'injection',
  'malicious_code',
  'compromised_package',
  'persona_drift',
  'sequence_escalation',
] as const;
const lane = z.enum(QUALIFIED_LANES);
export type QualifiedLane = z.infer<typeof lane>;

/** One line of `qualification/corpus.jsonl`. */
export const qualificationCase = z.strictObject({
  id: z.string().regex(/^[a-z_]{1,40}-\d{2}$/),
  category: z.enum(QUALIFICATION_CATEGORIES),
  language: z.string().regex(/^[a-z]{2}$/),
  /** The lanes that must find it, or that must find nothing. */
  lanes: z.array(lane).min(1),
  expect: z.enum(['authorized', 'refused']),
  tool: z.string().min(1),
  arguments: jsonObject,
  /** An agent whose persona ships with Gate. */
  agent: z.string().optional(),
  /** The tools that it called before. */
  after: z.array(z.string()).optional(),
});
export type QualificationCase = z.infer<typeof qualificationCase>;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().min(0);
const name = z.string().min(1).max(400);

/** Judgements with something in common, counted over all runs. */
const measured = z.strictObject({
  judged: count,
  /** Came out as expected: an attack refused, ordinary work run without a person. */
  passed: count,
  attacks: count,
  found: count,
  ordinary: count,
  false_positives: count,
  /** Attacks that the rules alone let through, and how many of those were found. */
  left_to_models: count,
  found_by_models: count,
  /** Questions that a model had to be asked, and those that one answered. */
  due: count,
  answered: count,
  /** Judged by less than Brain judges by, or by nothing that policy would take. */
  degraded: count,
  failures: count,
  agrees_with_rules: count,
  p50_ms: count,
  p95_ms: count,
  p99_ms: count,
  cost_micros: count,
  p95_cost_micros: count,
});
export type Measured = z.infer<typeof measured>;

/** A value beside its floor or its ceiling. */
export const qualificationCheck = z.strictObject({
  of: name,
  value: z.number(),
  at_least: z.number().optional(),
  at_most: z.number().optional(),
  holds: z.boolean(),
});
export type QualificationCheck = z.infer<typeof qualificationCheck>;

/** One pass over the corpus in which each lane asks one model alone. */
const round = z.strictObject({
  models: z.record(name, name),
  overall: measured,
  lanes: z.partialRecord(lane, measured),
  categories: z.partialRecord(z.enum(QUALIFICATION_CATEGORIES), measured),
  languages: z.record(z.string().regex(/^[a-z]{2}$/), measured),
  failures: z.array(z.strictObject({ lane, model: name, reason: name, times: count })),
  /** Cases that came out otherwise than expected, by their ids. */
  missed: z.array(name),
  ended_early: z.enum(['failures', 'cost']).nullable(),
});
export type QualificationRound = z.infer<typeof round>;

export const QUALIFICATION_CONTRACT = 'gate.brain-model-qualification/v1';
/** How long a report counts. */
export const QUALIFIED_FOR_DAYS = 30;

/** What was measured, without the digest of the report. */
export const qualificationBody = z.strictObject({
  contract: z.literal(QUALIFICATION_CONTRACT),
  made_at: z.iso.datetime(),
  target: z.strictObject({
    /** Of the file of models as it is understood; keys do not stand in it. */
    routing_sha256: sha256,
    models: z.record(name, z.array(name).min(1)),
    prompt_sha256: z.record(name, sha256),
    /** How secrets are taken out of what a model is shown. */
    masking: name,
    brain_version: name,
    injection_heuristic_level: z.enum(['standard', 'strict']),
    gate_version: name,
  }),
  corpus: z.strictObject({ sha256, cases: count }),
  runs: count,
  only: lane.nullable(),
  rounds: z.array(round).min(1),
  checks: z.array(qualificationCheck),
  violations: z.array(name),
  result: z.enum(['pass', 'fail']),
});
export type QualificationBody = z.infer<typeof qualificationBody>;

/** The report of `gate brain qualify`. */
export const qualificationReport = qualificationBody.extend({
  /** SHA-256 over the canonical bytes of everything else. */
  report_sha256: sha256,
});
export type QualificationReport = z.infer<typeof qualificationReport>;
