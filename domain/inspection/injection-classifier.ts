import { readWindows, type WindowReader } from './injection-features.js';
import { answersModel, type InjectionModel, trainedModel } from './injection-model.js';
import { readSentences } from './injection-sentences.js';

/**
 * The least score with which a text is handed to a person, and the least with which it is taken for an order without other evidence.
 * docs/architecture/injection-detection.md has what was measured at each.
 */
export const SUSPECT_FROM = 2.2;
export const SURE_FROM = 8;
/** The least score with which a sentence in the answer of a tool is taken for a word to the model that reads it. It is never more than a suspicion. */
export const ANSWER_SUSPECT_FROM = 3.4;

/** Shorter texts say too little to be judged by their words. */
const SHORTEST_TEXT = 16;
/** Of what is read at once, so much is classified; the grammar reads all of it. */
const MOST_CLASSIFIED = 1_000_000;

/**
 * How much the worst window of a text reads like an instruction to a model: log-odds of the training, the same everywhere for the same text.
 * Minus infinity where there is nothing to judge.
 */
export const scoreOf = (text: string, model: InjectionModel = trainedModel()): number =>
  mostOf(text, readWindows, model);

/**
 * How much the worst sentence of a text reads like a word to the model that reads it. Only for what tools answer: what a person may well ask of
 * a model is no part of what a tool has to say.
 */
export const scoreAsAnswer = (text: string, model: InjectionModel = answersModel()): number =>
  mostOf(text, readSentences, model);

function mostOf(text: string, parts: (text: string, read: WindowReader) => void, model: InjectionModel): number {
  const { weights, step, bias } = model;
  let most = Number.NEGATIVE_INFINITY;
  parts(text, (buckets, count) => {
    let sum = 0;
    for (let index = 0; index < count; index += 1) sum += weights[buckets[index] as number] as number;
    const score = bias + (sum * step) / Math.sqrt(count);
    if (score > most) most = score;
  });
  return most;
}

/** Scores texts that are read together, within one bound for all of them. */
export function createScorer(model?: InjectionModel, score = scoreOf): (text: string) => number {
  let left = MOST_CLASSIFIED;
  return (text) => {
    if (text.length < SHORTEST_TEXT || left <= 0) return Number.NEGATIVE_INFINITY;
    const read = text.length <= left ? text : text.slice(0, left);
    left -= read.length;
    return score(read, model);
  };
}
