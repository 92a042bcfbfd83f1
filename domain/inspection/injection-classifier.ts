import { readWindows } from './injection-features.js';
import { type InjectionModel, trainedModel } from './injection-model.js';

/**
 * The least score with which a text is handed to a person, and the least with which it is taken for an order without other evidence.
 * docs/architecture/injection-detection.md has what was measured at each.
 */
export const SUSPECT_FROM = 2.2;
export const SURE_FROM = 8;

/** Shorter texts say too little to be judged by their words. */
const SHORTEST_TEXT = 16;
/** Of what is read at once, so much is classified; the grammar reads all of it. */
const MOST_CLASSIFIED = 1_000_000;

/**
 * How much the worst window of a text reads like an instruction to a model: log-odds of the training, the same everywhere for the same text.
 * Minus infinity where there is nothing to judge.
 */
export function scoreOf(text: string, model: InjectionModel = trainedModel()): number {
  const { weights, step, bias } = model;
  let most = Number.NEGATIVE_INFINITY;
  readWindows(text, (buckets, count) => {
    let sum = 0;
    for (let index = 0; index < count; index += 1) sum += weights[buckets[index] as number] as number;
    const score = bias + (sum * step) / Math.sqrt(count);
    if (score > most) most = score;
  });
  return most;
}

/** Scores texts that are read together, within one bound for all of them. */
export function createScorer(model?: InjectionModel): (text: string) => number {
  let left = MOST_CLASSIFIED;
  return (text) => {
    if (text.length < SHORTEST_TEXT || left <= 0) return Number.NEGATIVE_INFINITY;
    const read = text.length <= left ? text : text.slice(0, left);
    left -= read.length;
    return scoreOf(read, model);
  };
}
