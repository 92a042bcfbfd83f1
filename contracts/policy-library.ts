import { z } from 'zod';
import { tenantName } from './erasure.js';
import { jsonObject } from './json.js';
import { storableString } from './storable.js';
import { policyInput } from './policy.js';

/** Bytes of one policy. */
export const MAX_POLICY_BYTES = 1_048_576;
/** Inputs of one question of `POST /policies/evaluate-batch`. */
export const MAX_BATCH_INPUTS = 5_000;

export const policyName = storableString(1, 128).regex(/^(?!.*\.\.)[^/\\]+$/, 'has no /, \\ or .. and is not empty');
const contentType = z.enum(['rego', 'json']);
export const policyBody = storableString(0, MAX_POLICY_BYTES);
const expected = z.int().min(1);
const bodyDigest = z.string().regex(/^[0-9a-f]{64}$/);
/** The text that is meant: a tenant's own copy and the one for everybody count their versions apart, and either may come in the other's place. */
const expectedBody = bodyDigest.optional();

export const LONGEST_POLICY_REASON = 1_024;
/** Why, and who, as the operator's session says. */
const by = {
  reason: storableString(1, LONGEST_POLICY_REASON).regex(/\S/, 'is not blank'),
  actor_sub: storableString(1, 512),
  actor_idp: storableString(1, 512),
};
export const policyReason = z.strictObject(by);
export const createPolicy = z.strictObject({
  name: policyName,
  content_type: contentType,
  body: policyBody,
  active: z.boolean().default(true),
  ...by,
});
export const updatePolicy = z.strictObject({
  body: policyBody,
  expected_current_version: expected,
  expected_body_sha256: expectedBody,
  ...by,
});
export const changePolicyState = z.strictObject({
  expected_current_version: expected,
  expected_body_sha256: expectedBody,
  ...by,
});
/** The text for everybody that is in force for the tenant again without its copy; null where none may be. Another one is `version_conflict`. */
const expectedBack = bodyDigest.nullable().optional();
export const deletePolicy = changePolicyState.extend({ expected_back_sha256: expectedBack });
/** To whatever the text of now is, where nobody says which version he looked at. */
export const rollbackPolicy = z.strictObject({
  expected_current_version: expected.optional(),
  expected_body_sha256: expectedBody,
  ...by,
});
/** Changes of one question of `POST /policies/apply`. */
export const MAX_APPLIED_CHANGES = 1_000;
const onVersion = { name: policyName, expected_current_version: expected, expected_body_sha256: expectedBody };
const appliedChange = z.discriminatedUnion('what', [
  z.strictObject({
    what: z.literal('create'),
    name: policyName,
    content_type: contentType,
    body: policyBody,
    active: z.boolean().default(true),
  }),
  z.strictObject({ what: z.literal('update'), body: policyBody, ...onVersion }),
  z.strictObject({ what: z.literal('activate'), ...onVersion }),
  z.strictObject({ what: z.literal('deactivate'), ...onVersion }),
  z.strictObject({ what: z.literal('delete'), ...onVersion, expected_back_sha256: expectedBack }),
]);
export type AppliedChange = z.infer<typeof appliedChange>;
/** Several changes that come into force in one step, or not at all. Each is made on what those before it leave. */
export const applyPolicies = z.strictObject({
  changes: z.array(appliedChange).min(1).max(MAX_APPLIED_CHANGES),
  ...by,
});
export type ApplyPolicies = z.infer<typeof applyPolicies>;
export const validatePolicy = z.strictObject({ name: policyName, content_type: contentType, body: policyBody });
export type PolicyReason = z.infer<typeof policyReason>;
export type CreatePolicy = z.infer<typeof createPolicy>;
export type UpdatePolicy = z.infer<typeof updatePolicy>;
export type ChangePolicyState = z.infer<typeof changePolicyState>;
export type DeletePolicy = z.infer<typeof deletePolicy>;
export type RollbackPolicy = z.infer<typeof rollbackPolicy>;
export type ValidatePolicy = z.infer<typeof validatePolicy>;

/** Whose rows of changes are, in the ledger. */
export const POLICY_ENGINE_AGENT = 'gate-policy-engine';
export const policyEventKind = z.enum([
  'policy.created',
  'policy.updated',
  'policy.activated',
  'policy.deactivated',
  'policy.deleted',
  'policy.installed_from_template',
]);
export type PolicyEventKind = z.infer<typeof policyEventKind>;

/** How the warning begins that a change is not in force. */
export const STORED_ALONE = 'this is stored, and not in force in the process that answers';
/**
 * That a change is not in force in the process that answers, and what is in force and never holds, since nothing has what it reads; of what a change
 * touches. It keeps nothing from being stored.
 */
const warnings = z.array(z.string()).optional();
/** What a change made: a new version, always. */
const changedPolicy = z.object({
  name: z.string(),
  version: z.int(),
  body_sha256: z.string(),
  current_version: z.int(),
  active: z.boolean(),
  event_kind: policyEventKind,
});
export const mutatedPolicy = changedPolicy.extend({ warnings });
export type MutatedPolicy = z.infer<typeof mutatedPolicy>;

/** In the order of the changes. */
export const appliedPolicies = z.object({ results: z.array(changedPolicy), warnings });
export type AppliedPolicies = z.infer<typeof appliedPolicies>;

export const policyVersion = z.object({
  name: z.string(),
  version: z.int(),
  body: z.string(),
  body_sha256: z.string(),
  active: z.boolean(),
  reason: z.string(),
  actor_sub: z.string(),
  actor_idp: z.string(),
  /** What made it; null for a file that came with the rules that ship. */
  event_kind: policyEventKind.nullable(),
  /** Its place in the ledger; null until the ledger has its row. */
  chain_seq: z.int().nullable(),
  created_at: z.string(),
});
export type PolicyVersion = z.infer<typeof policyVersion>;
/** A version that somebody edited in the store: which one, and what is wrong with it. Nothing else of it is said. */
const tamperedVersion = z.object({ name: z.string(), version: z.int(), tampered: z.string() });
const keptVersion = z.union([policyVersion, tamperedVersion]);
export type KeptVersion = z.infer<typeof keptVersion>;
export const isIntact = (version: KeptVersion): version is PolicyVersion => !('tampered' in version);
export const policyVersions = z.object({ versions: z.array(keptVersion) });

export const policyDiff = z.object({ name: z.string(), from: z.int(), to: z.int(), diff: z.string() });

const place = {
  message: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
  /** Where in a document, as a JSON pointer (RFC 6901). */
  pointer: z.string().optional(),
};
/** `formatted` is the body in OPA's form, where that is another one; `warnings` do not keep it from being stored. */
export const validatedPolicy = z.object({
  ok: z.boolean(),
  error: z.object(place).optional(),
  formatted: z.string().optional(),
  warnings: z.array(z.string()).optional(),
});
export type ValidatedPolicy = z.infer<typeof validatedPolicy>;

export const changedCategory = z.object({
  changed: z.int(),
  skipped: z.int(),
  results: z.array(changedPolicy),
  warnings,
});
export type ChangedCategory = z.infer<typeof changedCategory>;

const tried = {
  mode: z.enum(['add', 'replace']).default('add'),
  replace_rule_name: policyName.optional(),
  inputs: z.array(policyInput),
};
export const policyBatch = z.strictObject({ candidate_rego: policyBody, candidate_name: policyName, ...tried });

/** What the rules of a template are set to; what is not said is as the template has it. */
const parameters = jsonObject.optional();
export const installTemplate = z.strictObject({
  parameters,
  /** The document of parameters that somebody looked at; `null` where there was none. Another one by now is `version_conflict`. */
  expected_document_version: expected.nullable().optional(),
  expected_document_sha256: expectedBody,
  ...by,
});
export type InstallTemplate = z.infer<typeof installTemplate>;
export const templateLab = z.strictObject({ parameters, ...tried });

/** A template as its header says it. */
export const templateFacts = z.object({
  name: z.string(),
  content_type: z.literal('rego'),
  domain: z.string(),
  severity: z.enum(['low', 'medium', 'high', 'critical']),
  frameworks: z.array(z.string()),
  tags: z.array(z.string()),
  tier: z.enum(['deny', 'review', 'mixed']),
  tool_surface: z.array(z.string()),
  summary: z.string(),
});
export type TemplateFacts = z.infer<typeof templateFacts>;
/** `installed`: a policy of that name is in force. */
export const shownTemplate = templateFacts.extend({ installed: z.boolean() });
export type ShownTemplate = z.infer<typeof shownTemplate>;
export const templateList = z.array(shownTemplate);
/** `parameters` is their JSON Schema, with the defaults; null where there are none. */
export const templateFile = shownTemplate.extend({
  body: z.string(),
  body_sha256: z.string(),
  parameters: jsonObject.nullable(),
});
export type TemplateFile = z.infer<typeof templateFile>;

const judged = z.object({ allow: z.boolean(), reasons: z.array(z.string()), review_reasons: z.array(z.string()) });
export const batchDiff = z.enum([
  'allow_to_deny',
  'allow_to_yellow',
  'deny_to_allow',
  'deny_to_yellow',
  'yellow_to_allow',
  'yellow_to_deny',
  'unchanged',
]);
export const policyBatchAnswer = z.object({
  active_compile_ok: z.boolean(),
  candidate_compile_ok: z.boolean(),
  compile_error: z.object(place).optional(),
  results: z.array(
    z.object({
      correlation_id: z.string().nullish(),
      input: z.record(z.string(), z.unknown()),
      before: judged,
      after: judged,
      diff: batchDiff,
    }),
  ),
});

export const provisionedTenant = z.object({
  tenant: tenantName,
  /** Copies that the tenant has. */
  policies: z.int(),
  /** Those that were made now; 0 where it had some. */
  created: z.int(),
  warnings,
});
export type ProvisionedTenant = z.infer<typeof provisionedTenant>;
export const withdrawnTenant = z.object({ tenant: tenantName, removed: z.int(), warnings });
export type WithdrawnTenant = z.infer<typeof withdrawnTenant>;

/** The policy engine's steps in a tenant's life. */
export const tenantPoliciesRequest = z.strictObject({
  operation_id: z.uuid().lowercase(),
  kind: z.enum(['provision', 'offboard']),
});
export type TenantPoliciesRequest = z.infer<typeof tenantPoliciesRequest>;
/** The result of a step; a repeat returns the same one. `receipt_sha256` covers the RFC 8785 JSON of the rest. */
export const tenantPoliciesReceipt = z.strictObject({
  tenant: tenantName,
  operation_id: z.string(),
  kind: tenantPoliciesRequest.shape.kind,
  state: z.enum(['active', 'offboarded']),
  /** Counts the operations of the tenant. */
  generation: z.int().min(1),
  /** Policies in force for a tenant that came; copies of its own that one that left had. */
  policies: z.int().min(0),
  updated_at: z.iso.datetime(),
  receipt_sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type TenantPoliciesReceipt = z.infer<typeof tenantPoliciesReceipt>;

/** A set of rules as it is stored: which files it is made of, and which compiled module holds them. */
export const storedFiles = z.array(
  z.object({ name: z.string(), content_type: contentType, version: z.int(), body_sha256: z.string() }),
);
