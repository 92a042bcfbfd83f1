import type { Json, JsonObject } from '../../contracts/json.js';
import { decodeEscapes } from '../inspection/escapes.js';
import type { Shown, ShowToModels } from '../inspection/lanes.js';
import { assignedSecrets, isLikeToken } from '../masking/assigned-secrets.js';
import { isAmbiguous, mayBeNumber, namesSecretItself, secretItems, secretMembers } from '../masking/secret-names.js';
import { type Reading, readingOf, sayTogether } from '../masking/token-or-language.js';
import { tokensIn } from '../masking/tokens.js';
import { areWordyTogether, isWordy } from '../masking/wordy-address.js';
import { sensitiveDataIn } from '../masking/sensitive-data.js';

const HIDDEN = '[SECRET]';
/** Values within values that are shown: `token="say password=\'…\'"`. */
const MOST_LEVELS = 4;

/** What stands behind names of secrets in one request. Tokens are hidden; where words may be hidden with them, it throws: no model would read them. */
class Secrets {
  readonly #hidden = new Set<string>();
  readonly #addresses = new Set<string>();

  /** Whether a value is hidden. Language is shown, and so are numbers where the name has none: a count, an id. */
  hides(name: string, value: string): boolean {
    if (value.trim() === '' || (isNumber(value) && !mayBeNumber(name))) return false;
    const decoded = decodeEscapes(value);
    const reading = holdsSentence(value) ? 'unsure' : weaker(readingOf(value), readingOf(decoded));
    if (reading === 'unsure')
      throw new Error('behind the name of a secret stands what may be words: masked, no model would read them');
    if (reading === 'token') this.#hidden.add(decoded);
    return reading === 'token';
  }

  /** What its shape tells. Throws where words may be hidden with it. */
  hideToken(value: string): void {
    if (readingOf(value) !== 'token' || holdsSentence(value))
      throw new Error('what begins as a token does may go on in words: masked, no model would read them');
    this.#hidden.add(value);
  }

  /** Sixteen letters and digits: a word at most, which counts with those of the others. */
  hideKey(value: string): void {
    this.#hidden.add(value);
  }

  /** Whether an address of mail is hidden. One that says more than whose it is is shown. */
  hidesAddress(address: string): boolean {
    if (isWordy(address)) return false;
    this.#addresses.add(address);
    return true;
  }

  add(others: Secrets): void {
    for (const value of others.#hidden) this.#hidden.add(value);
    for (const address of others.#addresses) this.#addresses.add(address);
  }

  end(): void {
    if (areWordyTogether(this.#addresses))
      throw new Error('the addresses of mail make up words: masked, no model would read them');
    if (sayTogether(this.#hidden))
      throw new Error('what stands behind the names of secrets makes up words: masked, no model would read them');
  }
}
const weaker = (one: Reading, other: Reading): Reading => (one === 'token' || other === 'unsure' ? other : one);
/** Words with blanks between them in base64, also in a part of a token. */
const holdsSentence = (value: string): boolean =>
  value
    .split('.')
    .some((part) => BASE64.test(part) && SENTENCE.test(Buffer.from(part, 'base64').toString('latin1').slice(0, 1_024)));
const BASE64 = /^[\w+/-]{16,4096}={0,2}$/;
const SENTENCE = /(?:[a-z]{2,16}[,.:]? ){3}[a-z]{2}/i;
/** Counts, shares, amounts, ports. Of more digits one is a key. */
const isNumber = (value: string): boolean => /^[-+]?\d{1,9}(?:[.,:/]\d{1,9}){0,8}$/.test(value.trim());

/**
 * A text with every secret and piece of personal data that rules find in it replaced by its kind. One that is written in escapes is replaced
 * in the decoded text, which then stands instead of the written one.
 */
function maskedText(text: string, secrets: Secrets): string {
  const shown = withoutAssigned(replaced(text, secrets), secrets);
  const decoded = decodeEscapes(shown);
  if (decoded === shown) return shown;
  const plain = withoutAssigned(replaced(decoded, secrets), secrets);
  return plain === decoded ? shown : plain;
}

/** Without what a text assigns to the name of a secret. */
function withoutAssigned(text: string, secrets: Secrets, level = 0): string {
  const parts: string[] = [];
  let at = 0;
  for (const { name, start, end } of assignedSecrets(text)) {
    if (level === MOST_LEVELS) throw new Error('values within values, too deep to be read');
    const value = text.slice(start, end);
    parts.push(text.slice(at, start), secrets.hides(name, value) ? HIDDEN : withoutAssigned(value, secrets, level + 1));
    at = end;
  }
  return parts.join('') + text.slice(at);
}

const holdsAny = (text: string): boolean => !sensitiveDataIn(text).next().done;

function replaced(text: string, secrets: Secrets): string {
  const found = [...sensitiveDataIn(text), ...tokensIn(text)]
    // Of the address of a database the password is hidden, as of every other one.
    .filter(({ type, start }) => type !== 'DB_URI' && !(type === 'EMAIL' && isInAddress(text, start)))
    .toSorted((one, other) => one.start - other.start || other.end - one.end);
  let shown = '';
  let at = 0;
  for (const { type, start, end } of found) {
    const value = text.slice(start, end);
    if (type === 'PRIVATE_KEY' && hidesWords(value))
      throw new Error('a text begins as a private key does, and goes on in words: masked, no model would read them');
    if (type === 'EMAIL' && !secrets.hidesAddress(value)) continue;
    if (type === 'AWS_ACCESS_KEY') secrets.hideKey(value.slice(4));
    if (TOKENS.has(type)) secrets.hideToken(value);
    // Of two that overlap the first, with what the second adds to it.
    if (start >= at) shown += `${text.slice(at, start)}[${type}]`;
    at = Math.max(at, end);
  }
  return shown + text.slice(at);
}

const TOKENS: ReadonlySet<string> = new Set(['API_TOKEN', 'JWT', 'TOKEN']);
/** `user:password@host.example` behind `://` is no address of mail. */
function isInAddress(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 700), at);
  const begins = before.lastIndexOf('://');
  return begins !== -1 && !/[\s/"'<>]/.test(before.slice(begins + 3));
}

/** Lines of a key are long; of those that end it or are no part of it there are few. */
const SHORT_PART = 40;
const SHORT_PARTS = 3;
const NO_PART_OF_KEY = /-----(?:BEGIN|END)[A-Z0-9 ]{1,60}-----|(?:Proc-Type|DEK-Info): [^\n\\]{1,100}/g;
function hidesWords(key: string): boolean {
  const parts = key
    .replaceAll(NO_PART_OF_KEY, ' ')
    .split(/(?:\s|\\[nr])+/)
    .filter((part) => part !== '');
  return (
    parts.some((part) => !/^[A-Za-z0-9+/=]+$/.test(part)) ||
    parts.filter(({ length }) => length < SHORT_PART).length > SHORT_PARTS
  );
}

/**
 * Masks every text of a value, its keys too; a number that is a secret itself (that of a card); and whatever has the name of a secret, its own or
 * that of something around it. Any other number stays as it is written.
 */
function masked(value: Json, secrets: Secrets, name?: string): Json {
  if (typeof value === 'string') {
    const isSecret = name !== undefined && !(isAmbiguous(name) && !isLikeToken(name, value));
    return isSecret && secrets.hides(name, value) ? HIDDEN : maskedText(value, secrets);
  }
  if (typeof value === 'number') {
    if (name !== undefined && mayBeNumber(name)) return HIDDEN;
    const text = String(value);
    return Number.isInteger(value) && holdsAny(text) ? replaced(text, secrets) : value;
  }
  if (Array.isArray(value)) {
    const nameOf = secretItems(value);
    return value.map((item, at) => masked(item, secrets, nameOf(at) ?? name));
  }
  if (value === null || typeof value !== 'object') return value;
  return maskedObject(value, secrets, name);
}
/** Two keys that are masked alike stay two: a value that is lost here would be read by no model. */
function maskedObject(object: JsonObject, secrets: Secrets, name?: string): JsonObject {
  const shown = new Map<string, Json>();
  const nameOf = secretMembers(object, namesSecretItself);
  for (const [key, inner] of Object.entries(object)) {
    const plain = maskedText(key, secrets);
    let free = plain;
    for (let count = 2; shown.has(free) || (free !== key && Object.hasOwn(object, free)); count += 1)
      free = `${plain} (${count})`;
    shown.set(free, masked(inner, secrets, nameOf(key) ?? name));
  }
  return Object.fromEntries(shown);
}

/** By the same rules that look for secrets in answers. Throws on what is nested too deeply to be read. */
export const maskByRules: ShowToModels = {
  model: 'gate-rules:mask-5',
  show({ method, tool, params, tenant }: Shown): Shown {
    const secrets = new Secrets();
    const shown = maskedObject(params, secrets);
    const request = { method: maskedText(method, secrets), tool: maskedText(tool, secrets), params: shown, tenant };
    secrets.end();
    return request;
  },
};

/** A text under its name, masked, and what is hidden in it. */
export interface MaskedText {
  readonly name: string;
  readonly text: string;
  readonly secrets: Secrets;
}

/** One text of several of which it is not known yet which are shown together. Throws where words may be hidden in it. */
export function maskedByItself(name: string, text: string): MaskedText {
  const secrets = new Secrets();
  const [member] = Object.entries(maskedObject({ [name]: text }, secrets)) as [[string, string]];
  secrets.end();
  return { name: member[0], text: member[1], secrets };
}

/** Throws where what is hidden in texts that are shown together makes up words. */
export function hiddenTogether(texts: Iterable<MaskedText>): void {
  const all = new Secrets();
  for (const { secrets } of texts) all.add(secrets);
  all.end();
}
