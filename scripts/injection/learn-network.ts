import { type InjectionNetwork, scoreOfFacts } from '../../domain/inspection/injection-network.js';
import { SENTENCE_FACTS } from '../../domain/inspection/injection-sentences.js';
import { type Lesson, type LessonWindow, randomOf } from './learn.js';

/** Of one network; several, each of which learned in another order, have the mean of what they say. */
const UNITS = 16;
const NETWORKS = 3;
const ROUNDS = 8;
const RATE = 0.002;
/** Each weight is drawn to zero by so much of itself. */
const DECAY = 1e-4;
/** Of the hidden units, so many are left out of each step (dropout). */
const LEFT_OUT = 0.2;
const AT_ONCE = 32;
/** Adam (Kingma and Ba 2015). */
const FIRST_MOMENT = 0.9;
const SECOND_MOMENT = 0.999;

type Scored = LessonWindow & { readonly facts: Float32Array };

/**
 * Learns from the same sentences as the linear model, and not from what that says of them: it has seen them all. Of an attack the sentence counts
 * that reads most like one; of a harmless text the two worst, and any third.
 */
export function learnedNetworks(
  lessons: readonly Lesson[],
  { seed, say }: { readonly seed: number; readonly say: (line: string) => void },
): InjectionNetwork {
  const all = Array.from({ length: NETWORKS }, (_, at) => {
    const network = learnedNetwork(lessons, seed + at);
    say(`network ${at + 1} of ${NETWORKS}`);
    return network;
  });
  const joined = (part: (one: InjectionNetwork) => Float32Array): Float32Array =>
    Float32Array.from(all.flatMap((one) => [...part(one)]));
  return {
    hidden: joined(({ hidden }) => hidden),
    hiddenBias: joined(({ hiddenBias }) => hiddenBias),
    output: joined(({ output }) => output.map((weight) => weight / NETWORKS)),
    outputBias: all.reduce((sum, { outputBias }) => sum + outputBias, 0) / NETWORKS,
  };
}

function learnedNetwork(lessons: readonly Lesson[], seed: number): InjectionNetwork {
  const random = randomOf(seed);
  const scale = Math.sqrt(3 / SENTENCE_FACTS);
  const hidden = Float32Array.from({ length: UNITS * SENTENCE_FACTS }, () => (random() * 2 - 1) * scale);
  const [hiddenBias, output, outputBias] = [new Float32Array(UNITS), new Float32Array(UNITS), new Float32Array(1)];
  const now = (): InjectionNetwork => ({ hidden, hiddenBias, output, outputBias: outputBias[0] as number });
  const parts = [adam(hidden, DECAY), adam(hiddenBias, 0), adam(output, DECAY), adam(outputBias, 0)] as const;
  const [ofHidden, ofHiddenBias, ofOutput, ofOutputBias] = parts.map(({ gradient }) => gradient) as [
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  const lit = new Float32Array(UNITS);
  /** What it says while some units are left out, by how much each of the others counts. */
  const scoreInPart = (facts: Float32Array): number => {
    let score = outputBias[0] as number;
    for (let unit = 0; unit < UNITS; unit += 1) {
      let sum = hiddenBias[unit] as number;
      const first = unit * SENTENCE_FACTS;
      for (let at = 0; at < SENTENCE_FACTS; at += 1) sum += (hidden[first + at] as number) * (facts[at] as number);
      lit[unit] = sum > 0 && random() >= LEFT_OUT ? sum / (1 - LEFT_OUT) : 0;
      score += (output[unit] as number) * (lit[unit] as number);
    }
    return score;
  };
  const learn = (facts: Float32Array, attack: boolean, weight: number): void => {
    const probability = 1 / (1 + Math.exp(-scoreInPart(facts)));
    const error = (probability - (attack ? 1 : 0)) * weight;
    ofOutputBias[0] = (ofOutputBias[0] as number) + error;
    for (let unit = 0; unit < UNITS; unit += 1) {
      const value = lit[unit] as number;
      if (value === 0) continue;
      ofOutput[unit] = (ofOutput[unit] as number) + error * value;
      const back = (error * (output[unit] as number)) / (1 - LEFT_OUT);
      ofHiddenBias[unit] = (ofHiddenBias[unit] as number) + back;
      const first = unit * SENTENCE_FACTS;
      for (let at = 0; at < SENTENCE_FACTS; at += 1)
        ofHidden[first + at] = (ofHidden[first + at] as number) + back * (facts[at] as number);
    }
  };
  const order = lessons.filter(({ windows }) => windows.length > 0);
  let together = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let index = order.length - 1; index > 0; index -= 1) {
      const other = Math.floor(random() * (index + 1));
      [order[index], order[other]] = [order[other] as Lesson, order[index] as Lesson];
    }
    for (const { attack, weight, windows } of order) {
      const network = now();
      const ranked = (windows as readonly Scored[])
        .map(({ facts }) => ({ facts, score: scoreOfFacts(network, facts) }))
        .toSorted((one, other) => other.score - one.score);
      const any = ranked[Math.floor(random() * ranked.length)] as (typeof ranked)[number];
      for (const { facts } of attack ? ranked.slice(0, 1) : [...ranked.slice(0, 2), any]) learn(facts, attack, weight);
      together += 1;
      if (together < AT_ONCE) continue;
      for (const part of parts) part.step(together);
      together = 0;
    }
  }
  return now();
}

function adam(values: Float32Array, decay: number) {
  const gradient = new Float32Array(values.length);
  const first = new Float32Array(values.length);
  const second = new Float32Array(values.length);
  let steps = 0;
  return {
    gradient,
    step(of: number): void {
      steps += 1;
      const [ofFirst, ofSecond] = [1 - FIRST_MOMENT ** steps, 1 - SECOND_MOMENT ** steps];
      for (let at = 0; at < values.length; at += 1) {
        const slope = (gradient[at] as number) / of + decay * (values[at] as number);
        first[at] = FIRST_MOMENT * (first[at] as number) + (1 - FIRST_MOMENT) * slope;
        second[at] = SECOND_MOMENT * (second[at] as number) + (1 - SECOND_MOMENT) * slope * slope;
        values[at] =
          (values[at] as number) -
          (RATE * ((first[at] as number) / ofFirst)) / (Math.sqrt((second[at] as number) / ofSecond) + 1e-8);
        gradient[at] = 0;
      }
    },
  };
}
