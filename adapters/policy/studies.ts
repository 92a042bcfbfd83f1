import { availableParallelism } from 'node:os';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import type { Studies } from '../../domain/policy/studies.js';
import { compiledScript, createThreads } from '../threads/threads.js';
import { handingOver } from './handed-rules.js';
import type { StudyAnswer, StudyAnswers, StudyQuestion } from './study-thread.js';

/** For one question, with the start of its thread on a busy machine. */
const STUDY_LIMIT_MS = 30_000;
const MOST_LANES = 4;
const WHO = 'gate/policy-studies';

/** In threads of their own. A question that takes too long is `policy_unavailable`. */
export function createStudies(floor: Pick<PolicySet, 'material'>): Studies {
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
    again: (recorded, added) => ask({ study: 'again', recorded, added: handed(added) }),
    why: (call, added, texts) =>
      ask({
        study: 'why',
        call,
        added: handed(added),
        texts: texts.map(({ name, content_type, body }) => ({ name, content_type, body })),
      }),
    lanes,
    lab: async (calls, { before, after }, lane) =>
      calls.length === 0
        ? []
        : ask({ study: 'lab', calls, before: handed(before), after: handed(after) }, `${WHO}/${lane}`),
    compared: (calls) => ask({ study: 'compare', calls }),
    close: () => threads.close(),
  };
}
