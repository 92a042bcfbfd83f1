import { z } from 'zod';
import { policyBundle } from './policy.js';

/** What an answer may hold. The two kinds of instructions differ in how certain the finding is. */
export const RESPONSE_ENTITIES = [
  'PROMPT_INJECTION',
  'SUSPECTED_INJECTION',
  'AWS_ACCESS_KEY',
  'PRIVATE_KEY',
  'API_TOKEN',
  'DB_URI',
  'SSN',
  'CREDIT_CARD',
  'EMAIL',
] as const;
export const responseEntity = z.enum(RESPONSE_ENTITIES);
export type ResponseEntity = z.infer<typeof responseEntity>;

/** `injection` looks for instructions to a model, `data` for secrets and personal data. */
export const responseLane = z.enum(['injection', 'data']);
export type ResponseLane = z.infer<typeof responseLane>;

/** What offsets count: bytes of the text in UTF-8, or units of UTF-16 as in JavaScript. */
export const spanUnit = z.enum(['utf8_bytes', 'utf16_units']);

export const MAX_RESPONSE_CHARACTERS = 10_000_000;
/** The largest body of a scan, as JSON: twice the characters of the largest text, for escapes and what stands beside it. */
export const SCANNED_BYTES = 2 * MAX_RESPONSE_CHARACTERS + 65_536;

/** The body of `POST /scan-response`. `response_body` is an answer as it came: JSON, or any other text. */
export const scanRequest = z.object({
  correlation_id: z.string().optional(),
  agent_id: z.string().min(1).max(256),
  tenant: z.string().nullish(),
  method: z.string().min(1).max(256),
  tool: z.string().max(256).optional(),
  response_body: z.string().max(MAX_RESPONSE_CHARACTERS),
  /** `true`: a JSON-RPC reply to which Gate put the id of its caller: its `id` is not looked at. In any other text it is. */
  is_reply: z.boolean().optional(),
  lanes: z.array(responseLane).min(1).default(['injection', 'data']),
  span_unit: spanUnit.default('utf8_bytes'),
  /** `false`: rules alone read it, also where a model reads answers. */
  ask_models: z.boolean().optional(),
});
export type ScanRequest = z.infer<typeof scanRequest>;

/** A part of the answer, from `start` up to, not including, `end`. It never cuts a character or a JSON escape in two. */
export const entitySpan = z.object({
  entity_type: responseEntity,
  start: z.number().int().min(0),
  end: z.number().int().min(0),
});
export type EntitySpan = z.infer<typeof entitySpan>;

/** What was found, by class and place: never the text itself. */
export const scanResult = z.object({
  exfiltration_risk: z.enum(['clean', 'suspicious', 'high', 'critical']),
  confidence: z.number().min(0).max(1),
  /** In the order of `RESPONSE_ENTITIES`. */
  detected_entities: z.array(responseEntity),
  spans: z.array(entitySpan),
  /** What `start` and `end` count. */
  span_unit: spanUnit,
  /** Entities of which not every occurrence has a span. */
  unlocated: z.array(responseEntity),
  /** The rules that found instructions. */
  found: z.array(z.string()),
  reasoning: z.string(),
  scanner_version: z.string(),
  /** Where a model read the answer: which one, and what that cost in millionths of a dollar. */
  answered_by: z.string().optional(),
  /** SHA-256 of the prompt that it was asked with, 64 hex digits. */
  prompt_sha256: z.string().optional(),
  cost_micros: z.number().int().min(0).optional(),
  /** Why a model that was to read all of it did not: a failure (docs/architecture/models.md#another-model), `withheld`, `too_large` or `failed`. */
  unread: z.string().optional(),
});
export type ScanResult = z.infer<typeof scanResult>;

/** The body of `POST /scan-request`: the arguments of a call, as JSON or any other text. */
export const argumentScanRequest = scanRequest
  .omit({ response_body: true, is_reply: true, lanes: true, ask_models: true })
  .extend({ request_body: z.string().max(MAX_RESPONSE_CHARACTERS) });
export type ArgumentScanRequest = z.infer<typeof argumentScanRequest>;

/** Secrets and personal data in arguments, by class and place. It says nothing about the call: that is the verdict's. */
export const argumentScanResult = scanResult.pick({ detected_entities: true, spans: true, span_unit: true });
export type ArgumentScanResult = z.infer<typeof argumentScanResult>;

/** From harmless to worst. `mark` tells a model that the text is data; `sanitize` takes the spans out; `deny` withholds the answer. */
export const RESPONSE_ACTIONS = ['allow', 'mark', 'sanitize', 'deny'] as const;
export const responseAction = z.enum(RESPONSE_ACTIONS);
export type ResponseAction = z.infer<typeof responseAction>;

/** The body of `POST /evaluate-egress`, and the rules' `input`: classes only, never what was found. */
export const responseQuestion = z.object({
  entities: z.array(z.string().min(1).max(64)).max(256),
  tool_type: z.string().max(256).optional(),
  method: z.string().max(256).optional(),
  agent_id: z.string().max(256).optional(),
  tenant: z.string().nullish(),
});
export type ResponseQuestion = z.infer<typeof responseQuestion>;

/** What policy wants done about each class; `default_action` holds for every other one. */
export const responseDecision = z.object({
  actions: z.record(z.string(), responseAction),
  default_action: responseAction,
  policy_bundle: policyBundle,
});
export type ResponseDecision = z.infer<typeof responseDecision>;
