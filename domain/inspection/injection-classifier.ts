import { readWindows } from './injection-features.js';
import { type AnswersModel, answersModel, type InjectionModel, trainedModel, weighed } from './injection-model.js';
import { scoreOfFacts } from './injection-network.js';
import { readSentences } from './injection-sentences.js';

/**
 * The least score with which a text is handed to a person, and the least with which it is taken for an order without other evidence.
 * docs/architecture/injection-detection.md has what was measured at each.
 */
export const SUSPECT_FROM = 2.2;
export const SURE_FROM = 8;
/** The least score with which a sentence in the answer of a tool is taken for a word to the model that reads it. It is never more than a suspicion. */
export const ANSWER_SUSPECT_FROM = 10;

/** Shorter texts say too little to be judged by their words. */
const SHORTEST_TEXT = 16;
/** Of what is read at once, so much is classified; the grammar reads all of it. */
const MOST_CLASSIFIED = 1_000_000;

/**
 * How much the worst window of a text reads like an instruction to a model: log-odds of the training, the same everywhere for the same text.
 * Minus infinity where there is nothing to judge.
 */
export function scoreOf(text: string, model: InjectionModel = trainedModel()): number {
  let most = Number.NEGATIVE_INFINITY;
  readWindows(text, (buckets, count, words) => (most = Math.max(most, scoreOfWindow(model, buckets, count, words))));
  return most;
}

/** How much it counts that a sentence stands out from the others of its text, among which there are always two usual ones. */
const STANDS_OUT = 0.5;
const USUAL = { sentences: 2, score: -4 };

/**
 * How much the worst sentence of a text reads like a word to the model that reads it, and stands out from the rest. Only for what tools answer:
 * what a person may well ask of a model is no part of what a tool has to say.
 */
export function scoreAsAnswer(text: string, { linear, network }: AnswersModel = answersModel()): number {
  let most = Number.NEGATIVE_INFINITY;
  let all = USUAL.sentences * USUAL.score;
  let sentences = USUAL.sentences;
  readSentences(text, (buckets, count, words, facts) => {
    const score = scoreOfWindow(linear, buckets, count, words) + scoreOfFacts(network, facts);
    most = Math.max(most, score);
    all += score;
    sentences += 1;
  });
  if (sentences === USUAL.sentences) return most;
  return most + STANDS_OUT * (most - (all - most) / (sentences - 1));
}

const scoreOfWindow = (model: InjectionModel, buckets: Int32Array, count: number, words: number): number =>
  model.bias + model.step * weighed(model.weights, buckets, count, words);

/** Scores texts that are read together, within one bound for all of them. */
export function createScorer(score: (text: string) => number): (text: string) => number {
  let left = MOST_CLASSIFIED;
  return (text) => {
    if (text.length < SHORTEST_TEXT || left <= 0) return Number.NEGATIVE_INFINITY;
    const read = text.length <= left ? text : text.slice(0, left);
    left -= read.length;
    return score(read);
  };
}
