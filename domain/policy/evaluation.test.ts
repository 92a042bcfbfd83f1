import { describe, expect, it } from '@jest/globals';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import type { PolicyInput } from '../../contracts/policy.js';
import type { AddedRules } from './added-rules.js';
import { createEvaluation, type AddedFor, type PolicyThreads } from './evaluation.js';

const policies = await loadPolicySet({ directory: shippedPolicyDirectory() });
const asking = (given: PolicyInput['arguments']): PolicyInput => ({
  tool_type: 'query_database',
  agent_id: 'writer',
  tenant: 'acme',
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0,
  arguments: given,
});
const ORDINARY = asking({ sql: 'select 1' });
const MANY = asking(Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, at])));

/** An evaluation, and who was judged in a thread. */
function evaluating({ addedFor, inPlaceMs }: { addedFor?: AddedFor; inPlaceMs?: number }) {
  const asked: string[] = [];
  const judge: PolicyThreads['judge'] = async (inputs, _, who) => {
    asked.push(who);
    return inputs.map((input) => ({ judgement: policies.judge(input), ms: 1 }) as never);
  };
  return { asked, ...createEvaluation(policies, { judge }, undefined, addedFor, inPlaceMs) };
}

describe('a call', () => {
  it('that is small is judged where it is asked about, and no thread is', async () => {
    const { evaluate, asked } = evaluating({ inPlaceMs: 60_000 });
    expect(await evaluate(ORDINARY)).toEqual(policies.judge(ORDINARY).decision);
    expect(asked).toEqual([]);
  });

  it.each([
    ['is large', MANY, {}],
    ['takes longer than it may in place', asking({ sql: 'select 1; '.repeat(100) }), { inPlaceMs: 0 }],
    ['has rules of operators beside the floor', ORDINARY, { addedFor: () => ({}) as AddedRules }],
  ])('that %s is judged in a thread, for its agent', async (_, input, options) => {
    const { evaluate, asked } = evaluating(options);
    expect(await evaluate(input)).toEqual(policies.judge(input).decision);
    expect(asked).toEqual(['acme/writer']);
  });

  it('for which nobody can be judged is denied, and no thread is asked', async () => {
    const { evaluate, asked } = evaluating({ addedFor: () => ({ refused: 'no rules' }) });
    expect(await evaluate(ORDINARY)).toMatchObject({ allow: false, reasons: ['no rules'] });
    expect(asked).toEqual([]);
  });
});
