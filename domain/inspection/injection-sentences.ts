import { skeletonsOf } from '../skeleton.js';
import { MEANING_FACTS, meaningsOf } from './sentence-meaning.js';
import { seenBuckets, type SeenBuckets } from './seen-buckets.js';
import {
  ABOUT,
  BUCKETS,
  bucketOf,
  ENDS_SENTENCE,
  kindsOfUnits,
  LINE_FEED,
  LONGEST_TOKEN,
  MACHINE,
  mix,
  partsOf,
  SPACE,
  YOU,
} from './injection-features.js';

/** Reads a sentence as a window is read, and besides what the network reads of it. Both lists are used again for the next one. */
export type SentenceReader = (buckets: Int32Array, count: number, words: number, facts: Float32Array) => void;

/** What a network reads of a sentence: what it is about, and of what kind it is. */
export const SENTENCE_FACTS = MEANING_FACTS + 24;

/** A longer sentence is read in parts of so many words. */
const MOST_TOKENS = 40;
const MOST_FEATURES = MOST_TOKENS * (3 + 2 * LONGEST_TOKEN) + 64;
/** Words of a text are counted by so many hashes: enough to tell whether a word occurs elsewhere in it. */
const COUNTED = 1 << 16;
const LONG_WORD = 4;
const FEW_SENTENCES = 2;
const SOME_SENTENCES = 12;
const KINDS_OF_END = 4;
const KINDS_OF_SIZE = 3;

/** The last letter of Latin and its extensions; what comes after it are signs of other scripts. */
const LAST_LATIN = 0x2af;
const ZERO = 0x30;
const NINE = 0x39;
const APOSTROPHE = 0x27;
const BAR = 0x7c;
const BACKTICK = 0x60;
const QUOTES = new Set([0x22, 0x27, BACKTICK, 0xab, 0x201c, 0x201e]);
const LEADS = new Map([
  [0x3e, 1],
  [0x23, 2],
  [0x2d, 4],
  [0x2a, 4],
]);
const QUESTIONS = new Set([0x3f, 0xff1f, 0x061f]);
const STOPS = new Set([0x2e, 0x21, 0x3002, 0xff01, 0x0964]);
const I = new Set('i we my our me us im ive were id ill lets mine'.split(' '));
const SEED = {
  word: 0x9e37,
  pair: 0x79b9,
  skip: 0x7f4a,
  shape: 0xca6b,
  first: 0x51ed,
  known: 0x2f3b,
} as const;

/** Where a sentence stands in the lists of words, and what kind of sentence it is. */
interface Sentence {
  readonly from: number;
  readonly to: number;
  /** How it ends: 0 like a fragment, 1 like a statement, 2 like a question, 3 before something. */
  readonly end: number;
  readonly lead: number;
  readonly quoted: boolean;
  readonly quotes: boolean;
  readonly code: boolean;
  /** It is all of its line; or the beginning of it. */
  readonly whole: boolean;
  readonly begins: boolean;
}

interface Words {
  readonly plain: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly hashes: readonly number[];
  readonly sentences: readonly Sentence[];
}

/**
 * Reads a text sentence by sentence. Beside its words, a sentence has what sets it off from those around it: how it begins and ends, whom it
 * speaks of, where it stands, how many of its words stand elsewhere in the text, and whether the rest asks and addresses as it does. Linear in
 * the length of the text; every sentence is bounded. The facts say what it is about, and the same in numbers.
 */
export function readSentences(text: string, read: SentenceReader): void {
  const words = wordsOf(skeletonsOf([text]).plain);
  const { plain, sentences, hashes, starts, ends } = words;
  const rest = textOf(words);
  const size = sentences.length <= FEW_SENTENCES ? 0 : sentences.length < SOME_SENTENCES ? 1 : 2;
  const meaning = meaningsOf(words);
  const { features, raw, seen, facts } = placesForReading();
  const { stamps } = seen;
  for (const [index, sentence] of sentences.entries()) {
    const { from, to } = sentence;
    if (to - from < 2 && sentences.length > 1) continue;
    const now = seen.next();
    let count = 0;
    const add = (bucket: number): void => {
      if (stamps[bucket] === now) return;
      stamps[bucket] = now;
      features[count++] = bucket;
    };
    const shape = (kind: number, value: number): void => add(bucketOf(mix(mix(SEED.shape, kind), value)));
    const place = sentence.code ? 2 : sentence.quoted ? 1 : 0;
    let you = 0;
    let me = 0;
    let machine = 0;
    let about = 0;
    let known = 0;
    let knownLong = 0;
    let knownStem = 0;
    let long = 0;
    let units = 0;
    let foreign = 0;
    let numbers = 0;
    for (let at = from; at < to; at += 1) {
      const hash = hashes[at] as number;
      const before = at === from ? SEED.shape : (hashes[at - 1] as number);
      add(bucketOf(mix(hash, place)));
      add(bucketOf(mix(mix(SEED.pair + place, before), hash)));
      if (at > from + 1) add(bucketOf(mix(mix(SEED.skip, hashes[at - 2] as number), hash)));
      const start = starts[at] as number;
      const end = ends[at] as number;
      const parts = partsOf(plain, start, end, raw, 0);
      for (let part = 0; part < parts; part += 1) add(raw[part] as number);
      units += end - start;
      const unit = plain.charCodeAt(start);
      if (unit > LAST_LATIN) foreign += end - start;
      if (unit >= ZERO && unit <= NINE) numbers += 1;
      const elsewhere = isElsewhere(rest.words, hashes, at, sentence);
      if (elsewhere) known += 1;
      if (end - start >= LONG_WORD) {
        long += 1;
        if (elsewhere) knownLong += 1;
        if (isElsewhere(rest.stems, rest.stemOf, at, sentence)) knownStem += 1;
      }
      if (end - start > 15) continue;
      const word = plain.slice(start, end);
      if (YOU.has(word)) you += 1;
      if (I.has(word)) me += 1;
      if (MACHINE.has(word)) machine += 1;
      if (ABOUT.has(word)) about += 1;
    }
    const first = hashes[from] as number;
    const ofLong = long === 0 ? 5 : size === 0 ? 6 : Math.min(4, Math.floor((4 * knownLong) / long));
    const ofAll = size === 0 ? 6 : Math.min(5, Math.floor((5 * known) / (to - from)));
    const ofStems = long === 0 ? 7 : size === 0 ? 8 : Math.min(6, Math.floor((6 * knownStem) / long));
    const length = Math.floor(Math.log2(to - from));
    const asks = sentence.end === 2 ? 1 : 0;
    const addresses = you > 0 ? 1 : 0;
    add(bucketOf(mix(mix(SEED.first, first), sentence.end)));
    add(bucketOf(mix(mix(SEED.first + 1, first), me > 0 ? 1 : 0)));
    if (to - from > 1) add(bucketOf(mix(mix(SEED.first + 2, first), hashes[from + 1] as number)));
    add(bucketOf(mix(mix(SEED.first + 3, first), sentence.lead)));
    add(bucketOf(mix(mix(SEED.known, first), ofLong < 2 ? 0 : ofLong <= 4 ? 1 : 2)));
    const ofWords = count;
    shape(0, sentence.end);
    shape(1, sentence.lead);
    shape(2, Math.min(you, 3));
    shape(3, Math.min(me, 2));
    shape(4, Math.min(machine, 2) * 4 + addresses);
    shape(5, Math.min(about, 2) * 4 + (sentence.quotes ? 1 : 0));
    shape(6, Math.min(6, length));
    shape(7, (sentence.whole ? 1 : 0) + (sentence.begins ? 2 : 0));
    shape(8, place * 4 + sentence.end);
    shape(9, ofLong * 4 + size);
    shape(10, ofLong * 16 + sentence.end * 4 + addresses + (me > 0 ? 2 : 0));
    shape(11, ofAll * 4 + size);
    shape(12, ofAll * 4 + sentence.end);
    shape(20, ofStems * 4 + size);
    shape(21, ofStems * 8 + length);
    // What only this sentence does is 0, what some of the text does 1, and what much of it does 2.
    shape(
      22,
      asks * 4 + (size === 0 ? 3 : rest.questions === asks ? 0 : rest.questions > sentences.length / 5 ? 2 : 1),
    );
    shape(23, addresses * 4 + (size === 0 ? 3 : rest.you === you ? 0 : rest.you > sentences.length / 4 ? 2 : 1));
    shape(24, size === 0 ? 3 : index === 0 ? 0 : index === sentences.length - 1 ? 2 : 1);
    shape(25, hasAddress(plain.slice(starts[from], ends[to - 1])) * 2 + addresses);
    shape(26, (foreign * 2 > units ? 1 : 0) + (rest.foreign ? 2 : 0));
    shape(27, Math.min(4, Math.floor((5 * numbers) / (to - from))));
    shape(28, Math.min(10, Math.floor(Math.log2(1 + sentences.length))));
    meaning(index, facts);
    const tokens = to - from;
    let fact = MEANING_FACTS;
    const say = (value: number): void => void (facts[fact++] = value);
    for (let kind = 0; kind < KINDS_OF_END; kind += 1) say(sentence.end === kind ? 1 : 0);
    for (let kind = 0; kind < KINDS_OF_SIZE; kind += 1) say(size === kind ? 1 : 0);
    say(Math.min(you, 3) / 2);
    say(Math.min(me, 2) / 2);
    say(Math.min(machine, 2));
    say(Math.min(about, 2));
    say(length / 5);
    say(known / tokens);
    say(long === 0 ? 0.5 : knownLong / long);
    say(knownStem / Math.max(1, long));
    say(sentence.whole ? 1 : 0);
    say(sentence.begins ? 1 : 0);
    say(foreign * 2 > units ? 1 : 0);
    say(rest.foreign ? 1 : 0);
    say(numbers / tokens);
    say(place > 0 ? 1 : 0);
    say(Math.log2(1 + sentences.length) / 8);
    say(size > 0 && rest.questions === asks ? asks : 0);
    say(size > 0 && you > 0 && rest.you === you ? 1 : 0);
    read(features, count, ofWords, facts);
  }
}

const hasAddress = (text: string): number =>
  text.includes('://') || text.includes('www.') || text.includes('@') ? 1 : 0;

interface WholeText {
  /** How often each word and each beginning of a word stands in it. */
  readonly words: Uint8Array;
  readonly stems: Uint8Array;
  readonly stemOf: readonly number[];
  readonly questions: number;
  readonly you: number;
  /** Most of it has letters that are not Latin. */
  readonly foreign: boolean;
}
/** What there is to tell a sentence from: the text as a whole. */
function textOf({ plain, sentences, hashes, starts, ends }: Words): WholeText {
  const stemOf = hashes.map((_, at) => {
    let hash: number = SEED.word;
    const end = Math.min(ends[at] as number, (starts[at] as number) + LONG_WORD);
    for (let unit = starts[at] as number; unit < end; unit += 1) hash = mix(hash, plain.charCodeAt(unit));
    return hash ^ (hash >>> 16);
  });
  let units = 0;
  let foreign = 0;
  let you = 0;
  for (const [at, start] of starts.entries()) {
    const length = (ends[at] as number) - start;
    units += length;
    if (plain.charCodeAt(start) > LAST_LATIN) foreign += length;
    if (length <= 15 && YOU.has(plain.slice(start, start + length))) you += 1;
  }
  return {
    words: countsOf(hashes),
    stems: countsOf(stemOf),
    stemOf,
    questions: sentences.filter(({ end }) => end === 2).length,
    you,
    foreign: foreign * 2 > units,
  };
}

function countsOf(hashes: readonly number[]): Uint8Array {
  const counts = new Uint8Array(COUNTED);
  for (const hash of hashes) {
    const at = hash & (COUNTED - 1);
    if ((counts[at] as number) < 255) counts[at] = (counts[at] as number) + 1;
  }
  return counts;
}

/** Whether a word stands in the text more often than in its own sentence. */
const isElsewhere = (counts: Uint8Array, hashes: readonly number[], at: number, { from, to }: Sentence): boolean =>
  (counts[(hashes[at] as number) & (COUNTED - 1)] as number) > sameWithin(hashes, from, to, hashes[at] as number);

/** How often a word stands in its own sentence. */
function sameWithin(hashes: readonly number[], from: number, to: number, hash: number): number {
  let same = 0;
  for (let at = from; at < to; at += 1)
    if (((hashes[at] as number) & (COUNTED - 1)) === (hash & (COUNTED - 1))) same += 1;
  return same;
}

/** The words of a text, and where its sentences end: at line ends, at signs that end one before a space, and at bars of tables. */
function wordsOf(plain: string): Words {
  const kinds = kindsOfUnits();
  const starts: number[] = [];
  const ends: number[] = [];
  const hashes: number[] = [];
  const sentences: Sentence[] = [];
  let code = false;
  let lineFirst = 0;
  let from = 0;
  let lead = 0;
  let quoted = false;
  let quotes = false;
  let begun = false;
  const close = (end: number, lineEnds: boolean): void => {
    if (hashes.length > from) {
      const begins = sentences.length === lineFirst;
      sentences.push({ from, to: hashes.length, end, lead, quoted, quotes, code, whole: begins && lineEnds, begins });
      from = hashes.length;
    }
    begun = false;
    lead = 0;
    quoted = false;
    quotes = false;
  };
  const length = plain.length;
  let index = 0;
  let last = 0;
  while (index < length) {
    const unit = plain.charCodeAt(index);
    const kind = kinds[unit] as number;
    if (unit === LINE_FEED) {
      close(endOf(last), true);
      lineFirst = sentences.length;
      last = 0;
      index += 1;
      continue;
    }
    if (kind === 0) {
      index += 1;
      continue;
    }
    if (kind === 1) {
      if (unit === BACKTICK && plain.charCodeAt(index + 1) === BACKTICK && plain.charCodeAt(index + 2) === BACKTICK) {
        code = !code;
        index += 3;
        begun = true;
        continue;
      }
      if (!begun) {
        lead = LEADS.get(unit) ?? 0;
        quoted = QUOTES.has(unit);
        begun = true;
      }
      if (QUOTES.has(unit) && unit !== APOSTROPHE) quotes = true;
      index += 1;
      if (unit === BAR) close(0, false);
      else if (ENDS_SENTENCE.has(unit)) {
        last = unit;
        const next = plain.charCodeAt(index);
        if (next === SPACE || unit > 0x2000) close(endOf(unit), false);
      }
      continue;
    }
    begun = true;
    if (hashes.length - from >= MOST_TOKENS) {
      close(0, false);
      begun = true;
    }
    const start = index;
    let hash: number = SEED.word;
    while (index < length && index - start < (kind === 3 ? 2 : LONGEST_TOKEN)) {
      const next = plain.charCodeAt(index);
      const inside = next === APOSTROPHE && index > start && kinds[plain.charCodeAt(index + 1)] === 2;
      if (kinds[next] !== kind && !(kind === 2 && inside)) break;
      hash = mix(hash, next);
      index += 1;
    }
    starts.push(start);
    ends.push(index);
    hashes.push(hash);
    last = 0;
  }
  close(endOf(last), true);
  return { plain, starts, ends, hashes, sentences };
}

const endOf = (unit: number): number => (QUESTIONS.has(unit) ? 2 : STOPS.has(unit) ? 1 : unit === 0 ? 0 : 3);

interface Places {
  readonly features: Int32Array;
  /** Parts of one word. */
  readonly raw: Int32Array;
  readonly seen: SeenBuckets;
  readonly facts: Float32Array;
}
let madePlaces: Places | undefined;
/** Used again for every text: reading is never interrupted by reading. */
const placesForReading = (): Places =>
  (madePlaces ??= {
    features: new Int32Array(MOST_FEATURES),
    raw: new Int32Array(2 * (LONGEST_TOKEN + 2)),
    seen: seenBuckets(BUCKETS),
    facts: new Float32Array(SENTENCE_FACTS),
  });
