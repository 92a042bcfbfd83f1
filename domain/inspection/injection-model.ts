import { TRAINED_FOR_ANSWERS } from './injection-answer-weights.js';
import { TRAINED } from './injection-weights.js';

/** A linear model over the features of a window or a sentence: eight bits for each bucket, and what one step of them is worth. */
export interface InjectionModel {
  readonly weights: Int8Array;
  readonly step: number;
  readonly bias: number;
}

let made: InjectionModel | undefined;
let madeForAnswers: InjectionModel | undefined;
/** The models that ship with Gate, unpacked by who asks first. */
export const trainedModel = (): InjectionModel => (made ??= unpacked(TRAINED));
export const answersModel = (): InjectionModel => (madeForAnswers ??= unpacked(TRAINED_FOR_ANSWERS));

const unpacked = ({ step, bias, weights }: { step: number; bias: number; weights: string }): InjectionModel => {
  const bytes = Buffer.from(weights, 'base64');
  return { step, bias, weights: new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length) };
};
