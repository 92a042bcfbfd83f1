import { digitsAsLetters, skeletonsOf } from '../skeleton.js';
import { SCHEME } from './secret-names.js';

/**
 * What stands behind the name of a secret: a `token` is one piece without a word to read in it, `language` is words, and of what is `unsure`
 * nobody can say which.
 */
export type Reading = 'token' | 'language' | 'unsure';

const LONGEST_TOKEN = 4_096;
/** So many letters in words may stand in one token: `changeme`, `postgres`, `sk_live_`. */
const MOST_LETTERS = 16;
/** Signs of scripts that write words without many letters, and what nobody sees. */
const MOST_SIGNS = 12;
/** Whoever runs something, refers to something or points somewhere says more than a secret. */
const DOES_SOMETHING = /\$[({]|`|:\/\//;

/** Whether a value is one token, or is to be read. */
export function readingOf(value: string): Reading {
  const text = value.trim();
  if (text.length > LONGEST_TOKEN) return 'unsure';
  if (DOES_SOMETHING.test(text)) return 'language';
  const parts = text.split(/\s/).filter((part) => part !== '');
  if (parts.length === 1 || !/\p{L}/u.test(text) || isWrapped(parts)) return readingOfOne(parts.join(''));
  if (parts.length === 2 && SCHEME.test(parts[0] as string)) return readingOfOne(parts[1] as string);
  if (text.split(';').every((part) => isCookie(part.trim()))) return readingOfOne(parts.join(''));
  return isPlain(parts) ? 'language' : 'unsure';
}

const isCookie = (part: string): boolean => /^[\w.-]{1,64}=/.test(part) && !/\s/.test(part);
/** Lines of one long token. */
const LINE = 32;
const isWrapped = (parts: readonly string[]): boolean =>
  parts.slice(0, -1).every(({ length }) => length >= LINE && length === parts[0]?.length);

function readingOfOne(token: string): Reading {
  const signs = signsIn(token);
  const letters = lettersInWords([token]);
  if (signs <= MOST_SIGNS && letters <= MOST_LETTERS) return 'token';
  const digits = token.match(/\d/g)?.length ?? 0;
  return (letters + signs) * 10 >= token.length * 7 && digits * 12 <= token.length ? 'language' : 'unsure';
}

const NO_LETTER = /[^\p{L}\p{M}]/u;
const IN_MARKS = /^[("'“„‘]{1,3}|[)"'”’.,:;!?…]{1,4}$/gu;
const SIGN = /[@$%^&*#~|<>\\{}[\]]/;
/** Letters and several digits, or a sign that words have none of. */
const mayBeToken = (part: string): boolean =>
  part.length >= SHORT && (SIGN.test(part) || (/\p{L}/u.test(part) && (part.match(/\p{N}/gu)?.length ?? 0) > 1));
const SHORT = 6;
/** Two words and more, as many as everything else, of letters as languages have them, and nothing beside them that may be a token. */
function isPlain(parts: readonly string[]): boolean {
  const bare = parts.map((part) => part.replaceAll(IN_MARKS, ''));
  const spelled = bare.filter((part) => part.length > 1 && !NO_LETTER.test(part));
  if (spelled.length < 2 || spelled.length * 2 < parts.length) return false;
  if (bare.some(mayBeToken)) return false;
  const latin = lettersOf(spelled.join(' '));
  return latin.length < FEW_LETTERS || shareOfPairs(latin) >= SPOKEN;
}
const FEW_LETTERS = 6;
const SPOKEN = 0.45;

/** Whether the tokens that were hidden of one request say something together, a piece in each. */
export function sayTogether(tokens: ReadonlySet<string>): boolean {
  const all = [...tokens];
  return lettersInWords(all) > MOST_LETTERS_TOGETHER || signsIn(all.join('')) > MOST_SIGNS;
}
const MOST_LETTERS_TOGETHER = 32;

/** Characters that are no letter, digit or sign of ASCII in any form. */
function signsIn(text: string): number {
  if (!NOT_ASCII.test(text)) return 0;
  let count = 0;
  for (const character of text.normalize('NFKC'))
    if (NOT_ASCII.test(character.normalize('NFKD').replaceAll(/(?!^)\p{M}/gu, ''))) count += 1;
  return count;
}
// The control characters are range limits.
const NOT_ASCII = /[^\0-\x7f]/;

/** Pairs of letters that make up most of a text in a language of Latin letters; a fifth of what is drawn by lot. */
const PAIRS: ReadonlySet<string> = new Set(
  (
    'a:cdgilmnrsty b:aeo c:aehiklot d:aeio e:acdegilmnrstvx f:ior g:ein h:aeiot i:acdegklmnorst k:ae l:aeilo m:aeiop n:adegiost ' +
    'o:cdflmnoprstuw p:aeloprt q:u r:adeiostu s:aeiost t:aehiorstu u:ekmnrst v:ei w:aehio x:a y:s'
  )
    .split(' ')
    .flatMap((row) => Array.from(row.slice(2), (second) => `${row[0]}${second}`)),
);

/** How many letters stand where the letters follow one another as in words, whatever their case, marks, and the signs and digits between them. */
function lettersInWords(tokens: readonly string[]): number {
  const spelled = tokens.filter((token) => !isHex(token)).map((token) => plainWords(token));
  return Math.max(
    ...[
      { read: digitsLeftOut, more: 0 },
      { read: digitsRead, more: 3 },
    ].flatMap(({ read, more }) => {
      const runs = distinct(spelled.map((token) => read(token)));
      const all = runs.flat().join('');
      const chosen = runs.flatMap((run) => pieces(run.join(''))).join('');
      // What was chosen, or read so, looks like words sooner.
      return [
        inStretches(all, CERTAIN + more),
        inStretches(chosen, CERTAIN + 3 + more) - Math.floor(all.length * CHOSEN_BY_CHANCE),
      ];
    }),
  );
}

const plainWords = (text: string): string => skeletonsOf([text]).words.trim();
const digitsRead = (text: string): readonly string[] =>
  lettersOnly(text.replaceAll(/(?<=[a-z])[013457]{1,2}(?=[a-z])/g, (digits) => digitsAsLetters(digits)));
const digitsLeftOut = (text: string): readonly string[] => lettersOnly(text);
const lettersOnly = (text: string): readonly string[] => text.split(/[^a-z]/).filter((run) => run !== '');
const lettersOf = (text: string): string => plainWords(text).replaceAll(/[^a-z]/g, '');

/** `session-1` and `session-2` have one word. */
function distinct(tokens: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const seen = new Set<string>();
  return tokens.map((runs) =>
    runs.filter((run) => {
      if (run.length < 3) return true;
      const isNew = !seen.has(run);
      seen.add(run);
      return isNew;
    }),
  );
}

const CHOSEN_BY_CHANCE = 0.015;
const PIECE = 8;
const PART_OF_WORD = 0.75;
/** Without the pieces that are no part of a word: they would keep words apart that belong together. */
function pieces(letters: string): readonly string[] {
  const size = Math.ceil(letters.length / Math.max(1, Math.round(letters.length / PIECE)));
  const kept: string[] = [];
  for (let at = 0; at < letters.length; at += size) {
    const piece = letters.slice(at, at + size);
    if (letters.length < 3 || shareOfPairs(piece) >= PART_OF_WORD) kept.push(piece);
  }
  return kept;
}

function shareOfPairs(letters: string): number {
  let found = 0;
  for (let at = 1; at < letters.length; at += 1) if (PAIRS.has(letters.slice(at - 1, at + 1))) found += 1;
  return found / Math.max(1, letters.length - 1);
}

/**
 * Letters of the stretches that are far more likely in a text than drawn by lot: each pair that is usual speaks for it as much as three of four
 * in a text and one of five by lot do, each other one against it.
 */
function inStretches(letters: string, atLeast: number): number {
  // Of more letters more look so by chance.
  const certain = atLeast + Math.log(Math.max(1, letters.length / 100));
  let count = 0;
  let score = 0;
  let best = 0;
  let from = 0;
  let to = 0;
  const close = (): void => {
    if (best >= certain) count += to - from;
    score = 0;
    best = 0;
  };
  for (let at = 1; at < letters.length; at += 1) {
    if (score === 0) from = at - 1;
    score += PAIRS.has(letters.slice(at - 1, at + 1)) ? FOR : AGAINST;
    if (score > best) {
      best = score;
      to = at + 1;
    }
    if (score <= 0 || score < best - certain) close();
  }
  close();
  return count;
}
const FOR = Math.log(0.75 / 0.207);
const AGAINST = Math.log(0.25 / 0.793);
/** One in 60,000 places of what is drawn by lot looks so. */
const CERTAIN = 11;

/** Numbers of base 16 have letters as by lot, of six that stand beside one another in words too. */
const isHex = (token: string): boolean =>
  !/[^\da-f:{}-]/i.test(token) && (token.match(/\d/g)?.length ?? 0) * 5 >= token.length;
