import { performance } from 'node:perf_hooks';
import type { PolicyInput } from '../../contracts/policy.js';
import { GateError } from '../errors.js';
import { lasting, TookTooLong } from '../in-place.js';
import { JUDGED_IN_PLACE, LOOKED_AT_IN_PLACE, sizeOf } from '../large.js';
import { createTurns } from '../turns.js';
import type { AddedRules } from './added-rules.js';
import type { PolicyEvaluator } from './evaluator.js';
import type { Judgement, PolicySet, TimedJudgement } from './policy-set.js';

/** Called after every evaluation with its result, the tool and the seconds it took. */
export type PolicyObserver = (judgement: Judgement, tool: string, seconds: number) => void;

/** Threads that judge. Agents take turns at them, and one tenant leaves a thread to others. */
export interface PolicyThreads {
  /** Each input by the floor and these rules. Throws `policy_unavailable` when it takes too long. */
  judge(inputs: readonly PolicyInput[], added: AddedRules | null, who: string): Promise<readonly TimedJudgement[]>;
}

/**
 * How long judging may block the event loop, in ms. An ordinary call takes 1 ms, 4,096 characters of source code about 10, and more on a
 * busy machine. A call that is given up in place waits behind large requests, so the limit must not catch ordinary ones.
 */
const LONGEST_IN_PLACE = 100;

/** The rules that operators added for whom an input is about; asked once for each call, which keeps what it got to its end. */
export type AddedFor = (input: Partial<PolicyInput> | null) => AddedRules | Refused | null;
/** Whom an input is about cannot be judged for, and is denied for this reason. */
export interface Refused {
  readonly refused: string;
}

/**
 * Policy in this process, without delaying others. A large input is judged in a thread, and small ones a few per turn of the event loop,
 * because a batch holds many. A small input that takes long to read, because its author wrote it so, is given up in place and judged in a
 * thread from the beginning. Rules that operators added run in threads alone, whatever the input: nothing bounds what they cost, and a thread
 * can be ended. Agents take turns at both, and one tenant leaves a thread to others. Rejects an invalid input with `policy_input_invalid`, and one that is not judged in
 * time with `policy_unavailable`.
 */
export function createEvaluation(
  policies: Pick<PolicySet, 'judge' | 'denied'>,
  threads: PolicyThreads,
  observe: PolicyObserver = () => {},
  addedFor: AddedFor = () => null,
  inPlaceMs = LONGEST_IN_PLACE,
): PolicyEvaluator {
  const turns = createTurns();
  const late = () =>
    new GateError('policy_unavailable', 'too many calls wait for policy evaluation already; try again later');
  /** Null when it would take too long. */
  const judgedInPlace = (input: PolicyInput): Judgement | null => {
    try {
      return policies.judge(input, lasting(inPlaceMs));
    } catch (error) {
      if (error instanceof TookTooLong) return null;
      throw error;
    }
  };
  const inThread = async (input: PolicyInput, added: AddedRules | null, agent: string): Promise<Judgement> =>
    ((await threads.judge([input], added, agent))[0] as TimedJudgement).judgement;
  return {
    async evaluate(input) {
      const started = performance.now();
      const agent = agentOf(input);
      const added = addedFor(input);
      const judgement =
        added && 'refused' in added
          ? policies.denied(input, added.refused)
          : ((added || isLarge(input) ? null : await turns.run(() => judgedInPlace(input), { agent, late })) ??
            (await inThread(input, added, agent)));
      observe(judgement, input.tool_type, (performance.now() - started) / 1000);
      return judgement.decision;
    },
  };
}

/** The agent of an input; inputs without a name count as one agent. The input is not validated yet and may be anything. */
const agentOf = (input: Partial<PolicyInput> | null): string => `${input?.tenant ?? ''}/${input?.agent_id ?? ''}`;

const isLarge = (input: Partial<PolicyInput> | null): boolean =>
  sizeOf(input?.arguments, JUDGED_IN_PLACE) > JUDGED_IN_PLACE || sizeOf(input) > LOOKED_AT_IN_PLACE;
