import { performance } from 'node:perf_hooks';
import type { PolicyInput } from '../../contracts/policy.js';
import { GateError } from '../errors.js';
import { JUDGED_IN_PLACE, LOOKED_AT_IN_PLACE, sizeOf } from '../large.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads.js';
import { createTurns } from '../turns.js';
import type { PolicyEvaluator } from './evaluator.js';
import type { Judgement, PolicySet } from './policy-set.js';

/** Told of every evaluation: what came out, for which tool, in how many seconds. */
export type PolicyObserver = (judgement: Judgement, tool: string, seconds: number) => void;

export interface LocalEvaluator extends PolicyEvaluator {
  /** Ends its threads; what they were asked is refused. */
  close(): Promise<void>;
}

/** More than the calls of a batch, each of which may be large. */
const LONGEST_QUEUE = 128;

/**
 * Policy in this process, holding up nobody else: an input that is large is judged in a thread, and of small ones only so many in one
 * turn of the event loop, since a batch is many at once. Agents take turns at both. An invalid input is a rejection with `policy_input_invalid`; one that is not
 * judged in time is one with `policy_unavailable`.
 */
export function createLocalEvaluator(
  policies: Pick<PolicySet, 'judge' | 'material'>,
  observe: PolicyObserver = () => {},
  limits: ThreadLimits = {},
): LocalEvaluator {
  const threads = createThreads<PolicyInput, Judgement>({
    work: 'policy evaluation',
    code: 'policy_unavailable',
    script: compiledScript(new URL('./policy-thread.js', import.meta.url)),
    material: policies.material,
    longestQueue: LONGEST_QUEUE,
    ...limits,
  });
  const turns = createTurns();
  const late = () =>
    new GateError('policy_unavailable', 'too many calls wait for policy evaluation already; try again later');
  return {
    async evaluate(input) {
      const started = performance.now();
      const agent = agentOf(input);
      const judgement = isLarge(input)
        ? await threads.ask(input, agent)
        : await turns.run(() => policies.judge(input), { agent, late });
      observe(judgement, input.tool_type, (performance.now() - started) / 1000);
      return judgement.decision;
    },
    close: () => threads.close(),
  };
}

/** Whose call it is; what names nobody is one agent. Not checked yet: it may be anything. */
const agentOf = (input: Partial<PolicyInput> | null): string => `${input?.tenant ?? ''}/${input?.agent_id ?? ''}`;

const isLarge = (input: Partial<PolicyInput> | null): boolean =>
  sizeOf(input?.arguments, JUDGED_IN_PLACE) > JUDGED_IN_PLACE || sizeOf(input) > LOOKED_AT_IN_PLACE;
