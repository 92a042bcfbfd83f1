import { availableParallelism } from 'node:os';
import type { AddedRules } from '../../domain/policy/added-rules.js';
import type { RuleText } from '../../domain/policy/explain/hints.js';
import type { RecordedCall } from '../../domain/policy/judged-again.js';
import type { Compared, InCommon } from '../../domain/policy/mining/evidence.js';
import type { LabJudgement } from '../../domain/policy/lab.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import type { RecordedVerdict } from '../../contracts/policy-studies.js';
import { compiledScript, createThreads } from '../threads/threads.js';
import { handingOver } from './handed-rules.js';
import type { StudyAnswer, StudyAnswers, StudyQuestion } from './study-thread.js';

/** For one question, with the start of its thread on a busy machine. */
const STUDY_LIMIT_MS = 30_000;
const MOST_LANES = 4;
const WHO = 'gate/policy-studies';

/**
 * What rules say of recorded calls, for people, in threads of their own, so that no call waits for it. A question that takes too long is
 * `policy_unavailable`.
 */
export function createStudies(floor: Pick<PolicySet, 'material'>) {
  const lanes = Math.max(1, Math.min(MOST_LANES, availableParallelism() - 1));
  const threads = createThreads<StudyQuestion, StudyAnswer>({
    work: 'policy study',
    code: 'policy_unavailable',
    script: compiledScript(new URL('./study-thread.js', import.meta.url)),
    material: () => floor.material,
    limitMs: STUDY_LIMIT_MS,
    threads: lanes,
  });
  const handed = handingOver();
  const ask = async <Study extends keyof StudyAnswers>(
    question: StudyQuestion & { readonly study: Study },
    who = WHO,
  ): Promise<StudyAnswers[Study]> => (await threads.ask(question, who)) as StudyAnswers[Study];
  return {
    /** What the rows of a call say, beside what follows from its input by the floor and these rules. */
    again: (recorded: RecordedVerdict, added: AddedRules | null) =>
      ask({ study: 'again', recorded, added: handed(added) }),
    /** Why the call is judged as it is by the floor and these rules, whose texts are given. */
    why: (call: RecordedCall, added: AddedRules | null, texts: readonly RuleText[]) =>
      ask({
        study: 'why',
        call,
        added: handed(added),
        texts: texts.map(({ name, content_type, body }) => ({ name, content_type, body })),
      }),
    /** How many parts of a lab are judged at once. */
    lanes,
    /** What the rules of now and a candidate say of each call. A lane is one of `lanes`; each has one question at a time. */
    lab: async (
      calls: readonly RecordedCall[],
      { before, after }: { readonly before: AddedRules | null; readonly after: AddedRules | null },
      lane: number,
    ): Promise<readonly LabJudgement[]> =>
      calls.length === 0
        ? []
        : ask({ study: 'lab', calls, before: handed(before), after: handed(after) }, `${WHO}/${lane}`),
    /** What people's decisions about one tool have in common. */
    compared: (calls: Compared): Promise<InCommon> => ask({ study: 'compare', calls }),
    close: () => threads.close(),
  };
}

export type Studies = ReturnType<typeof createStudies>;
