import { policyBundle } from '../../../contracts/policy.js';
import { explainedVerdict, recordedVerdict, replayedVerdict } from '../../../contracts/policy-studies.js';
import { GateError } from '../../../domain/errors.js';
import { EVERYBODY } from '../../../domain/policy/library-ports.js';
import { toldExplanation } from '../../../domain/policy/explain/told.js';
import type { PolicySet } from '../../../domain/policy/policy-set.js';
import { comparedIn } from '../../../domain/replay/comparisons.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { PolicyManagement } from '../management.js';

/** The largest request with everything that its rows say of it. */
const RECORDED_BODY_LIMIT = 16 * 1_048_576;

/** What rules say of calls that were judged before. Nothing of it changes anything, and nothing of it is stored. */
export function policyStudyRoutes(app: ServiceApp, floor: PolicySet, management: PolicyManagement | null): void {
  const managed = (): PolicyManagement => {
    if (!management) throw new GateError('store_unavailable', 'this process keeps no policies');
    return management;
  };
  app.post(
    '/policies/replay',
    { bodyLimit: RECORDED_BODY_LIMIT, schema: { body: recordedVerdict, response: { 200: replayedVerdict } } },
    async ({ body }) => {
      const { live, studies } = managed();
      const bundle = policyBundle.safeParse(body.decision['policy_bundle']);
      if (!bundle.success)
        throw new GateError('invalid_request', 'the decision does not say by which rules it was made');
      const { rules } = await live.judgedBy(body.input.tenant ?? EVERYBODY, bundle.data);
      return { policy_bundle: bundle.data, ...comparedIn(await studies.again(body, rules)) };
    },
  );
  app.post(
    '/policies/explain',
    { bodyLimit: RECORDED_BODY_LIMIT, schema: { body: recordedVerdict, response: { 200: explainedVerdict } } },
    async ({ body: { input, request, decision } }) => {
      const { live, studies, library } = managed();
      const tenant = input.tenant ?? EVERYBODY;
      const bundle = policyBundle.safeParse(decision['policy_bundle']);
      const then = bundle.success ? await unlessGone(live.judgedBy(tenant, bundle.data)) : null;
      const { rules, files } = then ?? live.judgingNow(tenant);
      const texts = [...floor.files, ...(await library.textsOf(tenant, files))];
      const found = {
        rules: then ? ('then' as const) : ('now' as const),
        policy_bundle: rules?.bundle ?? floor.bundle,
        ...(await studies.why({ input, request }, rules, texts)),
      };
      return { ...found, text: toldExplanation(found, input.tool_type) };
    },
  );
}

async function unlessGone<Value>(asked: Promise<Value>): Promise<Value | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof GateError && error.code === 'bundle_gone') return null;
    throw error;
  }
}
