import type { CallInput, CallSummary } from '../../contracts/call.js';
import type { SignedDecision } from '../../contracts/review.js';
import { createStepActivities } from '../../activities/steps.js';
import { runCall } from '../../domain/pipeline/pipeline.js';
import type { DecisionOutcome, DecisionSender } from '../../domain/review/ports.js';
import type { GateActivities } from '../../workers/activities.js';
import { judgedInSteps } from './judged-in-steps.js';
import type { CallRunner } from '../../domain/pipeline/call-runner.js';

/**
 * Calls by the steps that the workflow takes, in its order, without an engine: what passes between two steps is JSON. Resolves `ended`
 * when a call is over.
 */
export function stepsHost(activities: GateActivities): CallRunner & DecisionSender & { ended(): Promise<unknown> } {
  const steps = createStepActivities(activities);
  const decided = new Map<string, (summary: CallSummary) => void>();
  const runs = new Set<Promise<unknown>>();
  return {
    ended: () => Promise.all(runs),
    start: (call: CallInput) =>
      new Promise((resolve, reject) => {
        const run = runCall(call, {
          now: Date.now,
          judge: async (input) => copied(await judgedInSteps(steps, input)),
          analyze: async (input) => void copied(await steps.analyze(input)),
          openReview: async (input, verdict) => copied(await steps.park(input, Date.now(), verdict)),
          awaitDecision: () => new Promise<CallSummary>((wake) => decided.set(call.correlation_id, wake)),
          execute: async (input, { version }, claimNotAfterMs) =>
            copied(await steps.execute(input, claimNotAfterMs, undefined, version)),
          appendRows: async (_input, reached) =>
            void (await steps.appendLedger(call.correlation_id, 'at_once', reached)),
          notify: () => Promise.resolve(),
          answer: resolve,
          appended: () => Promise.resolve(),
        });
        runs.add(run);
        run.catch(reject);
      }),
    async decide(decision: SignedDecision): Promise<DecisionOutcome> {
      const verdict = copied(await steps.applyDecision(decision));
      if (verdict.applied && verdict.settled === null) return { outcome: 'voted', approvals: verdict.approvals };
      if (verdict.summary) decided.get(decision.correlation_id)?.(verdict.summary);
      if (!verdict.applied) return { outcome: 'refused', code: verdict.code };
      return { outcome: 'applied', settled: verdict.settled, row_settled: verdict.row_settled };
    },
  };
}

const copied = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;
