import { TRAINED_FOR_ANSWERS } from './injection-answer-weights.js';
import { type InjectionNetwork, unpackedNetwork } from './injection-network.js';
import { TRAINED } from './injection-weights.js';

/** A linear model over the features of a window or a sentence: eight bits for each bucket, and what one step of them is worth. */
export interface InjectionModel {
  readonly weights: Int8Array;
  readonly step: number;
  readonly bias: number;
}

/** For the answers of tools: a linear model over the features of a sentence, and a network over its facts. Their scores are added. */
export interface AnswersModel {
  readonly linear: InjectionModel;
  readonly network: InjectionNetwork;
}

/** What one feature counts that says of what kind a sentence is; the features of words count less the more there are of them. */
const OF_KIND = 0.3;

/** What the weights say of one window, before step and bias. */
export function weighed(weights: Int8Array | Float32Array, buckets: Int32Array, count: number, words: number): number {
  let ofWords = 0;
  for (let index = 0; index < words; index += 1) ofWords += weights[buckets[index] as number] as number;
  let ofKind = 0;
  for (let index = words; index < count; index += 1) ofKind += weights[buckets[index] as number] as number;
  return ofWords / Math.sqrt(words) + ofKind * OF_KIND;
}
/** How much a feature of a window counts in it. */
export const valueOf = (index: number, words: number): number => (index < words ? 1 / Math.sqrt(words) : OF_KIND);

let made: InjectionModel | undefined;
let madeForAnswers: AnswersModel | undefined;
/** The models that ship with Gate, unpacked by who asks first. */
export const trainedModel = (): InjectionModel => (made ??= unpacked(TRAINED));
export const answersModel = (): AnswersModel =>
  (madeForAnswers ??= {
    linear: unpacked(TRAINED_FOR_ANSWERS),
    network: unpackedNetwork(TRAINED_FOR_ANSWERS.network, TRAINED_FOR_ANSWERS.units),
  });

const unpacked = ({ step, bias, weights }: { step: number; bias: number; weights: string }): InjectionModel => {
  const bytes = Buffer.from(weights, 'base64');
  return { step, bias, weights: new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length) };
};
