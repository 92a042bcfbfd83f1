import type { Json, JsonObject } from '../../contracts/json.js';
import { MASKED } from './mask.js';
import { isSecretName, secretItems, secretMembers } from './secret-names.js';

/** Texts that are secrets by the names that they stand under, and so known as secrets nowhere else. Looked for when they are first asked for. */
export type NamedSecrets = () => ReadonlySet<string>;
export const NO_SECRETS: NamedSecrets = () => NONE;
const NONE: ReadonlySet<string> = new Set();

/** A shorter one is found anywhere. */
const SHORTEST = 4;
/** Of a request made of secrets no more are looked for: each reason is read once for each. */
const MOST = 256;
/** Values that are looked at: whoever keeps a row waits for it. */
const MOST_VALUES = 20_000;

/** The texts and numbers of a value that `mask` replaces because of the names that they stand under. */
export function namedSecrets(value: Json): NamedSecrets {
  let found: ReadonlySet<string> | null = null;
  return () => (found ??= secretsIn(value));
}

function secretsIn(value: Json): ReadonlySet<string> {
  const found = new Set<string>();
  let left = MOST_VALUES;
  const look = (inner: Json, isSecret: boolean): void => {
    left -= 1;
    if (left < 0 || found.size === MOST) return;
    if (typeof inner === 'string' || typeof inner === 'number') {
      const text = String(inner);
      if (isSecret && text.length >= SHORTEST) found.add(text);
    } else if (Array.isArray(inner)) {
      const isSecretItem = secretItems(inner);
      for (const [at, item] of inner.entries()) look(item, isSecret || isSecretItem(at) !== undefined);
    } else if (inner !== null && typeof inner === 'object') lookIn(inner, isSecret);
  };
  const lookIn = (object: JsonObject, isSecret: boolean): void => {
    // Names are read too, and may be many in one object.
    const names = Object.keys(object).slice(0, Math.max(0, left));
    const isSecretMember = secretMembers(object, isSecretName, names);
    for (const name of names) {
      if (left <= 0 || found.size === MOST) return;
      look(object[name] ?? null, isSecret || isSecretMember(name) !== undefined);
    }
  };
  look(value, false);
  return found;
}

const IN_WORD = /[\p{L}\p{N}_]/u;
/** What a sentence has at both ends of a word, and what stands inside one, a number or an identifier. */
const AROUND = /[\p{P}\p{S}]/u;
const NO_WORD = /[^\p{L}\p{M}.,'’:/_-]/u;
const NO_NUMBER = /[^\p{N}.,'’:/_-]/u;
const QUOTES = ['""', "''", '``', '“”', '„“', '‘’', '«»', '[]'];

/**
 * A text without the secrets that it quotes. What could be a word of the text itself goes only where it stands in quotes: otherwise an agent
 * would take out of the ledger what rules say of it, by sending their words as a password.
 */
export function withoutNamed(text: string, secrets: NamedSecrets): string {
  let rest = text;
  // The longest first: a shorter one may be a part of it.
  for (const secret of [...secrets()].toSorted((one, other) => other.length - one.length))
    if (rest.includes(secret)) rest = without(rest, secret);
  return rest;
}

function without(text: string, secret: string): string {
  const isWord = maySay(secret);
  const parts: string[] = [];
  let from = 0;
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, Math.max(from, at + 1))) {
    const end = at + secret.length;
    const [before, after] = [text.charAt(at - 1), text.charAt(end)];
    const isQuoted = isWord ? QUOTES.includes(before + after) : !isGlued(before, secret, after);
    if (!isQuoted) continue;
    parts.push(text.slice(from, at), MASKED);
    from = end;
  }
  return parts.join('') + text.slice(from);
}

/** Whether a sentence may say it by itself: words, an identifier, a number. What has letters and digits in one (`hunter2`) is none of them. */
function maySay(secret: string): boolean {
  if (/\s/.test(secret)) return true;
  let [from, to] = [0, secret.length];
  while (from < to && AROUND.test(secret.charAt(from))) from += 1;
  while (from < to && AROUND.test(secret.charAt(to - 1))) to -= 1;
  const inner = secret.slice(from, to);
  return !NO_WORD.test(inner) || !NO_NUMBER.test(inner);
}

/** Whether the first or the last character of it is in the middle of a word. */
const isGlued = (before: string, secret: string, after: string): boolean =>
  (IN_WORD.test(before) && IN_WORD.test(secret.charAt(0))) ||
  (IN_WORD.test(after) && IN_WORD.test(secret.charAt(secret.length - 1)));
