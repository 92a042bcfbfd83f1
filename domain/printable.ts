import { CONFUSABLE, DIGIT_LIKE } from './confusable.js';
import { zeroOf } from './digits.js';
import { clipped, shortened } from './text.js';

/**
 * Characters that must be made visible: controls (C0, C1), formatting and bidirectional marks, unassigned and private characters, lone
 * surrogates (category C); characters that fonts draw as nothing, such as variation selectors, joiners, fillers and tags
 * (Default_Ignorable_Code_Point); line and paragraph separators; spaces other than U+0020; and blanks that are in none of these groups: of
 * Braille, of hieroglyphs, of Khitan and of musical notes.
 */
const UNSEEN =
  /[^\P{C}\n]|\p{Default_Ignorable_Code_Point}|[\p{Zl}\p{Zp}]|[^\P{Zs} ]|[\u2800\u{1D159}]|[\u{13441}\u{13442}]|\u{16FE4}/gu;

export const escaped = (found: string): string => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;

/** Letters that people take for Latin ones in the middle of these: of Cyrillic, Greek and Armenian, fullwidth letters, and those of mathematics. */
const LOOKALIKE =
  /[\u0400\u0401\u0405-\u0408\u0410\u0412\u0413\u0415\u0417\u041A\u041C-\u041E\u0420-\u0423\u0425\u042C\u0430\u0432\u0433\u0435\u0437\u043A\u043C-\u0443\u0445\u044C\u0450\u0451\u0454-\u0458\u045B\u045E\u0474\u0475\u0491\u04AE\u04AF\u04BA\u04BB\u04C0\u04CF-\u04D7\u04E6\u04E7\u04EE-\u04F3\u0500\u0501\u050C\u050D\u051A-\u051D\u0386\u0388-\u038A\u038C\u038E\u0390-\u0392\u0395-\u0397\u0399\u039A\u039C\u039D\u039F\u03A1\u03A4\u03A5\u03A7\u03AA-\u03AC\u03AE-\u03B1\u03B3\u03B7\u03B9\u03BA\u03BD\u03BF\u03C1\u03C4\u03C5\u03C7\u03C9-\u03CE\u03F2\u03F3\u03F9\u03FA\u053C\u054D\u054F\u0555\u0561\u0563\u0566\u056C\u0570\u0578\u057C\u057D\u0580\u0581\u0582\u0584\u0585\uFF21-\uFF3A\uFF41-\uFF5A\u{1D400}-\u{1D7FF}]/gu;
const LATIN = /[A-Za-z\u00C0-\u024F\u1E00-\u1EFF]/;
const hasLookalike = (text: string): boolean => text.search(LOOKALIKE) >= 0;
const hasConfusable = (text: string): boolean => text.search(CONFUSABLE) >= 0;
/** What stands between two blanks or quotes; or the escape of a character in JSON, whose letter is not one of the word behind it. */
const TOKEN = /\\(?:u[0-9a-f]{4}|["\\/bfnrt])|(?:[^\s"\\]|\\(?!u[0-9a-f]{4}|["\\/bfnrt]))+/gu;
const isEscape = (token: string): boolean => /^\\(?:u[0-9a-f]{4}|["\\/bfnrt])/.test(token);
/** Chinese, Japanese and Korean have no spaces between words, so their characters stand in none. */
const WORD =
  /(?:(?![\u3005-\u30FF\u3400-\u9FFF\uAC00-\uD7AF\uFF66-\uFF9F])[\p{L}\p{M}\p{N}\u212E\u2373\u2374\u237A])+/gu;
/** What is left of a word that is read as Latin, without those of its letters that are not Latin. */
const READ_AS_LATIN = /^[A-Za-z0-9\u00C0-\u024F\u1E00-\u1EFF\p{M}]*$/u;

/** Whether Latin letters stand beside those of another script that look like them. */
const isMixed = (word: string): boolean => LATIN.test(word) && hasLookalike(word);
/** Whether a word looks like one of Latin letters, every letter of it, and has some that are not. */
const looksLatin = (word: string): boolean =>
  hasConfusable(word) && READ_AS_LATIN.test(word.replaceAll(CONFUSABLE, ''));

/** What stands between two digits. */
const BETWEEN_DIGITS = /(?<=[0-9])[^0-9]{1,16}(?=[0-9])/gu;
const passesForDigits = (word: string): boolean => word.replaceAll(DIGIT_LIKE, '') === '';

/** Digits of other scripts: `\u0660` is zero, and is drawn as a point. */
const OTHER_DIGIT = /[^\P{Nd}0-9]/gu;
const hasOtherDigit = (text: string): boolean => text.search(OTHER_DIGIT) >= 0;
/** What stands between letters: a number, with its signs. */
const NUMBER = /[^\p{L}]{1,256}/gu;
/** Whether a number has digits of two scripts (mixed numbers of UTS 39): some look like signs, or like digits of another value. */
function mixesDigits(number: string): boolean {
  if (!hasOtherDigit(number)) return false;
  let zero: number | undefined;
  for (const [digit] of number.matchAll(/\p{Nd}/gu)) {
    const own = zeroOf(digit.codePointAt(0) ?? 0);
    if (own !== (zero ??= own)) return true;
  }
  return false;
}
/** A token with the words of it that pass for others put as `shown` says. */
const eachMixed = (token: string, shown: (word: string) => string): string => {
  if (isEscape(token)) return token;
  const told = LATIN.test(token)
    ? token.replaceAll(WORD, (word) => (isMixed(word) || looksLatin(word) ? shown(word) : word))
    : token.replaceAll(BETWEEN_DIGITS, (part) => (passesForDigits(part) ? shown(part) : part));
  return hasOtherDigit(told)
    ? told.replaceAll(NUMBER, (number) => (mixesDigits(number) ? number.replaceAll(OTHER_DIGIT, escaped) : number))
    : told;
};
/** Whether a text has characters that may pass for others. */
const mayMislead = (text: string): boolean => hasLookalike(text) || hasConfusable(text) || hasOtherDigit(text);
const plainWord = (word: string): string => {
  if (passesForDigits(word)) return word.replaceAll(DIGIT_LIKE, escaped);
  return (isMixed(word) ? word.replaceAll(LOOKALIKE, escaped) : word).replaceAll(CONFUSABLE, escaped);
};

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
      found ??= LATIN.test(word) ? plain : '';
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
  hasConfusable(text) && !OTHER_LETTER.test(text.replaceAll(CONFUSABLE, ''))
    ? text.replaceAll(CONFUSABLE, escaped)
    : undefined;
const OTHER_LETTER = /[^\P{L}A-Za-z\u00C0-\u024F\u1E00-\u1EFF]/u;

/**
 * Shows as escapes what nobody sees, and letters that pass for Latin ones beside these (`mixedWord`), so that text from an agent, a
 * tool or an upstream cannot control a terminal or page, or look like something else than a machine reads. Line breaks are kept.
 */
export const printable = (text: string): string => plainLetters(text).replaceAll(UNSEEN, escaped);

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
