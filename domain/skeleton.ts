/**
 * Brings a text to what a reader, human or model, would take it for: compatibility forms decomposed (NFKD, Unicode UAX 15), marks and
 * invisible characters removed, look-alike letters of other alphabets replaced by Latin ones, lower case, one space between words.
 */

/** Look-alikes; each row has the Latin letter, then the characters that look like it (from UTS 39, reduced to what NFKD leaves). */
const LOOK_ALIKES: readonly string[] = [
  'aаαɑᴀ',
  'bвьβʙƅɓ',
  'cсϲᴄ',
  'dԁɗᴅđժ',
  'eеєεᴇҽəɛ',
  'fғƒꜰ',
  'gɡɢԍց',
  'hнһհʜħ',
  'iіιıɪɩ',
  'jјϳᴊ',
  'kкκᴋқ',
  'lⅼʟłӏ',
  'mмᴍ',
  'nпηɴոռ',
  'oоοσᴏøօ',
  'pрρᴘ',
  'qԛգ',
  'rгʀɾ',
  'sѕꜱƽ',
  'tтτᴛŧ',
  'uυᴜսʋ',
  'vνѵᴠ',
  'wѡᴡωԝա',
  'xхχ',
  'yуүγʏ',
  'zᴢƶ',
];

/** Greek capitals that look like a different Latin letter than their lower-case form. */
const CAPITALS: readonly (readonly [string, string])[] = [
  ['h', 'Η'],
  ['n', 'Ν'],
  ['y', 'Υ'],
];

const SPACE = 0x20;
const LINE_FEED = 0x0a;
const BACKSLASH = 0x5c;
const LINE_ENDS = /[\n\r\v\f\u0085\u2028\u2029]/;
const APOSTROPHES = new Set([0x27, 0x2019, 0x2018, 0x02bc]);

/** The plain form of each UTF-16 unit; 0 drops it. Surrogates stay as they are. Made when it is first needed: many processes and threads never do. */
let madeTable: Uint16Array | undefined;
const plainForms = (): Uint16Array => (madeTable ??= makePlainForms());

function makePlainForms(): Uint16Array {
  const table = new Uint16Array(0x10000);
  const dropped = /[\p{M}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/u;
  for (let unit = 0; unit < 0x10000; unit += 1) {
    if (unit >= 0xd800 && unit <= 0xdfff) {
      table[unit] = unit;
      continue;
    }
    const character = String.fromCharCode(unit);
    if (LINE_ENDS.test(character)) table[unit] = LINE_FEED;
    else if (/\s/u.test(character)) table[unit] = SPACE;
    else if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0) || dropped.test(character)) table[unit] = 0;
    else {
      const lower = character.toLowerCase();
      table[unit] = lower.length === 1 ? lower.charCodeAt(0) : unit;
    }
  }
  for (const [latin, ...others] of LOOK_ALIKES.map((row) => Array.from(row))) {
    for (const other of others) {
      for (const form of [other, other.toUpperCase()]) {
        if (form.length === 1) table[form.charCodeAt(0)] = (latin as string).charCodeAt(0);
      }
    }
  }
  for (const [latin, capital] of CAPITALS) table[capital.charCodeAt(0)] = latin.charCodeAt(0);
  return table;
}

/** Letters in boxes and flags, which have no compatibility decomposition: U+1F150 and U+1F170 (negative), U+1F1E6 (regional). */
const BOXED_LETTER = /[\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}\u{1f1e6}-\u{1f1ff}]/gu;
const unboxed = (letter: string): string => {
  const point = letter.codePointAt(0) as number;
  const first = point >= 0x1f1e6 ? 0x1f1e6 : point >= 0x1f170 ? 0x1f170 : 0x1f150;
  return String.fromCharCode(0x61 + point - first);
};
const INVISIBLE_ASTRAL = /[\u{e0000}-\u{e0fff}]/gu;

// The control characters in the two expressions below are range limits, not mistakes.
const NOT_ASCII = /[^\0-\x7f]/;
const ASTRAL = /[\ud83c\udb40-\udb43]/;

/** Decomposes compatibility characters. Most texts are ASCII and are returned unchanged. */
function decompose(text: string): string {
  if (!NOT_ASCII.test(text)) return text;
  const visible = ASTRAL.test(text) ? text.replace(INVISIBLE_ASTRAL, '').replace(BOXED_LETTER, unboxed) : text;
  return visible.normalize('NFKD');
}

/** Where one text of a request is in the plain views. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Three views of the same texts, each made in one pass. */
export interface Skeletons {
  /** In plain form, with punctuation. Runs of white space become one space or one line feed; texts are separated by a line feed. */
  readonly plain: string;
  /** Only `a-z0-9` words, with one space between them and at both ends. */
  readonly words: string;
  /** The words without spaces, which reveals letter-spaced and glued writing. */
  readonly glued: string;
  /** For each text, its part of `words`. */
  readonly spans: readonly Span[];
  /** False: the word does not occur. True: it probably does, so search. */
  readonly mayHold: (word: string) => boolean;
  /** The same for a word in which digits may stand for the letters they look like; does not search itself. */
  readonly mayHoldSpelled: (word: string) => boolean;
}

/** Each byte unchanged, except digits, which become the letters they look like. */
const LETTER_OF_DIGIT = Uint8Array.from({ length: 256 }, (_, byte) => byte);
for (const [digit, letter] of ['0o', '1i', '3e', '4a', '5s', '7t'])
  LETTER_OF_DIGIT[(digit as string).charCodeAt(0)] = (letter as string).charCodeAt(0);

/** Turns `1gn0re` into `ignore`. */
export function digitsAsLetters(words: string): string {
  const bytes = Buffer.from(words, 'latin1');
  for (let index = 0; index < bytes.length; index += 1)
    bytes[index] = LETTER_OF_DIGIT[bytes[index] as number] as number;
  return bytes.toString('latin1');
}

/** Size of the word filter; a large ordinary document fills only a small part of it. */
const FILTER_SIZE = 1 << 18;
const wordHash = (word: string): number => {
  let hash = 0;
  for (let index = 0; index < word.length; index += 1) hash = (Math.imul(hash, 31) + word.charCodeAt(index)) | 0;
  return hash & (FILTER_SIZE - 1);
};
/** Below this many characters a plain search is faster than clearing a filter. */
const FILTER_FROM = 8_192;

/** Brings all texts of a request to their plain form. Linear in their length. Skips nothing, because padding is the cheapest evasion. */
export function skeletonsOf(texts: readonly string[]): Skeletons {
  const decomposed = texts.map(decompose);
  const size = decomposed.reduce((sum, text) => sum + text.length + 1, 2);
  const filter = size < FILTER_FROM ? null : new Uint8Array(FILTER_SIZE);
  const plain = new Uint16Array(size);
  const words = Buffer.allocUnsafe(size);
  const glued = Buffer.allocUnsafe(size);
  const spans: Span[] = [];
  let plainEnd = 0;
  let wordsEnd = 0;
  let gluedEnd = 0;
  let hash = 0;
  let spelledHash = 0;
  let inWord = false;
  words[wordsEnd++] = SPACE;
  const endWord = (): void => {
    words[wordsEnd++] = SPACE;
    if (filter !== null) {
      filter[hash & (FILTER_SIZE - 1)] = 1;
      filter[spelledHash & (FILTER_SIZE - 1)] = 1;
    }
    hash = 0;
    spelledHash = 0;
    inWord = false;
  };
  const table = plainForms();
  for (const text of decomposed) {
    const start = wordsEnd - 1;
    let inSpace = true;
    let inLineEnd = true;
    for (let index = 0; index < text.length; index += 1) {
      const unit = table[text.charCodeAt(index)] as number;
      if (unit === 0) continue;
      if (unit === LINE_FEED) {
        // A backslash at the end of a line joins it with the next one, as in a shell.
        if (plain[plainEnd - 1] === BACKSLASH) plain[plainEnd - 1] = SPACE;
        else if (!inSpace) plain[plainEnd++] = LINE_FEED;
        else if (!inLineEnd) plain[plainEnd - 1] = LINE_FEED;
        inLineEnd = plain[plainEnd - 1] === LINE_FEED;
        inSpace = true;
      } else if (unit === SPACE) {
        if (!inSpace) plain[plainEnd++] = SPACE;
        inLineEnd &&= inSpace;
        inSpace = true;
      } else {
        plain[plainEnd++] = unit;
        inSpace = false;
        inLineEnd = false;
      }
      if ((unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39)) {
        words[wordsEnd++] = unit;
        glued[gluedEnd++] = unit;
        hash = (Math.imul(hash, 31) + unit) | 0;
        spelledHash = (Math.imul(spelledHash, 31) + (LETTER_OF_DIGIT[unit] as number)) | 0;
        inWord = true;
      } else if (inWord && !APOSTROPHES.has(unit)) {
        endWord();
      }
    }
    plain[plainEnd++] = LINE_FEED;
    if (inWord) endWord();
    spans.push({ start, end: wordsEnd });
  }
  const joined = words.toString('latin1', 0, wordsEnd);
  return {
    plain: Buffer.from(plain.buffer, 0, plainEnd * 2).toString('utf16le'),
    words: joined,
    glued: glued.toString('latin1', 0, gluedEnd),
    spans,
    mayHoldSpelled: (word) => filter === null || filter[wordHash(word)] === 1,
    mayHold: (word) => (filter === null || filter[wordHash(word)] === 1) && joined.includes(` ${word} `),
  };
}

/** Brings one short text to words: `" ignore previous instructions "`. */
export const skeletonWords = (text: string): string => skeletonsOf([text]).words;
