import { WORD_DIMENSIONS, wordVectors } from './word-vectors.js';

interface Sentence {
  readonly from: number;
  readonly to: number;
}
/** Words of a text in their order, and which of them are one sentence. */
export interface ReadWords {
  readonly plain: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly sentences: readonly Sentence[];
}

/** So many facts say what a sentence is about beside the rest of its text. */
export const MEANING_FACTS = 2 * WORD_DIMENSIONS + 5;

/** Longer words have no place. */
const LONGEST_WORD = 15;
/** Less of a sentence, and less of the rest, is about nothing. */
const LEAST_OF_SENTENCE = 0.3;
const LEAST_OF_REST = 1;
/** Where one of them is about nothing. */
const UNKNOWN = 0.5;
/** The products of two directions are small beside the directions themselves. */
const PRODUCT = 4;
/** A sentence, and those before and after it. */
const NEIGHBOURS = 3;

/**
 * What each sentence of a text is about, by the mean of its words, and how near that is to the rest and to its neighbours. Linear in the length
 * of the text; of sentences it keeps one number each.
 */
export function meaningsOf(words: ReadWords): (index: number, facts: Float32Array) => void {
  const dimensions = WORD_DIMENSIONS;
  const { sentences } = words;
  const add = adderOf(words);
  const total = new Float64Array(dimensions);
  let all = 0;
  for (const sentence of sentences) all += add(sentence, total);
  const total2 = dot(total, total);
  const toRest = new Float64Array(sentences.length);
  const sum = new Float64Array(dimensions);
  for (const [index, sentence] of sentences.entries()) {
    const weight = add(sentence, sum.fill(0));
    const [mine, shared] = [dot(sum, sum), dot(sum, total)];
    // The rest is the whole without the sentence.
    const ofRest = Math.max(0, total2 - 2 * shared + mine);
    toRest[index] =
      weight > LEAST_OF_SENTENCE && all - weight > LEAST_OF_REST && mine > 0 && ofRest > 0
        ? (shared - mine) / Math.sqrt(mine * ofRest)
        : Number.NaN;
  }
  const known = toRest.filter((value) => !Number.isNaN(value)).sort();
  const usual = known[known.length >> 1];
  const sumOf = lastSums(sentences, add);
  return (index, facts) => {
    const here = sumOf(index);
    const own = here.sum;
    const ownLength = Math.sqrt(dot(own, own)) || 1;
    const restLength = Math.sqrt(Math.max(0, total2 - 2 * dot(own, total) + dot(own, own))) || 1;
    const before = sumOf(index - 1).sum;
    const after = sumOf(index + 1).sum;
    let [toNear, ofNear] = [0, 0];
    for (let at = 0; at < dimensions; at += 1) {
      const value = own[at] as number;
      const mine = value / ownLength;
      facts[at] = mine;
      facts[dimensions + at] = (PRODUCT * mine * ((total[at] as number) - value)) / restLength;
      const near = (before[at] as number) + (after[at] as number);
      toNear += value * near;
      ofNear += near * near;
    }
    const hasNear = here.weight > LEAST_OF_SENTENCE && ofNear > 0;
    const rest = toRest[index] as number;
    const first = 2 * dimensions;
    facts[first] = Number.isNaN(rest) ? UNKNOWN : rest;
    facts[first + 1] = Number.isNaN(rest) ? 1 : 0;
    facts[first + 2] = hasNear ? toNear / (ownLength * Math.sqrt(ofNear)) : UNKNOWN;
    facts[first + 3] = hasNear ? 0 : 1;
    facts[first + 4] = Number.isNaN(rest) || usual === undefined ? 0 : usual - rest;
  };
}

interface Sum {
  index: number;
  weight: number;
  readonly sum: Float64Array;
}
/** The sums of sentences that are read one after the other: each is a neighbour twice, and made once. Beyond the ends there is nothing. */
function lastSums(sentences: readonly Sentence[], add: ReturnType<typeof adderOf>): (index: number) => Sum {
  const kept: Sum[] = Array.from({ length: NEIGHBOURS }, () => ({
    index: Number.NaN,
    weight: 0,
    sum: new Float64Array(WORD_DIMENSIONS),
  }));
  return (index) => {
    const one = kept[(index + NEIGHBOURS) % NEIGHBOURS] as Sum;
    if (one.index === index) return one;
    const sentence = sentences[index];
    one.index = index;
    one.weight = sentence ? add(sentence, one.sum.fill(0)) : 0;
    if (!sentence) one.sum.fill(0);
    return one;
  };
}

/** Adds the points of a sentence's words, and returns how much of them there is. */
function adderOf({ plain, starts, ends }: ReadWords): (sentence: Sentence, to: Float64Array) => number {
  const dimensions = WORD_DIMENSIONS;
  const { placeOf, points, weights } = wordVectors();
  const places = Int32Array.from(starts, (start, at) => {
    const end = ends[at] as number;
    return end - start > LONGEST_WORD ? -1 : (placeOf.get(plain.slice(start, end)) ?? -1);
  });
  return ({ from, to: end }, to) => {
    let sum = 0;
    for (let at = from; at < end; at += 1) {
      const place = places[at] as number;
      if (place < 0) continue;
      const weight = weights[place] as number;
      sum += weight;
      const first = place * dimensions;
      for (let one = 0; one < dimensions; one += 1)
        to[one] = (to[one] as number) + weight * (points[first + one] as number);
    }
    return sum;
  };
}

function dot(one: Float64Array, other: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}
