import type { StepActivities } from '../../activities/steps.js';
import type { CallInput, CallSummary } from '../../contracts/call.js';

/** From the request to the verdict, by the two steps that a call's workflow takes. */
export async function judgedInSteps(
  steps: Pick<StepActivities, 'inspect' | 'evaluate'>,
  call: CallInput,
): Promise<CallSummary> {
  const looked = await steps.inspect(call);
  return 'closed' in looked ? looked.closed : steps.evaluate(call);
}
