import { z } from 'zod';
import { qualificationCheck } from './brain-qualification.js';
import { jsonObject } from './json.js';

/** The body of `POST /inspect`. Unknown fields are ignored. */
export const inspectRequest = z.object({
  agent_id: z.string().min(1).max(256),
  jsonrpc: z.string().optional(),
  method: z.string().min(1).max(256),
  params: jsonObject.default({}),
  id: z.union([z.string(), z.number()]).optional(),
  correlation_id: z.string().optional(),
  tenant: z.string().nullish(),
  prior_requests: z
    .array(z.object({ method: z.string(), tool: z.string() }))
    .max(16)
    .default([]),
});
export type InspectRequest = z.infer<typeof inspectRequest>;

export const INTENT_CATEGORIES = [
  'Direct Execution',
  'Information Retrieval',
  'Privileged Action',
  'Meta-Reasoning',
] as const;
export const intentCategory = z.enum(INTENT_CATEGORIES);
export type IntentCategory = z.infer<typeof intentCategory>;

/** What a verdict was based on. `brain_evidence_sha256` in the ledger row commits to its canonical bytes. */
export const inspectionEvidence = z.object({
  brain_version: z.string(),
  mock_mode: z.boolean(),
  provider_models: z.record(z.string(), z.string()),
  /** Which model answered in a lane, where one did: the configured one, or one that stood in for it. */
  answered_by: z.record(z.string(), z.string()).optional(),
  prompt_sha256: z.record(z.string(), z.string()),
  embedding_model: z.string(),
  drift_threshold: z.number(),
  injection_heuristic_level: z.string(),
  normalized_input_sha256: z.string().optional(),
  cache_served: z.boolean(),
});

/** Why a call is unlike those before it (docs/architecture/drift.md#reasons). The text holds counts and ratios, and no argument. */
const behaviourReason = z.object({
  kind: z.enum([
    'amount_far',
    'amount_unread',
    'currency',
    'size',
    'look_alike',
    'amount',
    'destination',
    'tool',
    'hour',
    'order',
    'shape',
  ]),
  text: z.string(),
});
export type BehaviourReason = z.infer<typeof behaviourReason>;

/** How far a call is from what its agent did before. */
const behaviour = z.object({
  /** False when the agent has too little history: it is not measured then. */
  available: z.boolean(),
  /** Basis points, at most 6,000. */
  score_bp: z.number().int(),
  reasons: z.array(behaviourReason),
  /** How many earlier calls of this tool it was compared with. */
  calls: z.number().int(),
  /** On how many days the agent called before. */
  days: z.number().int(),
  /** SHA-256 of the profile that was read, 64 hex digits; `null` when there is none. */
  profile_sha256: z.string().nullable(),
});
export type Behaviour = z.infer<typeof behaviour>;
/** What judges, as the evidence of a verdict names it. */
const judgingNow = inspectionEvidence.pick({
  brain_version: true,
  mock_mode: true,
  provider_models: true,
  embedding_model: true,
  injection_heuristic_level: true,
});
export type JudgingNow = z.infer<typeof judgingNow>;

const count = z.number().int().min(0);
const percent = z.number().int().min(0).max(100);
/** `open`: no question is let through; `trying`: one at a time is, to find out whether it answers again. */
const circuit = z.enum(['closed', 'open', 'trying']);

/** A provider of models, as Brain knows it from what it asked. Nothing here is its address or its key. */
const providerStanding = z.object({
  /** Its alias in the file of models. */
  name: z.string(),
  /** The protocol that it is asked by. */
  kind: z.string(),
  /** For everybody. */
  circuit,
  /** For the tenant that was asked for, by its own failures. */
  circuit_of_tenant: circuit,
  /** When an open circuit lets somebody try; `null` where none is open. */
  again_at: z.iso.datetime().nullable(),
  /** Questions to it in the last `minutes`, of all tenants, and those of them that failed. */
  asked: count,
  failed: count,
  /** Beside these: not sent, because it is held back or its budget is used up. */
  not_asked: count,
  /** The class of the last failure, however long ago since the start (docs/architecture/models.md#another-model). */
  last_failure: z.object({ failure: z.string(), at: z.iso.datetime() }).nullable(),
  last_answer_at: z.iso.datetime().nullable(),
  /** Per cent of the budget of this hour: of all tenants together, and of the tenant's own; `null` where none is set. */
  budget: z.object({ used_percent: percent, used_by_tenant_percent: percent }).nullable(),
});

/** Who is asked for what, the primary first. */
const modelLane = z.object({
  lane: z.enum([
    'intent',
    'injection',
    'malicious_code',
    'compromised_package',
    'answers',
    'explain_pattern',
    'narrate_decision',
  ]),
  /** Of the lane that has two models. */
  tier: z.enum(['fast', 'deep']).nullable(),
  models: z.array(z.object({ alias: z.string(), provider: z.string(), model: z.string() })).min(1),
  hedge_after_ms: count.nullable(),
});

/** Which models judge and how their providers stand; without a file of models nothing of either. */
export const modelStanding = z.object({
  /** The minutes that `asked`, `failed` and `not_asked` are about. */
  minutes: count,
  providers: z.array(providerStanding),
  lanes: z.array(modelLane),
  /** The report by which the models may judge; `null` where none is required. */
  qualification: z
    .object({
      made_at: z.iso.datetime(),
      /** After that Brain does not start with it. */
      counts_until: z.iso.datetime(),
      report_sha256: z.string(),
      gate_version: z.string(),
      cases: count,
      runs: count,
      rounds: count,
      result: z.enum(['pass', 'fail']),
      checks: z.array(qualificationCheck),
    })
    .nullable(),
});
export type ModelStanding = z.infer<typeof modelStanding>;

/** What judges in Brain now (`GET /model-snapshot`). */
export const modelSnapshot = judgingNow.extend(modelStanding.shape);
export type ModelSnapshot = z.infer<typeof modelSnapshot>;

/** A JSON Pointer into the parameters of a call, empty where not all of its texts were looked at; in a batch, which call, from 0. */
export const injectedPlace = z.object({ at: z.string(), call: z.number().int().min(0).optional() });
export type InjectedPlace = z.infer<typeof injectedPlace>;

/** The result of an inspection (docs/architecture/verdict.md#inspection-lanes). Scores are 0-1, drift is 0-2 (1 minus cosine). */
export const inspectionResponse = z.object({
  authorized: z.boolean(),
  reason: z.string(),
  intent_category: intentCategory,
  persona_drift_score: z.number(),
  injection_detected: z.boolean(),
  injection_confidence: z.number(),
  /** Findings below the injection detector's confidence threshold: classes, never text. For policy, which parks such a call. */
  injection_suspicions: z.array(z.string()).optional(),
  /** Of a request that instructs a model, or may: where, as far as one text does so by itself. */
  injected_at: z.array(injectedPlace).optional(),
  /** Classes of deeds that the request may state and may not, which policy hands to a person. */
  intent_suspicions: z.array(z.string()).optional(),
  malicious_code_detected: z.boolean(),
  malicious_code_confidence: z.number(),
  compromised_package_detected: z.boolean(),
  compromised_package_confidence: z.number(),
  sequence_escalation_score: z.number(),
  drift_available: z.boolean(),
  /** Added by the proxy, which has the agent's history: absent in Brain's own answer. */
  behaviour: behaviour.optional(),
  degraded: z.array(z.string()).optional(),
  cost_micros: z.number().int(),
  evidence: inspectionEvidence,
  /** The parameters with personal data and secrets masked, where Brain is set to say them and the verdict is no cached one. */
  masked_params: jsonObject.optional(),
});
export type InspectionResponse = z.infer<typeof inspectionResponse>;
