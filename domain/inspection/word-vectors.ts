import { WORD_VECTORS } from './word-vectors-data.js';

/** What English words mean, as far as the words beside which they stand tell: the commonest first, each as a point in a few dimensions. */
interface WordVectors {
  readonly placeOf: ReadonlyMap<string, number>;
  /** `WORD_DIMENSIONS` numbers for each word, one after the other. */
  readonly points: Int8Array;
  /** How much a word says of what a text is about: near 0 for the commonest, near 1 for rare ones. */
  readonly weights: Float64Array;
}

export const WORD_DIMENSIONS = WORD_VECTORS.dimensions;
/** Of a text in which a word has the share `p`, it counts `a / (a + p)` (smooth inverse frequency); shares follow from the place (Zipf's law). */
const SMOOTH = 0.03;
const SHARE_OF_FIRST = 0.1;
const AFTER = 3;

let made: WordVectors | undefined;
/** Unpacked by who asks first: 40,000 words in some 30 ms. */
export const wordVectors = (): WordVectors => (made ??= unpacked(WORD_VECTORS));

function unpacked({ words, points: packed }: typeof WORD_VECTORS): WordVectors {
  const placeOf = new Map(words.split(' ').map((word, place) => [word, place]));
  // Four bits each, from -7 to 7, the even ones in the upper half of a byte.
  const bytes = Buffer.from(packed, 'base64');
  const points = new Int8Array(placeOf.size * WORD_DIMENSIONS);
  for (let at = 0; at < points.length; at += 1) {
    const byte = bytes[at >> 1] as number;
    points[at] = ((at & 1) === 0 ? byte >> 4 : byte & 15) - 8;
  }
  const weights = Float64Array.from(placeOf.values(), (place) => SMOOTH / (SMOOTH + SHARE_OF_FIRST / (place + AFTER)));
  return { placeOf, points, weights };
}
