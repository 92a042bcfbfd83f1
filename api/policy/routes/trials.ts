import type { PolicyInput } from '../../../contracts/policy.js';
import {
  type batchDiff,
  MAX_BATCH_INPUTS,
  policyBatch,
  policyBatchAnswer,
  validatedPolicy,
  validatePolicy,
} from '../../../contracts/policy-library.js';
import type { z } from 'zod';
import type { JsonObject } from '../../../contracts/json.js';
import { GateError } from '../../../domain/errors.js';
import { EVERYBODY } from '../../../domain/policy/library-ports.js';
import type { Judgement } from '../../../domain/policy/policy-set.js';
import { answersAsMade } from '../../plugins/answers-as-made.js';
import type { ServiceApp } from '../../plugins/app.js';
import { managedBy, type PolicyManagement } from '../management.js';
import { POLICY_BODY_LIMIT } from './changes.js';
import { ofTenant } from './policies.js';

/** Five thousand inputs with their arguments. */
export const BATCH_BODY_LIMIT = 64 * 1_048_576;
const LAB = 'gate/policy-lab';

/** What tries a policy without storing it: whether it compiles, and how it would judge calls of before. */
export function policyTrialRoutes(app: ServiceApp, management: PolicyManagement | null): void {
  const managed = () => managedBy(management);
  app.post(
    '/policies/validate',
    { bodyLimit: POLICY_BODY_LIMIT, schema: { body: validatePolicy, response: { 200: validatedPolicy } } },
    ({ body }) => managed().library.validate(body),
  );
  app.post(
    '/policies/evaluate-batch',
    {
      bodyLimit: BATCH_BODY_LIMIT,
      // It holds the inputs, which may be nested deeper than a schema can be asked about from here.
      ...answersAsMade,
      schema: { querystring: ofTenant, body: policyBatch, response: { 200: policyBatchAnswer } },
    },
    ({ query: { tenant = EVERYBODY }, body: { candidate_name: name, candidate_rego: body, ...tried } }) =>
      judgedWith(managed(), tenant, { ...tried, name, body }),
  );
}

interface Trial {
  readonly name: string;
  readonly body: string;
  readonly parameters?: JsonObject | undefined;
  readonly mode: 'add' | 'replace';
  readonly replace_rule_name?: string | undefined;
  readonly inputs: readonly PolicyInput[];
}

/** Each input by what is in force, and by that with a candidate beside it or in the place of a policy. Nothing is stored. */
export async function judgedWith(
  { library, live, trials }: PolicyManagement,
  tenant: string,
  { name, body, parameters, mode, replace_rule_name: replaced, inputs }: Trial,
): Promise<z.infer<typeof policyBatchAnswer>> {
  if (inputs.length > MAX_BATCH_INPUTS)
    throw new GateError('batch_too_large', `a batch has at most ${MAX_BATCH_INPUTS} inputs`);
  if ((mode === 'replace') !== (replaced !== undefined))
    throw new GateError('invalid_request', 'replace_rule_name belongs to the mode replace');
  const { wasm, data, files } = await library
    .candidate(tenant, { name, body, parameters, instead: replaced ?? null })
    .catch((error: unknown) => {
      throw error instanceof GateError && error.code === 'policy_invalid' ? uncompiled(error) : error;
    });
  const rules = await live.tried(wasm, data, files);
  const before = await trials.judgeAll(inputs, live.judgingNow(tenant).rules, LAB);
  const after = await trials.judgeAll(inputs, rules, LAB);
  return {
    active_compile_ok: true,
    candidate_compile_ok: true,
    results: inputs.map((input, at) => compared(input, before[at] as Judgement, after[at] as Judgement)),
  };
}

/** The answer that says which of both does not compile. */
function uncompiled(error: GateError): GateError {
  const { message, line, column } = error.fields;
  const compile_error = { message, line, column } as JsonObject;
  const fields = { active_compile_ok: true, candidate_compile_ok: false, compile_error };
  return new GateError('policy_invalid', error.message, { cause: error, fields: { ...error.fields, ...fields } });
}

const TIERS = { green: 'allow', yellow: 'yellow', red: 'deny' } as const;
const shown = ({ decision: { allow, reasons, review_reasons } }: Judgement) => ({ allow, reasons, review_reasons });

function compared(input: PolicyInput, before: Judgement, after: Judgement) {
  const [from, to] = [TIERS[before.tier], TIERS[after.tier]];
  return {
    correlation_id: input.correlation_id,
    input,
    before: shown(before),
    after: shown(after),
    diff: from === to ? 'unchanged' : (`${from}_to_${to}` as z.infer<typeof batchDiff>),
  };
}
