import { performance } from 'node:perf_hooks';
import type { PolicyInput } from '../../contracts/policy.js';
import type { PolicyEvaluator } from './evaluator.js';
import type { Judgement, PolicySet } from './policy-set.js';

/** Told of every evaluation: what came out, for which tool, in how many seconds. */
export type PolicyObserver = (judgement: Judgement, tool: string, seconds: number) => void;

/** Policy in this process. An invalid input is a rejection with `policy_input_invalid`; nothing else rejects. */
export const createLocalEvaluator = (
  policies: Pick<PolicySet, 'judge'>,
  observe: PolicyObserver = () => {},
): PolicyEvaluator => ({
  async evaluate(input: PolicyInput) {
    const started = performance.now();
    const judgement = policies.judge(input);
    observe(judgement, input.tool_type, (performance.now() - started) / 1000);
    return judgement.decision;
  },
});
