import { type InjectionModel, valueOf, weighed } from '../../domain/inspection/injection-model.js';
import { BUCKETS, readWindows } from '../../domain/inspection/injection-features.js';

/** A window as its buckets, the first so many of which are of its words. */
export interface LessonWindow {
  readonly buckets: Int32Array;
  readonly words: number;
  /** Of a sentence. */
  readonly facts?: Float32Array;
}
/** A text to learn from. */
export interface Lesson {
  readonly attack: boolean;
  readonly weight: number;
  readonly windows: readonly LessonWindow[];
}

/** No text may weigh much more or less than another, whatever the size of its corpus. */
const EACH = { least: 0.1, most: 3, times: 400 };
/** What each text of a corpus weighs, where all of it weighs so much beside 1. */
export const weightOfEach = (weight: number, texts: readonly unknown[]): number =>
  Math.min(EACH.most, Math.max(EACH.least, (weight * EACH.times) / texts.length));

/** Of a long text only so many windows are learned from, spread over it. */
const MOST_WINDOWS = 24;
export type Parts = (
  text: string,
  read: (buckets: Int32Array, count: number, words: number, facts?: Float32Array) => void,
) => void;
const partsOfText = (text: string, parts: Parts): LessonWindow[] => {
  const all: LessonWindow[] = [];
  parts(text, (buckets, count, words, facts) =>
    all.push({ buckets: buckets.slice(0, count), words, ...(facts && { facts: facts.slice() }) }),
  );
  return all;
};

export function lessonOf(text: string, attack: boolean, weight: number, parts: Parts = readWindows): Lesson {
  const all = partsOfText(text, parts);
  const windows =
    all.length <= MOST_WINDOWS
      ? all
      : Array.from(
          { length: MOST_WINDOWS },
          (_, index) => all[Math.floor((index * all.length) / MOST_WINDOWS)] as LessonWindow,
        );
  return { attack, weight, windows };
}

/** Of what was put into a document, the parts that are nearly the same as when it stands alone: at most so many. */
const MOST_PUT_IN = 4;
const NEARLY_THE_SAME = 0.75;
/** An attack within a document, of which only those parts are learned that are the attack. */
export function lessonWithin(document: string, put: string, weight: number, parts: Parts): Lesson {
  const alone = partsOfText(put, parts);
  const own = new Set(alone.flatMap(({ buckets }) => [...buckets]));
  const windows = partsOfText(document, parts)
    .map((window) => ({
      window,
      same: window.buckets.reduce((sum, bucket) => sum + (own.has(bucket) ? 1 : 0), 0) / window.buckets.length,
    }))
    .filter(({ same }) => same > NEARLY_THE_SAME)
    .toSorted((one, other) => other.same - one.same)
    .slice(0, Math.min(MOST_PUT_IN, alone.length))
    .map(({ window }) => window);
  return { attack: true, weight, windows };
}

/** Numbers below 1 that look random, and are the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface Learning {
  readonly seed: number;
  readonly rounds: number;
  readonly rate: number;
  readonly say?: (line: string) => void;
}

/** Rounds in which every window counts, before only those do that decide. */
const FIRST_ROUNDS = 2;

/**
 * Logistic regression over windows, with AdaGrad. Which window of an attack is the attack, nobody said: after the first rounds it is the one
 * that reads most like one, and those that read like one too. Of a harmless text all windows are harmless; the two worst count.
 */
export function learned(lessons: readonly Lesson[], { seed, rounds, rate, say }: Learning): InjectionModel {
  const random = randomOf(seed);
  const weights = new Float32Array(BUCKETS);
  const squares = new Float32Array(BUCKETS).fill(1e-3);
  let bias = -1;
  let biasSquares = 1e-3;
  const order = lessons.map((_, index) => index);
  const scoreOfWindow = ({ buckets, words }: LessonWindow): number =>
    bias + weighed(weights, buckets, buckets.length, words);
  for (let round = 0; round < rounds; round += 1) {
    for (let index = order.length - 1; index > 0; index -= 1) {
      const other = Math.floor(random() * (index + 1));
      [order[index], order[other]] = [order[other] as number, order[index] as number];
    }
    let loss = 0;
    for (const at of order) {
      const { attack, weight, windows } = lessons[at] as Lesson;
      const scores = windows.map(scoreOfWindow);
      const ranked = scores
        .map((_, index) => index)
        .sort((one, other) => (scores[other] as number) - (scores[one] as number));
      const chosen =
        round < FIRST_ROUNDS
          ? ranked
          : attack
            ? ranked.filter((index, place) => place === 0 || ((scores[index] as number) > 1 && place < 6))
            : ranked.slice(0, 2);
      for (const index of chosen) {
        const window = windows[index] as LessonWindow;
        const { buckets, words } = window;
        const probability = 1 / (1 + Math.exp(-scoreOfWindow(window)));
        const error =
          ((attack ? 1 : 0) - probability) * weight * (round < FIRST_ROUNDS ? 1 / Math.sqrt(chosen.length) : 1);
        loss += -Math.log(Math.max(1e-9, attack ? probability : 1 - probability)) * weight;
        for (let place = 0; place < buckets.length; place += 1) {
          const bucket = buckets[place] as number;
          const gradient = error * valueOf(place, words);
          squares[bucket] = (squares[bucket] as number) + gradient * gradient;
          weights[bucket] = (weights[bucket] as number) + (rate * gradient) / Math.sqrt(squares[bucket] as number);
        }
        biasSquares += error * error;
        bias += (rate * error) / Math.sqrt(biasSquares);
      }
    }
    say?.(`round ${round + 1}: loss ${(loss / lessons.length).toFixed(4)}, bias ${bias.toFixed(2)}`);
  }
  return inEightBits(weights, bias);
}

/** The largest weights of a few buckets are cut off, so that the steps between all others are finer. */
const CUT = 0.9995;
function inEightBits(weights: Float32Array, bias: number): InjectionModel {
  const sizes = weights
    .map(Math.abs)
    .filter((size) => size > 0)
    .sort();
  const largest = sizes[Math.floor(sizes.length * CUT)] ?? 1;
  const step = largest / 127;
  return {
    weights: Int8Array.from(weights, (weight) => Math.max(-127, Math.min(127, Math.round(weight / step)))),
    step,
    bias,
  };
}
