import { skeletonsOf } from '../skeleton.js';
import { seenBuckets, type SeenBuckets } from './seen-buckets.js';

/** Weights of the trained classifier: one for each bucket that a feature can fall into. */
export const BUCKETS = 1 << 18;
/** A window is two chunks, and the next window begins with the second of them. */
const CHUNK_TOKENS = 20;
/** Scripts without spaces have no words to count. */
const CHUNK_UNITS = 160;
export const LONGEST_TOKEN = 40;

/**
 * The distinct features of one window, as buckets, in the order in which they first occur: the first `words` are of its words, the others say
 * what kind of window it is. The list is used again for the next one.
 */
export type WindowReader = (buckets: Int32Array, count: number, words: number) => void;

export const LINE_FEED = 0x0a;
export const SPACE = 0x20;
const APOSTROPHE = 0x27;
const LAST_ASCII = 0x7f;

const SEED = { word: 0x9e37, pair: 0x79b9, skip: 0x7f4a, part: 0x7c15, sign: 0x85eb, shape: 0xca6b } as const;

export const mix = (hash: number, value: number): number => Math.imul(hash ^ value, 0x01000193);
export const bucketOf = (hash: number): number => {
  let mixed = hash ^ (hash >>> 15);
  mixed = Math.imul(mixed, 0x2c1b3c6d);
  mixed ^= mixed >>> 12;
  return (mixed >>> 0) % BUCKETS;
};

const OPENS = new Map([
  [0x22, 0x22],
  [0x60, 0x60],
  [0x201c, 0x201d],
  [0x201e, 0x201c],
  [0xab, 0xbb],
  [0x300c, 0x300d],
  [0x300e, 0x300f],
]);
/** A quotation mark that nobody closes quotes no more than this. */
const LONGEST_QUOTATION = 400;
export const ENDS_SENTENCE = new Set([0x2e, 0x21, 0x3f, 0x3a, 0x3b, 0x3002, 0xff01, 0xff1f, 0x061f, 0x06d4, 0x0964]);

/** What a unit of the plain text is: 0 space, 1 sign, 2 letter or digit of a script with words, 3 of a script without spaces. */
let madeKinds: Uint8Array | undefined;
export const kindsOfUnits = (): Uint8Array => (madeKinds ??= kindTable());
function kindTable(): Uint8Array {
  const table = new Uint8Array(0x10000);
  const unspaced =
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u;
  for (let unit = 0; unit < 0x10000; unit += 1) {
    const character = String.fromCharCode(unit);
    if (unit === SPACE || unit === LINE_FEED) table[unit] = 0;
    else if (unit >= 0xd800 && unit <= 0xdfff) table[unit] = 3;
    else if (unspaced.test(character)) table[unit] = 3;
    else if (/[\p{L}\p{N}]/u.test(character)) table[unit] = 2;
    else table[unit] = 1;
  }
  return table;
}

export const YOU = new Set(
  'you your yours yourself du dein deine sie ihre tu tus vous votre vos usted su te toi ty twoje voce sua'.split(' '),
);
export const MACHINE = new Set(
  'ai assistant assistants chatgpt gpt llm model models agent agents bot chatbot claude copilot gemini assistente asistente assistent ki ia'.split(
    ' ',
  ),
);
export const ABOUT = new Set(
  'attack attacks attacker attackers injection injections injected jailbreak jailbreaks phishing malicious payload payloads detector detectors detects detected detection classifier example examples test tests fixture fixtures owasp guardrail guardrails vulnerability vulnerabilities cve'.split(
    ' ',
  ),
);

/**
 * Reads a text in overlapping windows of some forty words. Features are words, pairs of words, parts of words, signs and what kind of text it
 * is. In plain form first, so that what looks the same is the same. Linear in the length of the text; every window is bounded.
 */
export function readWindows(text: string, read: WindowReader): void {
  const { plain } = skeletonsOf([text]);
  const kinds = kindsOfUnits();
  const { seen, window } = placesForReading();
  const { stamps } = seen;
  let { chunk, before } = placesForReading();
  let inChunk = 0;
  let inBefore = 0;
  let windows = 0;

  let tokens = 0;
  let chunkStart = 0;
  let last: number = SEED.shape;
  let secondLast: number = SEED.shape;
  let closes = 0;
  let quotedSince = 0;
  let code = false;
  // What kind of text a chunk is.
  let shape = newShape();
  let shapeBefore = newShape();

  const endChunk = (at: number): void => {
    if (inBefore > 0) emit();
    [before, chunk] = [chunk, before];
    inBefore = inChunk;
    inChunk = 0;
    shapeBefore = shape;
    shape = newShape();
    tokens = 0;
    chunkStart = at;
  };
  const emit = (): void => {
    const now = seen.next();
    let count = 0;
    for (let at = 0; at < inBefore; at += 1) {
      const bucket = before[at] as number;
      if (stamps[bucket] !== now) {
        stamps[bucket] = now;
        window[count++] = bucket;
      }
    }
    for (let at = 0; at < inChunk; at += 1) {
      const bucket = chunk[at] as number;
      if (stamps[bucket] !== now) {
        stamps[bucket] = now;
        window[count++] = bucket;
      }
    }
    count = addShapes(shapeBefore, shape, window, count);
    windows += 1;
    read(window, count, count);
  };

  const length = plain.length;
  let index = 0;
  while (index < length) {
    const unit = plain.charCodeAt(index);
    const kind = kinds[unit] as number;
    if (kind === 0) {
      if (unit === LINE_FEED) {
        last = SEED.shape;
        secondLast = SEED.shape;
        closes = 0;
      }
      index += 1;
      continue;
    }
    if (kind === 1) {
      const start = index;
      while (index < length && kinds[plain.charCodeAt(index)] === 1 && index - start < 6) index += 1;
      shape.signs += index - start;
      if (index - start >= 2) {
        let hash = mix(SEED.sign, code ? 1 : 0);
        for (let at = start; at < Math.min(index, start + 4); at += 1) hash = mix(hash, plain.charCodeAt(at));
        chunk[inChunk++] = bucketOf(hash);
        if (unit === 0x60 && index - start >= 3) code = !code;
      }
      for (let at = start; at < index; at += 1) {
        const sign = plain.charCodeAt(at);
        if (closes !== 0 && (sign === closes || at - quotedSince > LONGEST_QUOTATION)) closes = 0;
        else if (closes === 0) {
          const close = OPENS.get(sign);
          if (close !== undefined) {
            closes = close;
            quotedSince = at;
            shape.quotes += 1;
          }
        }
        if (ENDS_SENTENCE.has(sign)) {
          last = SEED.shape;
          secondLast = SEED.shape;
        }
      }
      continue;
    }
    const start = index;
    // Words are told apart by where they stand: in what somebody says, in what somebody quotes, in code.
    const place = code ? 2 : closes === 0 ? 0 : 1;
    if (kind === 3) {
      while (index < length && kinds[plain.charCodeAt(index)] === 3 && index - start < LONGEST_TOKEN) index += 1;
      for (let at = start; at < index; at += 1) {
        let hash: number = SEED.part;
        for (let end = at; end < Math.min(index, at + 4); end += 1) {
          hash = mix(hash, plain.charCodeAt(end));
          chunk[inChunk++] = bucketOf(mix(hash, end - at));
        }
      }
      shape.foreign += index - start;
      tokens += (index - start) >> 1;
      last = SEED.shape;
      secondLast = SEED.shape;
    } else {
      let hash: number = SEED.word;
      while (index < length && index - start < LONGEST_TOKEN) {
        const next = plain.charCodeAt(index);
        if (kinds[next] !== 2 && !(next === APOSTROPHE && index > start && kinds[plain.charCodeAt(index + 1)] === 2))
          break;
        if (next > LAST_ASCII) shape.foreign += 1;
        hash = mix(hash, next);
        index += 1;
      }
      tokens += 1;
      chunk[inChunk++] = bucketOf(mix(hash, place));
      chunk[inChunk++] = bucketOf(mix(mix(SEED.pair + place, last), hash));
      if (secondLast !== SEED.shape) chunk[inChunk++] = bucketOf(mix(mix(SEED.skip, secondLast), hash));
      inChunk = partsOf(plain, start, index, chunk, inChunk);
      if (index - start <= 15) {
        const word = plain.slice(start, index);
        if (YOU.has(word)) shape.you += 1;
        else if (MACHINE.has(word)) shape.machine += 1;
        else if (ABOUT.has(word)) shape.about += 1;
      }
      secondLast = last;
      last = hash;
    }
    shape.tokens += 1;
    if (tokens >= CHUNK_TOKENS || index - chunkStart >= CHUNK_UNITS) endChunk(index);
  }
  if (inChunk > 0 || windows === 0) emit();
}

/** Parts of a word of three and four units, the ends of the word being units too. Returns the new length of the list. */
export function partsOf(text: string, start: number, end: number, into: Int32Array, length: number): number {
  let count = length;
  let first = SPACE;
  let second = text.charCodeAt(start);
  for (let from = start - 1; from < end - 1; from += 1) {
    let hash = mix(mix(SEED.part, first), second);
    const last = Math.min(end, from + 3);
    for (let to = from + 2; to <= last; to += 1) {
      hash = mix(hash, to === end ? SPACE : text.charCodeAt(to));
      into[count++] = bucketOf(hash);
    }
    first = second;
    second = text.charCodeAt(from + 2);
  }
  return count;
}

interface Shape {
  tokens: number;
  signs: number;
  quotes: number;
  foreign: number;
  you: number;
  machine: number;
  about: number;
}
const newShape = (): Shape => ({ tokens: 0, signs: 0, quotes: 0, foreign: 0, you: 0, machine: 0, about: 0 });

const atMost = (value: number, most: number): number => (value > most ? most : value);

/** Adds what kind of text two chunks are together. */
function addShapes(one: Shape, other: Shape, into: Int32Array, length: number): number {
  const tokens = Math.max(1, one.tokens + other.tokens);
  const signs = one.signs + other.signs;
  const quotes = one.quotes + other.quotes;
  const you = one.you + other.you;
  const machine = atMost(one.machine + other.machine, 2);
  const about = atMost(one.about + other.about, 2);
  let count = length;
  const add = (kind: number, value: number): void => {
    into[count++] = bucketOf(mix(mix(SEED.shape, kind), value));
  };
  add(0, atMost(Math.floor((signs * 4) / tokens), 7));
  add(1, atMost(quotes, 3));
  add(2, one.foreign + other.foreign > 0 ? 1 : 0);
  add(3, atMost(you, 3));
  add(4, machine * 4 + (you > 0 ? 1 : 0));
  add(5, about * 4 + (you > 0 ? 1 : 0));
  add(6, about * 8 + machine * 2 + (quotes > 0 ? 1 : 0));
  add(7, atMost(Math.floor(Math.log2(tokens)), 6));
  return count;
}

/** More than a chunk can hold: it ends at the first token after its last unit, and a unit has at most four features. */
const MOST_IN_CHUNK = 4 * (CHUNK_UNITS + LONGEST_TOKEN + 8);
const SHAPES = 8;

interface Places {
  readonly chunk: Int32Array;
  readonly before: Int32Array;
  readonly window: Int32Array;
  /** In which window a bucket was seen last. */
  readonly seen: SeenBuckets;
}
let madePlaces: Places | undefined;
/** Used again for every text: reading is never interrupted by reading. */
const placesForReading = (): Places =>
  (madePlaces ??= {
    chunk: new Int32Array(MOST_IN_CHUNK),
    before: new Int32Array(MOST_IN_CHUNK),
    window: new Int32Array(2 * MOST_IN_CHUNK + SHAPES),
    seen: seenBuckets(BUCKETS),
  });
