import { performance } from 'node:perf_hooks';
import { workerData } from 'node:worker_threads';
import type { PolicyInput } from '../../contracts/policy.js';
import type { RecordedVerdict } from '../../contracts/policy-studies.js';
import { LRUCache } from 'lru-cache';
import type { AddedRules } from '../../domain/policy/added-rules.js';
import { type Explanation, explained } from '../../domain/policy/explain/explain.js';
import type { RuleText } from '../../domain/policy/explain/hints.js';
import { judgedAgain, type RecordedCall } from '../../domain/policy/judged-again.js';
import { type JudgeBoth, judgedBefore, judgedInLab, type LabJudgement } from '../../domain/policy/lab.js';
import { type Compared, comparedCalls, type InCommon } from '../../domain/policy/mining/evidence.js';
import { createPolicySet, type PolicyMaterial, type TimedJudgement } from '../../domain/policy/policy-set.js';
import type { Comparison } from '../../domain/replay/comparisons.js';
import { unlimited } from '../../domain/in-place.js';
import { answerInThread } from '../threads/threads.js';
import { readersOf } from './argument-readers.js';
import { type HandedRules, rulesHanded } from './handed-rules.js';

/** What is asked of a recorded call, and the rules beside the floor that it is judged by. */
export interface AgainQuestion {
  readonly study: 'again';
  readonly recorded: RecordedVerdict;
  readonly added: HandedRules | null;
}
export interface WhyQuestion {
  readonly study: 'why';
  readonly call: RecordedCall;
  readonly texts: readonly RuleText[];
  readonly added: HandedRules | null;
}
export interface LabQuestion {
  readonly study: 'lab';
  readonly calls: readonly RecordedCall[];
  readonly before: HandedRules | null;
  readonly after: HandedRules | null;
}
export interface CompareQuestion {
  readonly study: 'compare';
  readonly calls: Compared;
}
export type StudyQuestion = AgainQuestion | WhyQuestion | LabQuestion | CompareQuestion;

export interface StudyAnswers {
  readonly again: readonly Comparison[];
  readonly why: Explanation;
  readonly lab: readonly LabJudgement[];
  readonly compare: InCommon;
}
export type StudyAnswer = StudyAnswers[keyof StudyAnswers];

/** How long other values of a call's facts are tried. */
const WHY_MS = 5_000;

/** How long rules are judged by before they are timed. */
const BEFORE_TIMED_MS = 1_000;

/** Sets whose instances a thread keeps: those of a lab come with each page. */
const INSTANCES_KEPT = 4;

/** One thread for work over recorded calls that nobody waits for within a call: it judges them many times, or many of them. */
async function start(material: PolicyMaterial): Promise<void> {
  const floor = createPolicySet({ ...material, ...(await readersOf(material.data)) });
  const instances = new LRUCache<string, AddedRules>({ max: INSTANCES_KEPT });
  const timed = new LRUCache<string, true>({ max: INSTANCES_KEPT });
  const rulesOf = (added: HandedRules | null): AddedRules | null => {
    const rules = added && (instances.get(added.bundle.hash_sha256) ?? rulesHanded(added));
    if (rules) instances.set(rules.bundle.hash_sha256, rules);
    return rules;
  };
  const now = (): number => performance.now();
  const answer = async (question: StudyQuestion): Promise<StudyAnswer> => {
    const { study } = question;
    if (study === 'compare') return comparedCalls(question.calls);
    if (study === 'lab') {
      const sets = [rulesOf(question.before), rulesOf(question.after)];
      const both: JudgeBoth = (input) => {
        const [before, after] = floor.judgeEach(input, sets, { now });
        return [before as TimedJudgement, after as TimedJudgement];
      };
      const which = sets.map((rules) => rules?.bundle.hash_sha256).join();
      if (!timed.has(which)) {
        const until = now() + BEFORE_TIMED_MS;
        await judgedBefore(question.calls, both, () => now() < until);
      }
      timed.set(which, true);
      return judgedInLab(question.calls, both);
    }
    const rules = rulesOf(question.added);
    const judge = (input: PolicyInput) => floor.judge(input, unlimited, rules).decision;
    if (study === 'again') return judgedAgain(question.recorded, judge);
    const until = performance.now() + WHY_MS;
    return explained(question.call, judge, question.texts, { goOn: () => performance.now() < until });
  };
  await answerInThread(answer, () => floor.ready());
}
void start(workerData as PolicyMaterial);
