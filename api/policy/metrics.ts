import { Counter, Histogram, type Registry } from 'prom-client';
import type { PolicyObserver } from '../../domain/policy/evaluation.js';

/** Tool names come from outside, so only this many get their own label. */
const MAX_UNKNOWN_TOOLS = 100;
const MAX_LABEL_CHARACTERS = 64;

/**
 * Metrics of policy: verdicts by tier, time, evaluations that failed closed, budget denials, and unknown tool names, each a candidate for
 * data.json.
 */
export function policyMetrics(registry: Registry): PolicyObserver {
  const registers = [registry];
  const evaluations = new Counter({
    name: 'gate_policy_engine_evaluations_total',
    help: 'Evaluations by the tier that came out.',
    labelNames: ['tier'],
    registers,
  });
  const seconds = new Histogram({
    name: 'gate_policy_engine_evaluation_seconds',
    help: 'Time of one evaluation.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25],
    registers,
  });
  const failures = new Counter({
    name: 'gate_policy_engine_evaluation_failures_total',
    help: 'Evaluations that could not be finished and were denied.',
    registers,
  });
  const budgetDenials = new Counter({
    name: 'gate_policy_engine_budget_denials_total',
    help: 'Calls denied because the budget of the agent is spent.',
    registers,
  });
  const unknownTools = new Counter({
    name: 'gate_policy_engine_unknown_tool_total',
    help: `Calls of tools whose name no verb and no list of the policy data knows; beyond ${MAX_UNKNOWN_TOOLS} names counted as "other".`,
    labelNames: ['tool'],
    registers,
  });
  const named = new Set<string>();
  const labelOf = (tool: string): string => {
    const label = tool.slice(0, MAX_LABEL_CHARACTERS);
    if (named.size < MAX_UNKNOWN_TOOLS) named.add(label);
    return named.has(label) ? label : 'other';
  };
  return (judgement, tool, elapsed) => {
    evaluations.inc({ tier: judgement.tier });
    seconds.observe(elapsed);
    if (judgement.failed) failures.inc();
    if (judgement.budgetExceeded) budgetDenials.inc();
    if (judgement.unknownTool) unknownTools.inc({ tool: labelOf(tool) });
  };
}
