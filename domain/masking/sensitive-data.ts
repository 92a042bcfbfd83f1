import type { ResponseEntity } from '../../contracts/response-scan.js';
import { plainNumbers } from '../digits.js';
import { isWithinIban } from '../iban.js';

/** A secret or a piece of personal data in a text, in UTF-16 units. */
export interface Occurrence {
  readonly type: ResponseEntity;
  readonly start: number;
  readonly end: number;
}
/** What is worth withholding where nobody asks policy: everything but addresses of mail. */
const NO_SECRETS: ReadonlySet<ResponseEntity> = new Set(['PROMPT_INJECTION', 'SUSPECTED_INJECTION', 'EMAIL']);
export const isSecret = (type: ResponseEntity): boolean => !NO_SECRETS.has(type);
type Find = (text: string) => Generator<readonly [start: number, end: number]>;

const AWS_KEY = /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g;
const TOKEN =
  /\b(?:sk-ant-[\w-]{20}|sk-proj-[\w-]{20}|gh[pousr]_[A-Za-z0-9]{20}|github_pat_[A-Za-z0-9]{20}|glpat-[\w-]{20}|xox[abeprs]-[A-Za-z0-9-]{10}|[sr]k_(?:live|test)_[A-Za-z0-9]{16}|AIza[\w-]{35}|(?<=hooks\.slack\.com\/services\/)T[A-Z0-9]{6,12}\/B[A-Z0-9]{6,12}\/[A-Za-z0-9]{20})/g;
const TOKEN_GOES_ON = /^[\w-]/;
const ADDRESS_WITH_PASSWORD =
  /\b(?:postgres|postgresql|mysql|mariadb|mongodb|mongodb\+srv|redis|rediss|amqp|amqps|mssql|sqlserver):\/\/[^\s/@:"'<>]{0,128}:[^\s/@"'<>]{1,256}@[^\s/"'<>;|&$(){}`]{1,256}/gi;
/** Not what a shell goes on from; of `&` what stands between two options. */
const ADDRESS_GOES_ON = /^(?:[^\s"'<>;|&$(){}`]|&[\w.-]{1,64}=)/;
const SSN = /\b(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}\b/g;
const KEY_BEGINS = '-----BEGIN ';
const KEY_ENDS = '-----END ';
const KEY_LABEL = /^[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
const LABEL_LENGTH = 80;

const LONGEST_OPTION = 66;
/** The matches of a bounded expression, each with what goes on behind it. */
const matching = (expression: RegExp, goesOn: RegExp | null = null): Find =>
  function* (text) {
    let from = 0;
    for (const { 0: match, index } of text.matchAll(expression)) {
      if (index < from) continue;
      let end = index + match.length;
      while (goesOn && end < text.length && goesOn.test(text.slice(end, end + LONGEST_OPTION))) end += 1;
      from = end;
      yield [index, end];
    }
  };

/** From the line that begins a private key to the one that ends it, or to the end of the text: half a key is half too much. */
const privateKeys: Find = function* (text) {
  for (let at = text.indexOf(KEY_BEGINS); at !== -1; ) {
    const label = at + KEY_BEGINS.length;
    if (!KEY_LABEL.test(text.slice(label, label + LABEL_LENGTH))) {
      at = text.indexOf(KEY_BEGINS, label);
      continue;
    }
    const closing = text.indexOf(KEY_ENDS, label);
    const dashes = closing === -1 ? -1 : text.indexOf('-----', closing + KEY_ENDS.length);
    if (dashes === -1) return yield [at, text.length];
    yield [at, dashes + 5];
    at = text.indexOf(KEY_BEGINS, dashes + 5);
  }
};

const LOCAL_PART = /[\w.%+-]/;
const DOMAIN = /[A-Za-z0-9.-]/;
const TOP_LEVEL = /\.[A-Za-z]{2,24}$/;
const LONGEST_LOCAL_PART = 64;
const LONGEST_DOMAIN = 253;
/** Addresses of mail, found from their `@`: an expression would begin anew at every character before one. */
const mailAddresses: Find = function* (text) {
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    let start = at;
    while (start > 0 && at - start < LONGEST_LOCAL_PART && LOCAL_PART.test(text[start - 1] as string)) start -= 1;
    let end = at + 1;
    while (end < text.length && end - at <= LONGEST_DOMAIN && DOMAIN.test(text[end] as string)) end += 1;
    while (text[end - 1] === '.' || text[end - 1] === '-') end -= 1;
    if (start < at && TOP_LEVEL.test(text.slice(Math.max(at, end - 26), end))) yield [start, end];
  }
};

/** How cards are numbered: the first digits of an issuer, and how many there are. */
const CARD_NUMBER =
  /^(?:4\d{12}(?:\d{3})?(?:\d{3})?|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[068]\d{12}|35\d{14}|6(?:011|4\d\d|5\d\d)\d{12})$/;
/** How they are written: without a gap, or in groups as on the card. */
const WRITTEN = /^(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -])\d{6}\2\d{4,5})$/;
const isCardNumber = (match: string): boolean => WRITTEN.test(match) && isIssued(match.replaceAll(/[ -]/g, ''));
/** The check digit of ISO/IEC 7812-1, under the number of an issuer. */
export function isIssued(digits: string): boolean {
  if (!CARD_NUMBER.test(digits) || new Set(digits).size < 2) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

const GROUP = /\d+/g;
/** Of how many groups a written card consists at most, and of how many characters. */
const MOST_GROUPS = 4;
const SHORTEST_CARD = 13;
const LONGEST_CARD = 22;
/** What joins two groups of digits. */
const GAP = /[ -]/;
const OF_A_WORD = /\w/;

/** Numbers of cards: whole groups of digits, also beside other numbers. Not the digits behind the point of a fraction. */
const cardNumbers: Find = function* (text) {
  /** Where the groups begin that may begin a card and are joined to what is read. */
  let begins: number[] = [];
  let last = -1;
  let from = 0;
  for (const { 0: group, index } of text.matchAll(GROUP)) {
    const end = index + group.length;
    const isJoined = index === last + 1 && GAP.test(text[last] ?? '');
    last = end;
    if (!isJoined) begins = [];
    const before = text[index - 1] ?? '';
    const isFraction = before === '.' && /\d/.test(text[index - 2] ?? '');
    if (!isFraction && !OF_A_WORD.test(before)) begins.push(index);
    if (begins.length > MOST_GROUPS) begins.shift();
    if (end - (begins[0] ?? end) < SHORTEST_CARD || OF_A_WORD.test(text[end] ?? '')) continue;
    const start = begins.find(
      (begin) => begin >= from && end - begin <= LONGEST_CARD && isCardNumber(text.slice(begin, end)),
    );
    if (start === undefined || isWithinIban(text, start, end)) continue;
    from = end;
    yield [start, end];
  }
};

/** Each kind, with characters without which a text has none. */
const KINDS: readonly (readonly [ResponseEntity, needs: string, Find])[] = [
  ['AWS_ACCESS_KEY', 'IA', matching(AWS_KEY)],
  ['PRIVATE_KEY', KEY_BEGINS, privateKeys],
  ['API_TOKEN', '', matching(TOKEN, TOKEN_GOES_ON)],
  ['DB_URI', '://', matching(ADDRESS_WITH_PASSWORD, ADDRESS_GOES_ON)],
  ['EMAIL', '@', mailAddresses],
];
/** Kinds that people read in digits of any script, with any dash or blank between them. */
const NUMBERS: typeof KINDS = [
  ['SSN', '-', matching(SSN)],
  ['CREDIT_CARD', '', cardNumbers],
];

/**
 * Secrets and personal data that a text holds in a form with a shape of its own. Deterministic, in time linear in the text. A name or an
 * address of a street has no such shape and is not found. Of `wanted` kinds alone where they are given.
 */
export function* sensitiveDataIn(
  text: string,
  wanted: { has(type: ResponseEntity): boolean } = EVERY_KIND,
): Generator<Occurrence> {
  const isWanted = ([type]: (typeof KINDS)[number]): boolean => wanted.has(type);
  yield* foundIn(text, KINDS.filter(isWanted));
  const numbers = NUMBERS.filter(isWanted);
  if (numbers.length === 0) return;
  const plain = plainNumbers(text);
  if (plain === null) return yield* foundIn(text, numbers);
  for (const { type, start, end } of foundIn(plain.text, numbers)) yield { type, ...plain.placeOf(start, end) };
}
const EVERY_KIND = { has: () => true };

function* foundIn(text: string, kinds: typeof KINDS): Generator<Occurrence> {
  for (const [type, needs, find] of kinds) {
    if (needs !== '' && !text.includes(needs)) continue;
    for (const [start, end] of find(text)) yield { type, start, end };
  }
}
