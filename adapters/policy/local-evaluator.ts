import { performance } from 'node:perf_hooks';
import type { PolicyInput } from '../../contracts/policy.js';
import { GateError } from '../../domain/errors.js';
import { lasting, TookTooLong } from '../../domain/in-place.js';
import { JUDGED_IN_PLACE, LOOKED_AT_IN_PLACE, sizeOf } from '../../domain/large.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';
import { createTurns } from '../../domain/turns.js';
import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';
import type { AddedRules } from '../../domain/policy/added-rules.js';
import type { Judgement, PolicySet } from '../../domain/policy/policy-set.js';
import type { PolicyQuestion } from './policy-thread.js';

/** Called after every evaluation with its result, the tool and the seconds it took. */
export type PolicyObserver = (judgement: Judgement, tool: string, seconds: number) => void;

export interface LocalEvaluator extends PolicyEvaluator {
  /**
   * Each input by the floor and these rules, in threads alone, for work that nobody waits for within a call. `who` takes turns with agents.
   * Counts for no metric. Throws `policy_unavailable` when it takes too long.
   */
  judgeAll(inputs: readonly PolicyInput[], added: AddedRules | null, who: string): Promise<readonly Judgement[]>;
  /** Starts a thread, so that the first large input need not wait for one. */
  warm(): void;
  /** Ends its threads; open requests are refused. */
  close(): Promise<void>;
}

/** More than the calls of a batch, each of which may be large. */
const LONGEST_QUEUE = 128;
/**
 * How long judging may block the event loop, in ms. An ordinary call takes 1 ms, 4,096 characters of source code about 10, and more on a
 * busy machine. A call that is given up in place waits behind large requests, so the limit must not catch ordinary ones.
 */
const LONGEST_IN_PLACE = 100;

/** Inputs that are judged in one turn of a thread, about 50 ms of it. */
const AT_ONCE = 50;
/** Added rules that took longer once, in ms, are evaluated in threads from then on: their authors may have written anything. */
const SLOW_RULES_MS = 50;

export interface EvaluatorLimits extends ThreadLimits {
  readonly inPlaceMs?: number;
}

/** The rules that operators added for whom an input is about; asked once for each call, which keeps what it got to its end. */
export type AddedFor = (input: Partial<PolicyInput> | null) => AddedRules | null;

/**
 * Policy in this process, without delaying others. A large input is judged in a thread, and small ones a few per turn of the event loop,
 * because a batch holds many. A small input that takes long to read, because its author wrote it so, is given up in place and judged in a
 * thread from the beginning. Agents take turns at both. Rejects an invalid input with `policy_input_invalid`, and one that is not judged in
 * time with `policy_unavailable`.
 */
export function createLocalEvaluator(
  policies: Pick<PolicySet, 'judge' | 'material'>,
  observe: PolicyObserver = () => {},
  { inPlaceMs = LONGEST_IN_PLACE, ...limits }: EvaluatorLimits = {},
  addedFor: AddedFor = () => null,
): LocalEvaluator {
  const threads = createThreads<PolicyQuestion, readonly Judgement[]>({
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
  /** Null when it would take too long. */
  const judgedInPlace = (input: PolicyInput, added: AddedRules | null): Judgement | null => {
    const started = performance.now();
    try {
      const judgement = policies.judge(input, lasting(inPlaceMs), added);
      if (added && performance.now() - started > SLOW_RULES_MS) added.slow = true;
      return judgement;
    } catch (error) {
      if (error instanceof TookTooLong) return null;
      throw error;
    }
  };
  return {
    async evaluate(input) {
      const started = performance.now();
      const agent = agentOf(input);
      const added = addedFor(input);
      const judgement =
        (isLarge(input) || added?.slow ? null : await turns.run(() => judgedInPlace(input, added), { agent, late })) ??
        ((await threads.ask({ inputs: [input], added: added && added.material }, agent))[0] as Judgement);
      observe(judgement, input.tool_type, (performance.now() - started) / 1000);
      return judgement.decision;
    },
    async judgeAll(inputs, added, who) {
      const judged: Judgement[] = [];
      for (let at = 0; at < inputs.length; at += AT_ONCE)
        judged.push(
          ...(await threads.ask({ inputs: inputs.slice(at, at + AT_ONCE), added: added && added.material }, who)),
        );
      return judged;
    },
    warm: () => threads.warm(),
    close: () => threads.close(),
  };
}

/** The agent of an input; inputs without a name count as one agent. The input is not validated yet and may be anything. */
const agentOf = (input: Partial<PolicyInput> | null): string => `${input?.tenant ?? ''}/${input?.agent_id ?? ''}`;

const isLarge = (input: Partial<PolicyInput> | null): boolean =>
  sizeOf(input?.arguments, JUDGED_IN_PLACE) > JUDGED_IN_PLACE || sizeOf(input) > LOOKED_AT_IN_PLACE;
