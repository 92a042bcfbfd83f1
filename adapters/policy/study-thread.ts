import { performance } from 'node:perf_hooks';
import { workerData } from 'node:worker_threads';
import type { PolicyInput } from '../../contracts/policy.js';
import type { RecordedVerdict } from '../../contracts/policy-studies.js';
import { type AddedMaterial, createAddedRules } from '../../domain/policy/added-rules.js';
import { type Explanation, explained } from '../../domain/policy/explain/explain.js';
import type { RuleText } from '../../domain/policy/explain/hints.js';
import { judgedAgain, type RecordedCall } from '../../domain/policy/judged-again.js';
import { createPolicySet, type PolicyMaterial } from '../../domain/policy/policy-set.js';
import type { Comparison } from '../../domain/replay/comparisons.js';
import { unlimited } from '../../domain/in-place.js';
import { answerInThread } from '../threads/threads.js';
import { readersOf } from './argument-readers.js';

/** What is asked of a recorded call, and the rules beside the floor that it is judged by. */
export interface AgainQuestion {
  readonly study: 'again';
  readonly recorded: RecordedVerdict;
  readonly added: AddedMaterial | null;
}
export interface WhyQuestion {
  readonly study: 'why';
  readonly call: RecordedCall;
  readonly texts: readonly RuleText[];
  readonly added: AddedMaterial | null;
}
export type StudyQuestion = AgainQuestion | WhyQuestion;

export interface StudyAnswers {
  readonly again: readonly Comparison[];
  readonly why: Explanation;
}
export type StudyAnswer = StudyAnswers[keyof StudyAnswers];

/** How long other values of a call's facts are tried. */
const WHY_MS = 5_000;

/** One thread for work over recorded calls that nobody waits for within a call: it judges them many times, or many of them. */
async function start(material: PolicyMaterial): Promise<void> {
  const floor = createPolicySet({ ...material, ...(await readersOf(material.data)) });
  answerInThread(async (question: StudyQuestion): Promise<StudyAnswer> => {
    const rules = question.added && createAddedRules(question.added);
    const judge = (input: PolicyInput) => floor.judge(input, unlimited, rules).decision;
    if (question.study === 'again') return judgedAgain(question.recorded, judge);
    const until = performance.now() + WHY_MS;
    return explained(question.call, judge, question.texts, { goOn: () => performance.now() < until });
  });
}
void start(workerData as PolicyMaterial);
