import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { PolicyInput } from '../../contracts/policy.js';
import { GateError } from '../../domain/errors.js';
import { lasting, TookTooLong } from '../../domain/in-place.js';
import { JUDGED_IN_PLACE, LOOKED_AT_IN_PLACE, sizeOf } from '../../domain/large.js';
import { compiledScript, createThreads, type ThreadLimits } from '../threads/threads.js';
import { createTurns } from '../../domain/turns.js';
import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';
import type { AddedRules } from '../../domain/policy/added-rules.js';
import { type Judgement, ORDINARY, type PolicySet, type TimedJudgement } from '../../domain/policy/policy-set.js';
import { handingOver } from './handed-rules.js';
import type { PolicyQuestion, PolicyStart } from './policy-thread.js';

/** Called after every evaluation with its result, the tool and the seconds it took. */
export type PolicyObserver = (judgement: Judgement, tool: string, seconds: number) => void;

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
/**
 * How long judging may block the event loop, in ms. An ordinary call takes 1 ms, 4,096 characters of source code about 10, and more on a
 * busy machine. A call that is given up in place waits behind large requests, so the limit must not catch ordinary ones.
 */
const LONGEST_IN_PLACE = 100;

/** Inputs that are judged in one turn of a thread, about 50 ms of it. */
const AT_ONCE = 50;
/** One tenant leaves a thread to others, so there are two at least. */
const THREADS = Math.max(2, Math.min(4, availableParallelism() - 1));

export interface EvaluatorLimits extends ThreadLimits {
  readonly inPlaceMs?: number;
}

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
export function createLocalEvaluator(
  policies: Pick<PolicySet, 'judge' | 'denied' | 'material'>,
  observe: PolicyObserver = () => {},
  { inPlaceMs = LONGEST_IN_PLACE, ...limits }: EvaluatorLimits = {},
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
  const turns = createTurns();
  const handed = handingOver();
  /** What holds for everybody. */
  const inForce = (): AddedRules | null => {
    const added = addedFor(ORDINARY);
    return added && 'refused' in added ? null : added;
  };
  const asked = (inputs: readonly PolicyInput[], added: AddedRules | null, who: string) =>
    threads.ask({ inputs, added: handed(added) }, who);
  const timed = async (input: PolicyInput, added: AddedRules | null, who: string): Promise<TimedJudgement> =>
    (await asked([input], added, who))[0] as TimedJudgement;
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
  return {
    async evaluate(input) {
      const started = performance.now();
      const agent = agentOf(input);
      const added = addedFor(input);
      const judgement =
        added && 'refused' in added
          ? policies.denied(input, added.refused)
          : ((added || isLarge(input) ? null : await turns.run(() => judgedInPlace(input), { agent, late })) ??
            (await timed(input, added, agent)).judgement);
      observe(judgement, input.tool_type, (performance.now() - started) / 1000);
      return judgement.decision;
    },
    async judgeAll(inputs, added, who) {
      const judged: Judgement[] = [];
      for (let at = 0; at < inputs.length; at += AT_ONCE)
        judged.push(...(await asked(inputs.slice(at, at + AT_ONCE), added, who)).map(({ judgement }) => judgement));
      return judged;
    },
    timed,
    warm: () => threads.warm(),
    close: () => threads.close(),
  };
}

/** The agent of an input; inputs without a name count as one agent. The input is not validated yet and may be anything. */
const agentOf = (input: Partial<PolicyInput> | null): string => `${input?.tenant ?? ''}/${input?.agent_id ?? ''}`;

/** Of who is no agent of a tenant, its whole name. */
const tenantOf = (agent: string): string => agent.split('/', 1)[0] as string;

const isLarge = (input: Partial<PolicyInput> | null): boolean =>
  sizeOf(input?.arguments, JUDGED_IN_PLACE) > JUDGED_IN_PLACE || sizeOf(input) > LOOKED_AT_IN_PLACE;
