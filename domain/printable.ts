import { CONFUSABLE, DIGIT_LIKE } from './confusable.js';
import { zeroOf } from './digits.js';
import { clipped, shortened } from './text.js';

/**
 * Characters that must be made visible: controls (C0, C1), formatting and bidirectional marks, unassigned and private characters, lone
 * surrogates (category C); characters that fonts draw as nothing, such as variation selectors, joiners, fillers and tags
 * (Default_Ignorable_Code_Point); line and paragraph separators; spaces other than U+0020; and blanks that are in none of these groups: of
 * Braille, of hieroglyphs, of Khitan and of musical notes.
 */
const UNSEEN_CHARACTER =
  /[^\P{C}\n]|\p{Default_Ignorable_Code_Point}|[\p{Zl}\p{Zp}]|[^\P{Zs} ]|[\u2800\u{1D159}]|[\u{13441}\u{13442}]|\u{16FE4}/u;
/**
 * Marks that are drawn over the character before them or around it, so that `9` with U+0336 is a `9` struck out: the enclosing ones, those whose
 * canonical combining class is Overlay, and the marks for symbols beside these.
 */
const DRAWN_OVER = /[\u0334-\u0338\u1CD4\u1CE2-\u1CE8\u20D0-\u20F0\p{Me}\u{10A39}\u{1BC9E}\u{1D167}-\u{1D169}]/u;
const MARK_CHARACTER = /\p{M}/u;
/** Letters of scripts that point them, sign vowels at them or stack others below them. */
const MARKED_LETTER =
  /[^\P{L}\p{scx=Common}\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Armenian}\p{scx=Georgian}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}]/u;
/** So many marks stand at one character: Greek writes three (breathing, accent, iota), as do transliterations; Burmese six at a letter. */
const MOST_MARKS = 3;
const MOST_MARKS_AT_MARKED = 6;

export const escaped = (found: string): string => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;

/** Letters that people take for Latin ones in the middle of these: of Cyrillic, Greek and Armenian, fullwidth letters, and those of mathematics. */
const LOOKALIKE =
  /[\u0400\u0401\u0405-\u0408\u0410\u0412\u0413\u0415\u0417\u041A\u041C-\u041E\u0420-\u0423\u0425\u042C\u0430\u0432\u0433\u0435\u0437\u043A\u043C-\u0443\u0445\u044C\u0450\u0451\u0454-\u0458\u045B\u045E\u0474\u0475\u0491\u04AE\u04AF\u04BA\u04BB\u04C0\u04CF-\u04D7\u04E6\u04E7\u04EE-\u04F3\u0500\u0501\u050C\u050D\u051A-\u051D\u0386\u0388-\u038A\u038C\u038E\u0390-\u0392\u0395-\u0397\u0399\u039A\u039C\u039D\u039F\u03A1\u03A4\u03A5\u03A7\u03AA-\u03AC\u03AE-\u03B1\u03B3\u03B7\u03B9\u03BA\u03BD\u03BF\u03C1\u03C4\u03C5\u03C7\u03C9-\u03CE\u03F2\u03F3\u03F9\u03FA\u053C\u054D\u054F\u0555\u0561\u0563\u0566\u056C\u0570\u0578\u057C\u057D\u0580\u0581\u0582\u0584\u0585\uFF21-\uFF3A\uFF41-\uFF5A\u{1D400}-\u{1D7FF}]/gu;
const LATIN_LETTER = /[A-Za-z\u00C0-\u024F\u1E00-\u1EFF]/u;
/** Digits of other scripts: `\u0660` is zero, and is drawn as a point. */
const OTHER_DIGIT_CHARACTER = /[^\P{Nd}0-9]/u;
/** What is left of a word that is read as Latin, without those of its letters that are not Latin. */
const READ_AS_LATIN_CHARACTER = /[A-Za-z0-9\u00C0-\u024F\u1E00-\u1EFF\p{M}]/u;

/** What a character may be taken for; a character may be several. */
const LATIN = 1;
const LIKE_LATIN = 2;
const CONFUSED = 4;
const LIKE_A_DIGIT = 8;
const OTHER_DIGIT = 16;
const READ_AS_LATIN = 32;
const UNSEEN = 64;
const KNOWN = 128;
const MARK = 256;
const MARKED = 512;
/** By code point, once it was asked for: expressions look at each character once, however often a text has it. */
const kinds = new Uint16Array(0x110000);
function kindOf(point: number): number {
  const known = kinds[point] as number;
  if (known !== 0) return known;
  const character = String.fromCodePoint(point);
  const is = (set: RegExp, kind: number): number => (character.search(set) === 0 ? kind : 0);
  const kind =
    KNOWN |
    is(LATIN_LETTER, LATIN) |
    is(LOOKALIKE, LIKE_LATIN) |
    is(CONFUSABLE, CONFUSED) |
    is(DIGIT_LIKE, LIKE_A_DIGIT) |
    is(OTHER_DIGIT_CHARACTER, OTHER_DIGIT) |
    is(READ_AS_LATIN_CHARACTER, READ_AS_LATIN) |
    is(UNSEEN_CHARACTER, UNSEEN) |
    is(DRAWN_OVER, UNSEEN) |
    is(MARK_CHARACTER, MARK) |
    is(MARKED_LETTER, MARKED);
  kinds[point] = kind;
  return kind;
}
/** All that the characters of a text may be taken for. */
function kindsIn(text: string): number {
  let found = 0;
  for (let at = 0; at < text.length; at += 1) {
    const point = text.codePointAt(at) as number;
    if (point > 0xffff) at += 1;
    found |= kindOf(point);
  }
  return found;
}
/** Whether every character is one of these. */
function areAll(text: string, wanted: number): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const point = text.codePointAt(at) as number;
    if (point > 0xffff) at += 1;
    if ((kindOf(point) & wanted) === 0) return false;
  }
  return true;
}
/** A text with the characters that are one of these as escapes. */
function escapedIn(text: string, wanted: number): string {
  let shown = '';
  for (const character of text)
    shown += (kindOf(character.codePointAt(0) as number) & wanted) === 0 ? character : escaped(character);
  return shown;
}
/** What stands between two blanks or quotes; or the escape of a character in JSON, whose letter is not one of the word behind it. */
const TOKEN = /\\(?:u[0-9a-f]{4}|["\\/bfnrt])|(?:[^\s"\\]|\\(?!u[0-9a-f]{4}|["\\/bfnrt]))+/gu;
const isEscape = (token: string): boolean => /^\\(?:u[0-9a-f]{4}|["\\/bfnrt])/.test(token);
/** Chinese, Japanese and Korean have no spaces between words, so their characters stand in none. */
const WORD =
  /(?:(?![\u3005-\u30FF\u3400-\u9FFF\uAC00-\uD7AF\uFF66-\uFF9F])[\p{L}\p{M}\p{N}\u212E\u2373\u2374\u237A])+/gu;

/** Whether Latin letters stand beside those of another script that look like them. */
const isMixed = (found: number): boolean => (found & LATIN) !== 0 && (found & LIKE_LATIN) !== 0;
/** Whether a word looks like one of Latin letters, every letter of it, and has some that are not. */
const looksLatin = (word: string, found: number): boolean =>
  (found & CONFUSED) !== 0 && areAll(word, CONFUSED | READ_AS_LATIN);

/** What stands between two digits. */
const BETWEEN_DIGITS = /(?<=[0-9])[^0-9]{1,16}(?=[0-9])/gu;
const passesForDigits = (word: string): boolean => areAll(word, LIKE_A_DIGIT);

/** What stands between letters: a number, with its signs. */
const NUMBER = /[^\p{L}]{1,256}/gu;
/** Whether a number has digits of two scripts (mixed numbers of UTS 39): some look like signs, or like digits of another value. */
function mixesDigits(number: string): boolean {
  if ((kindsIn(number) & OTHER_DIGIT) === 0) return false;
  let zero: number | undefined;
  for (const character of number) {
    const point = character.codePointAt(0) as number;
    if ((point < 0x30 || point > 0x39) && (kindOf(point) & OTHER_DIGIT) === 0) continue;
    const own = zeroOf(point);
    if (own !== (zero ??= own)) return true;
  }
  return false;
}
/** A token with the words of it that pass for others put as `shown` says. */
const eachMixed = (token: string, shown: (word: string) => string): string => {
  if (isEscape(token)) return token;
  const found = kindsIn(token);
  if ((found & MISLEADING) === 0) return token;
  const told =
    (found & LATIN) !== 0
      ? token.replaceAll(WORD, (word) => {
          const inWord = kindsIn(word);
          return isMixed(inWord) || looksLatin(word, inWord) ? shown(word) : word;
        })
      : token.replaceAll(BETWEEN_DIGITS, (part) => (passesForDigits(part) ? shown(part) : part));
  // What is put in its place may hold a digit too.
  return (kindsIn(told) & OTHER_DIGIT) !== 0
    ? told.replaceAll(NUMBER, (number) => (mixesDigits(number) ? escapedIn(number, OTHER_DIGIT) : number))
    : told;
};
/** Characters that may pass for others. */
const MISLEADING = LIKE_LATIN | CONFUSED | LIKE_A_DIGIT | OTHER_DIGIT;
const mayMislead = (text: string): boolean => (kindsIn(text) & (LIKE_LATIN | CONFUSED | OTHER_DIGIT)) !== 0;
const plainWord = (word: string): string =>
  passesForDigits(word)
    ? escapedIn(word, LIKE_A_DIGIT)
    : escapedIn(word, isMixed(kindsIn(word)) ? LIKE_LATIN | CONFUSED : CONFUSED);

/**
 * The first word that has Latin letters and ones of another script that look like them, with these as escapes; or the token around one that
 * looks like a Latin word without being one, where Latin letters stand before or behind it with no blank between: `vendor-\u0430`. A word all of
 * another script is none where it has a letter that only that script has, nor are Greek letters of a unit or formula that look like no other:
 * `kΩ`, `Δt`. Between two digits a letter that passes for one is such a word too (`1\u0417234`), and so is a number with digits of two scripts
 * (`1\u066000`).
 */
export function mixedWord(text: string): string | undefined {
  if (!mayMislead(text)) return undefined;
  for (const [token] of text.matchAll(TOKEN)) {
    let found: string | undefined;
    const shown = eachMixed(token, (word) => {
      const plain = plainWord(word);
      found ??= (kindsIn(word) & LATIN) === 0 ? '' : plain;
      return plain;
    });
    if (found !== undefined || shown !== token) return found || shown;
  }
  return undefined;
}

/**
 * A whole text that looks like one of Latin letters, with the letters that are not Latin as escapes. Many words of Russian do, so this says something of
 * a name alone.
 */
export const wholeLookalike = (text: string): string | undefined =>
  (kindsIn(text) & CONFUSED) !== 0 && !OTHER_LETTER.test(text.replaceAll(CONFUSABLE, ''))
    ? escapedIn(text, CONFUSED)
    : undefined;
const OTHER_LETTER = /[^\P{L}A-Za-z\u00C0-\u024F\u1E00-\u1EFF]/u;

/**
 * Shows as escapes what nobody sees, marks that are drawn over a character or heaped upon it, and letters that pass for Latin ones beside these
 * (`mixedWord`), so that text from an agent, a tool or an upstream cannot control a terminal or page, or look like something else than a machine
 * reads. Line breaks are kept.
 */
export function printable(text: string): string {
  const plain = plainLetters(text);
  let shown = '';
  let from = 0;
  // Of the character that marks stand at, which one that is an escape is not.
  let most = MOST_MARKS;
  let marks = 0;
  for (let at = 0; at < plain.length; at += 1) {
    const start = at;
    const point = plain.codePointAt(at) as number;
    if (point > 0xffff) at += 1;
    const kind = kindOf(point);
    if ((kind & (UNSEEN | MARK)) === 0) {
      most = (kind & MARKED) === 0 ? MOST_MARKS : MOST_MARKS_AT_MARKED;
      marks = 0;
      continue;
    }
    if ((kind & UNSEEN) === 0) {
      marks += 1;
      if (marks <= most) continue;
    }
    shown += plain.slice(from, start) + escaped(plain.slice(start, at + 1));
    from = at + 1;
  }
  return from === 0 ? plain : shown + plain.slice(from);
}

const plainLetters = (text: string): string =>
  mayMislead(text) ? text.replaceAll(TOKEN, (token) => eachMixed(token, plainWord)) : text;

/** Like `printable`, for text that must stay on one line or in one cell. */
export const oneLine = (text: string): string => printable(text).replaceAll('\n', '\\n');

/** A backtick, and what fonts draw like one: none of them ends a quote. */
const TICKS = /[`\u02CB\u1FEF\u2035\uFF40]/gu;

/**
 * Text of others inside a sentence of Gate's: on one line, between backticks, its own as escapes, so that nothing of it reads as Gate's words. Beyond
 * `units` it is cut.
 */
export const quoted = (text: string, units = 512): string => {
  const line = oneLine(clipped(text, 2 * units)).replaceAll(TICKS, escaped);
  return `${'`'}${shortened(line, units)}${'`'}`;
};

/** A sentence cut at what it quotes, which stands at the odd places. What an open quote begins is a quote to its end: the sentence was cut there. */
export const quotesIn = (text: string): readonly string[] => oneLine(text).split('`');

/** `shortened` for a sentence with quotes: a quote that is cut ends all the same. */
export function shortenedSaid(text: string, units: number): string {
  if (text.length <= units) return text;
  const isClosed = (part: string): boolean => part.split('`').length % 2 === 1;
  const whole = [1, 2].map((less) => clipped(text, units - less)).find(isClosed);
  if (whole !== undefined) return `${whole}…`;
  return `${clipped(text, units - 2)}…${'`'}`;
}
