import { domainToUnicode } from 'node:url';
import type { ValueKind } from '../../contracts/policy.js';
import { latinDigit } from '../digits.js';
import { hasCheckDigits, IBAN_LENGTHS, SHORTEST_IBAN } from '../iban.js';
import { decodeEscapes } from '../inspection/escapes.js';
import { skeletonsOf } from '../skeleton.js';

/** What money or data can be sent to. */
export const ADDRESS_KINDS: ReadonlySet<ValueKind> = new Set<ValueKind>(['mail', 'url', 'host', 'account', 'phone']);

/** Called with each value in its normal form: the same for other spacing, case, separators, escapes and look-alike letters. */
export type Heard = (kind: ValueKind, form: string) => void;

/** A text as its reader reads it, in lower case (docs/architecture/information-flow.md#normal-forms). */
function plainText(text: string): string {
  const decoded = decodeEscapes(text);
  const plain = ASCII.test(decoded)
    ? decoded.toLowerCase().replaceAll(CONTROL, '')
    : skeletonsOf([decoded]).plain.replaceAll(OTHER_DIGIT, latinDigit);
  return plain
    .replaceAll(WRITTEN_AT, '@')
    .replaceAll(WRITTEN_DOT, '.')
    .replaceAll(MARKED_AT, '@')
    .replaceAll(PUNYCODE, (label) => skeletonsOf([domainToUnicode(label)]).plain.trim())
    .replaceAll(SPACED, glued);
}
// The control characters below are range limits, not mistakes.
const ASCII = /^[\0-\x7f]*$/;
const CONTROL = /(?![\t\n\f\r\u0080-\u009f])\p{Cc}/gu;
const OTHER_DIGIT = /(?![0-9])\p{Nd}/gu;
/** `mark [at] example (dot) org`, `mark<at>example[.]org`. */
const WRITTEN_AT = / ?[[({<] ?at ?[\])}>] ?|&commat;/g;
const WRITTEN_DOT = / ?[[({<] ?dot ?[\])}>] ?|[[({] ?\. ?[\])}]|&period;|。/g;
/** `eve@**evil.example**`, `eve\@evil.example`. */
const MARKED_AT = /[*\\~`]{1,4}@[*\\~`]{0,4}|@[*\\~`]{1,4}/g;
/** RFC 5891: the label that people read. */
const PUNYCODE = /xn--[a-z\d-]{1,59}/g;
/** Single characters with a blank or a hyphen between each, eight of them or more. */
const SPACED = /(?<![\p{L}\p{N}])(?:[\p{L}\p{N}][ -]){7,64}[\p{L}\p{N}](?![\p{L}\p{N}])/gu;
const glued = (spaced: string): string => spaced.replaceAll(/[ -]/g, '');

/** Every value in a text, in linear time. A value may be heard more than once. Names and texts are heard as long as they are `wanted`. */
export function valuesInText(text: string, heard: Heard, wanted: () => boolean): void {
  const plain = plainText(text);
  addressesIn(plain, heard);
  const words = wordsIn(plain);
  for (let at = 0; at < words.length; at += 1) {
    accountsFrom(words, at, plain, heard);
    ibansFrom(words, at, plain, heard);
    for (const [digits] of (words[at] as Word).text.matchAll(DIGITS_IN_WORD)) heard('account', withoutZeros(digits));
    if (wanted()) phrasesFrom(words, at, heard);
  }
}
const BETWEEN_ADDRESSES = /[\s<>"'`(),;|[\]{}]/;

/** So many words of an argument are compared with texts; addresses are looked for in all of it. */
const WORDS_OF_ARGUMENT = 4_096;

/** The values of one argument: of a text of up to three words the whole of it, of a longer one each four words in a row. */
export function valuesOfArgument(text: string, heard: Heard): void {
  const plain = plainText(text);
  let isAddress = false;
  const hearing: Heard = (kind, form) => {
    isAddress ||= kind !== 'number';
    heard(kind, form);
  };
  addressesIn(plain, hearing);
  const words = wordsIn(plain);
  // What is an account number and nothing else is heard as a whole.
  if (isOneAccount(words, plain, hearing)) return;
  for (let at = 0; at < words.length; at += 1) {
    accountsFrom(words, at, plain, hearing);
    ibansFrom(words, at, plain, hearing);
    if (words.length > LONGEST_NAME && at < WORDS_OF_ARGUMENT) textFrom(words, at, heard);
  }
  if (!isAddress && words.length > 0 && words.length <= LONGEST_NAME) nameOf(words, heard);
}

/** A number of the answer or the arguments that is no text. */
export function numberValue(value: number, heard: Heard): void {
  const text = String(Math.abs(value));
  if (/^\d{8,34}$/.test(text)) heard('account', account(text));
  else if (/^\d{1,16}(?:\.\d{1,8})?$/.test(text)) numberIn(text, heard);
}

/** Whether a value stands for itself: neither short nor round. */
function numberIn(text: string, heard: Heard): void {
  const digits = text.replace('.', '').replace(/^0{1,16}/, '');
  if (digits.replace(/0{1,16}$/, '').length >= 5) heard('number', text);
}

interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Words of letters and digits of one script. Scripts that write no blanks between words are read sign by sign. */
const WORD =
  /\p{Script=Han}|[\p{Script=Latin}\d]{1,128}|(?:(?![\p{Script=Han}\p{Script=Latin}\d])[\p{L}\p{N}]){1,128}/gu;
const wordsIn = (plain: string): readonly Word[] =>
  Array.from(plain.matchAll(WORD), ({ 0: text, index }) => ({ text, start: index, end: index + text.length }));

const LONGEST_NAME = 3;
const GRAM = 4;

function phrasesFrom(words: readonly Word[], at: number, heard: Heard): void {
  for (let length = 1; length <= LONGEST_NAME && at + length <= words.length; length += 1)
    nameOf(words.slice(at, at + length), heard);
  textFrom(words, at, heard);
}

/** A single word counts where it is no word of a language: letters beside digits. */
function nameOf(words: readonly Word[], heard: Heard): void {
  const name = words.map(({ text }) => text).join(' ');
  if (words.length > 1 ? name.length >= SHORTEST_PHRASE : isIdentifier(name)) heard('name', name);
}
const SHORTEST_PHRASE = 7;
const isIdentifier = (word: string): boolean => word.length >= 6 && /\p{L}/u.test(word) && /\d/.test(word);

function textFrom(words: readonly Word[], at: number, heard: Heard): void {
  if (at + GRAM > words.length) return;
  heard(
    'text',
    words
      .slice(at, at + GRAM)
      .map(({ text }) => text)
      .join(' '),
  );
}

/** Mail addresses, URLs and hosts. */
function addressesIn(plain: string, heard: Heard): void {
  for (const part of plain.split(BETWEEN_ADDRESSES)) addressesInPart(part, heard);
  for (const [, host = ''] of plain.matchAll(IPV6)) heard('host', host);
  for (const [, local = '', domain = ''] of plain.matchAll(SPACED_MAIL)) {
    const host = hostOf(domain.replaceAll(' dot ', '.'));
    if (host !== null) mailAround(`${local}@${host}`, local.length, heard);
  }
}
/** `eve @ evil.example`, `eve at evil dot example`: beside what else is heard there, because most such words are a sentence. */
const SPACED_MAIL =
  /(?<![\p{L}\p{N}._%+-])([\p{L}\p{N}._%+-]{1,64})(?: ?@ | @| at )([\p{L}\p{N}-]{1,63}(?:(?:\.| dot )[\p{L}\p{N}-]{1,63}){1,8})/gu;
const IPV6 = /\[([\da-f]{0,4}:[\da-f:.]{1,41})\]/g;

/** In a text without blanks: each of them, also one in the query of another. */
function addressesInPart(part: string, heard: Heard): void {
  if (part.length < 4) return;
  let isAny = false;
  // What stands before it (`href=http:`) is no part of it.
  for (const scheme of placesOf('://', part)) {
    isAny = true;
    urlIn(part.slice(scheme + 3, scheme + 3 + LONGEST_ADDRESS), heard);
  }
  for (const at of placesOf('@', part)) {
    isAny = true;
    mailAround(part, at, heard);
  }
  if (isAny || part.length > LONGEST_ADDRESS || !part.includes('.')) return;
  const bare = part.replace(LEADING, '').replace(TRAILING, '');
  const host = hostOf(bare);
  if (host === null || (host.length === bare.length && isFileName(bare))) return;
  urlIn(bare, heard);
}
const LONGEST_ADDRESS = 2_048;
const MOST_IN_PART = 256;
/** Behind the beginning. */
function* placesOf(sign: string, part: string): Generator<number> {
  let at = part.indexOf(sign, 1);
  for (let found = 0; at > 0 && found < MOST_IN_PART; found += 1) {
    yield at;
    at = part.indexOf(sign, at + 1);
  }
}
const LEADING = /^[^\p{L}\p{N}]{1,16}/u;
const TRAILING = /[.,:!?*_~]{1,16}$/;

/** In letters of one script: others around it are a sentence that writes no blanks. */
const LOCAL_PARTS = [/[\p{Script=Latin}\d._%+-]{1,64}$/u, /[\p{L}\p{N}._%+-]{1,64}$/u, /[^\s@]{1,64}$/u];
const DOMAINS = [
  /^[\p{Script=Latin}\d-]{1,63}(?:\.[\p{Script=Latin}\d-]{1,63}){1,126}/u,
  /^[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,126}/u,
];
const firstOf = (expressions: readonly RegExp[], text: string): string =>
  expressions.map((expression) => expression.exec(text)?.[0].replace(/^[._%+-]{1,64}/, '') ?? '').find(Boolean) ?? '';
const domainAt = (text: string): string | null => {
  const found = DOMAINS.map((expression) => expression.exec(text)?.[0]).find(Boolean);
  return found ?? null;
};
/** Up to where no more of a domain can stand; what is trusted was read to its end (`a@ok.example_x.evil.example`, `a@ok.example@evil.example`). */
const TO_ITS_END = /^[^\s/?#:&=\\*~]{1,253}/u;

function mailAround(part: string, at: number, heard: Heard): void {
  const local = firstOf(LOCAL_PARTS, part.slice(Math.max(0, at - 64), at));
  const behind = part.slice(at + 1, at + 256);
  const domain = domainAt(behind);
  if (local === '' || domain === null) return;
  // `a.b+tag@` is the mailbox `ab@` of most providers, and somebody who chose it can have every form of it.
  const mailbox = local.split('+')[0]?.replaceAll('.', '') ?? '';
  heard('mail', `${mailbox}@${domain}`);
  const whole = TO_ITS_END.exec(behind)?.[0].replace(TRAILING, '') ?? domain;
  if (whole.length > domain.length) heard('mail', `${mailbox}@${whole}`);
}

/** The host at the beginning of a text; `null` where there is none. */
function hostOf(text: string): string | null {
  const host = domainAt(text);
  const last = host?.split('.').at(-1) ?? '';
  return host !== null && (/^\p{L}{2,24}$/u.test(last) || /^(?:\d{1,3}\.){3}\d{1,3}$/.test(host)) ? host : null;
}

/** Names of files that look like hosts. */
const FILES =
  /\.(?:txt|md|pdf|docx?|xlsx?|pptx?|csv|tsv|json|ya?ml|xml|html?|js|ts|py|rs|go|java|sh|log|zip|gz|tar|png|jpe?g|gif|svg|mp[34])$/;
const isFileName = (text: string): boolean => FILES.test(text.slice(-8));

/** A URL without its scheme. */
function urlIn(text: string, heard: Heard): void {
  const end = text.search(/[/?#\\]/);
  const authority = end < 0 ? text : text.slice(0, end);
  const bare = text
    .slice(authority.lastIndexOf('@') + 1)
    .replace(TRAILING, '')
    .replace(/^www\./, '');
  const host = domainAt(bare) ?? /^[\p{L}\p{N}-]{1,63}/u.exec(bare)?.[0];
  if (host === undefined) return;
  const rest = bare
    .slice(host.length)
    .replace(/^:\d{1,5}/, '')
    .replace(/\/{1,8}$/, '');
  heard('url', `${host}${rest}`);
  heard('host', host);
  const whole = TO_ITS_END.exec(bare)?.[0];
  if (whole !== undefined && whole.length > host.length) heard('host', whole);
}

/** A host and the domains above it, down to two labels: what is sent to `x.evil.com` is sent to `evil.com`. */
export function domainsOf(host: string): readonly string[] {
  const labels = host.split('.');
  const above = labels.slice(1, -1).map((_, at) => labels.slice(at + 1).join('.'));
  return [host, ...above.slice(-DOMAINS_ABOVE)];
}
const DOMAINS_ABOVE = 16;

/** `O` for `0`, `l` and `I` for `1`: who writes so wants the number to be read otherwise. */
const account = (compact: string): string => compact.replaceAll('o', '0').replaceAll(/[il]/g, '1');
const LONGEST_ACCOUNT = 34;
const SHORTEST_NUMBER = 8;
const PARTS = 10;

const withoutZeros = (digits: string): string => digits.replace(/^0{1,34}/, '');
/** A number that letters are glued to: `No40817810099910004312`. */
const DIGITS_IN_WORD = /(?<=[a-z])\d{8,34}|\d{8,34}(?=[a-z])/g;

/**
 * IBANs (ISO 13616) that begin in a word, anywhere in it, and go on in the next ones; known by the length of their country and their check digits.
 * Also without both, as the bank itself has it.
 */
function ibansFrom(words: readonly Word[], at: number, plain: string, heard: Heard): void {
  const { text } = words[at] as Word;
  for (const { index } of text.matchAll(IBAN_BEGINS)) {
    const length = IBAN_LENGTHS.get(text.slice(index, index + 2));
    if (length === undefined) continue;
    let compact = text.slice(index, index + length);
    for (let next = at + 1; next - at <= PARTS && compact.length < length; next += 1) {
      const [before, word] = [words[next - 1] as Word, words[next]];
      if (!word || !JOINING.test(plain.slice(before.end, word.start))) break;
      // Its check digits are digits.
      if (compact.length === 2 && !/^\d\d/.test(word.text)) break;
      compact += word.text.slice(0, length - compact.length);
    }
    if (compact.length === length) ibanIn(compact, heard);
  }
}
const IBAN_BEGINS = /(?:[a-z](?=[a-z]\d\d)|^(?=[a-z]{2}$))/g;
function ibanIn(compact: string, heard: Heard): void {
  if (!hasCheckDigits(compact)) return;
  heard('account', account(compact));
  const own = compact.slice(4);
  if (/^\d{8,30}$/.test(own)) heard('account', withoutZeros(own));
}

/** Account and phone numbers that begin at a word, with each of their possible ends. */
function accountsFrom(words: readonly Word[], at: number, plain: string, heard: Heard): void {
  const first = words[at] as Word;
  if (/^[a-z]{2}[\doil]{2}[a-z\d]{0,30}$/.test(first.text) && /\d/.test(first.text)) {
    let compact = first.text;
    for (let next = at + 1; ; next += 1) {
      if (compact.length >= SHORTEST_IBAN && compact.length <= LONGEST_ACCOUNT) heard('account', account(compact));
      const word = words[next];
      if (!word || next - at > PARTS || compact.length + word.text.length > LONGEST_ACCOUNT) break;
      if (!/^[a-z\d]{1,8}$/.test(word.text)) break;
      // The bank's four letters are the second part; elsewhere a word without a digit is a word.
      if (!/\d/.test(word.text) && !(next === at + 1 && word.text.length === 4)) break;
      compact += word.text;
    }
    return;
  }
  if (!/^\d{1,34}$/.test(first.text) || isDate(plain, first)) return;
  if (first.text.length < SHORTEST_NUMBER) numberIn(first.text, heard);
  if (at > 0 && joins(plain, words[at - 1] as Word, first)) {
    // The number began before: here it may begin without what stands in front of it.
    if (first.text.length < 2) return;
  }
  let compact = first.text;
  const international = plain[first.start - 1] === '+';
  for (let next = at + 1; ; next += 1) {
    if (compact.length >= SHORTEST_NUMBER && compact.length <= LONGEST_ACCOUNT) {
      heard('account', account(withoutZeros(compact)));
      if (compact.length <= 15 && (international || compact.startsWith('0'))) heard('phone', compact.slice(-8));
    }
    const before = words[next - 1] as Word;
    const word = words[next];
    if (!word || next - at > PARTS || !/^\d{1,8}$/.test(word.text) || !joins(plain, before, word)) break;
    if (compact.length + word.text.length > LONGEST_ACCOUNT || isDate(plain, word)) break;
    compact += word.text;
  }
}

/** Whether a text is an account number from its first word to its last; then it is heard, in its one form. */
function isOneAccount(words: readonly Word[], plain: string, heard: Heard): boolean {
  if (words.length === 0) return false;
  const whole = words.map(({ text }) => text).join('');
  const found: string[] = [];
  let isPhone = false;
  accountsFrom(words, 0, plain, (kind, form) => {
    if (kind === 'phone') isPhone = true;
    if (kind === 'account') found.push(form);
  });
  const last = found.at(-1);
  if (last === undefined || last !== account(withoutZeros(whole))) return false;
  heard('account', last);
  ibanIn(whole, heard);
  if (isPhone) heard('phone', whole.slice(-8));
  return true;
}

/** Separators of numbers between two words of digits. */
const joins = (plain: string, before: Word, word: Word): boolean =>
  /^\d{1,34}$/.test(before.text) && JOINING.test(plain.slice(before.end, word.start));
const JOINING = /^[ ()./'’_·\p{Pd}]{1,3}$/u;

/** `2026-11-27`, `27/11/2026`: a day is no account. */
function isDate(plain: string, { start }: Word): boolean {
  const here = plain.slice(start, start + 10);
  return /^(?:(?:19|20)\d\d[-./]\d\d[-./]\d\d|\d\d[-./]\d\d[-./](?:19|20)\d\d)/.test(here);
}
