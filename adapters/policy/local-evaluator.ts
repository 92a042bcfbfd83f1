import { availableParallelism } from 'node:os';
import type { PolicyInput } from '../../contracts/policy.js';
import type { AddedRules } from '../../domain/policy/added-rules.js';
import {
  type AddedFor,
  createEvaluation,
  type PolicyObserver,
  type PolicyThreads,
} from '../../domain/policy/evaluation.js';
import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';
import { type Judgement, ORDINARY, type PolicySet, type TimedJudgement } from '../../domain/policy/policy-set.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';
import { handingOver } from './handed-rules.js';
import type { PolicyQuestion, PolicyStart } from './policy-thread.js';

export interface LocalEvaluator extends PolicyEvaluator {
  /**
   * Each input by the floor and these rules, in threads alone, for work that nobody waits for within a call. `who` takes turns with agents.
   * Counts for no metric. Throws `policy_unavailable` when it takes too long.
   */
  judgeAll(inputs: readonly PolicyInput[], added: AddedRules | null, who: string): Promise<readonly Judgement[]>;
  /** One of these, with how long the thread worked on it: whatever waited before is not counted. */
  timed(input: PolicyInput, added: AddedRules | null, who: string): Promise<TimedJudgement>;
  /** Starts a thread, so that the first large input need not wait for one. */
  warm(): void;
  /** Ends its threads; open requests are refused. */
  close(): Promise<void>;
}

/** More than the calls of a batch, each of which may be large. */
const LONGEST_QUEUE = 128;
/** Inputs that are judged in one turn of a thread, about 50 ms of it. */
const AT_ONCE = 50;
/** One tenant leaves a thread to others, so there are two at least. */
const THREADS = Math.max(2, Math.min(4, availableParallelism() - 1));

export interface EvaluatorLimits extends ThreadLimits {
  readonly inPlaceMs?: number;
}

/** Policy in this process (`createEvaluation`), with the threads that judge what would take long. */
export function createLocalEvaluator(
  policies: Pick<PolicySet, 'judge' | 'denied' | 'material'>,
  observe?: PolicyObserver,
  { inPlaceMs, ...limits }: EvaluatorLimits = {},
  addedFor: AddedFor = () => null,
): LocalEvaluator {
  const threads = createThreads<PolicyQuestion, readonly TimedJudgement[]>({
    work: 'policy evaluation',
    code: 'policy_unavailable',
    unreadable: 'policy_input_invalid',
    script: compiledScript(new URL('./policy-thread.js', import.meta.url)),
    material: (careful): PolicyStart => ({ floor: policies.material, added: careful ? null : handed(inForce()) }),
    longestQueue: LONGEST_QUEUE,
    threads: THREADS,
    groupOf: tenantOf,
    ...limits,
  });
  const handed = handingOver();
  /** What holds for everybody. */
  const inForce = (): AddedRules | null => {
    const added = addedFor(ORDINARY);
    return added && 'refused' in added ? null : added;
  };
  const judge: PolicyThreads['judge'] = (inputs, added, who) => threads.ask({ inputs, added: handed(added) }, who);
  return {
    ...createEvaluation(policies, { judge }, observe, addedFor, inPlaceMs),
    async judgeAll(inputs, added, who) {
      const judged: Judgement[] = [];
      for (let at = 0; at < inputs.length; at += AT_ONCE)
        judged.push(...(await judge(inputs.slice(at, at + AT_ONCE), added, who)).map(({ judgement }) => judgement));
      return judged;
    },
    timed: async (input, added, who) => (await judge([input], added, who))[0] as TimedJudgement,
    warm: () => threads.warm(),
    close: () => threads.close(),
  };
}

/** Of who is no agent of a tenant, its whole name. */
const tenantOf = (agent: string): string => agent.split('/', 1)[0] as string;
