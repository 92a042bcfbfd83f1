import { isPart, type JsonString } from '../inspection/json-strings.js';
import { bytesIn } from '../inspection/withheld-bytes.js';

/** How much of language an order has at least, in characters of Latin; one of a writing whose characters are words or parts of them is four. */
const SHORTEST = 16;
const LETTERS_OF_CHARACTER = 4;
/** So many words in one name, or in single words that stand beside one another, may be an order; fewer are ids, states and names of fields. */
const MOST_WORDS_OF_NAME = 4;
const LONGEST_NAME = 64;

const BLANK = /\s/;
const LETTER = /\p{L}/u;
const BEYOND_ASCII = /[^\0-\x7f]/;
/** Writings in which a word is a character or two, or no blank stands between words. */
const WITHOUT_BLANKS =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tibetan}]/gu;
const OF_ADDRESS_OR_PATH = /[/\\:@]/;
const BETWEEN_WORDS = /[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u;
const WORD = /^\p{L}{2,}$/u;

const charactersOf = (value: string): number => value.match(WITHOUT_BLANKS)?.length ?? 0;
/** A few words are enough to tell: of a long text no more than its beginning is read. */
const wordsOf = (value: string): readonly string[] => {
  const start = value.slice(0, 1_024);
  return OF_ADDRESS_OR_PATH.test(start) && !BLANK.test(start)
    ? []
    : start.split(BETWEEN_WORDS).filter((word) => WORD.test(word));
};
const countOfWords = (value: string): number => wordsOf(value).length + charactersOf(value.slice(0, 1_024)) / 2;

/**
 * The strings of an answer that say something, in their order; none where all of them together are too short to be an order. Not ids, days, states,
 * addresses, the names of ordinary members, and the bytes of an image, a sound or a resource.
 */
export function speakingStrings(text: string, strings: readonly JsonString[]): readonly JsonString[] {
  const bytes = bytesIn(text, strings);
  const inRows = wordsInRows(strings);
  const speaking = strings.filter((string) => !bytes.has(string) && (speaks(string) || inRows.has(string)));
  return isOrder(speaking) ? speaking : [];
}

function speaks({ role, value }: JsonString): boolean {
  if (value.length > LONGEST_NAME) return BLANK.test(value) ? LETTER.test(value) : true;
  if (role === 'key') return countOfWords(value) > MOST_WORDS_OF_NAME;
  if (!LETTER.test(value)) return false;
  return (
    BLANK.test(value) ||
    charactersOf(value) > 0 ||
    (value.length >= SHORTEST && BEYOND_ASCII.test(value)) ||
    wordsOf(value).length > MOST_WORDS_OF_NAME
  );
}

/** Strings of a word each that are read one after the other: the parts of an answer, and the items of a list. */
function wordsInRows(strings: readonly JsonString[]): ReadonlySet<JsonString> {
  const found = new Set<JsonString>();
  const close = (row: readonly JsonString[]): void => {
    const words = new Set<string>();
    for (const { value } of row) {
      for (const word of wordsOf(value)) words.add(word.toLowerCase());
      if (words.size > MOST_WORDS_OF_NAME) break;
    }
    if (words.size > MOST_WORDS_OF_NAME) for (const string of row) if (LETTER.test(string.value)) found.add(string);
  };
  close(strings.filter(isPart));
  let row: JsonString[] = [];
  for (const string of strings) {
    if (string.role === 'key' || string.key !== row[0]?.key) {
      if (row.length > 1) close(row);
      row = [];
    }
    if (string.role === 'value') row.push(string);
  }
  if (row.length > 1) close(row);
  return found;
}

/** Measured as one text. What is said again and again is said once. */
function isOrder(strings: readonly JsonString[]): boolean {
  const seen = new Set<string>();
  let length = 0;
  for (const { value } of strings) {
    if (seen.has(value)) continue;
    seen.add(value);
    length += value.length + (LETTERS_OF_CHARACTER - 1) * charactersOf(value.slice(0, SHORTEST));
    if (length >= SHORTEST) return true;
  }
  return false;
}
