import type { Json, JsonObject } from '../../contracts/json.js';
import type { ResponseEntity } from '../../contracts/response-scan.js';
import { ibansIn, touchesUuid } from '../iban.js';
import { type LinearExpression, linear } from '../expressions/linear.js';
import { isIssued, sensitiveDataIn } from './sensitive-data.js';
import { assignedSecrets, GOES_ON_TO_ELSE } from './assigned-secrets.js';
import { isSecretName, secretItems, secretMembers } from './secret-names.js';
import { tokensIn } from './tokens.js';
import { writtenCardsIn } from './written-cards.js';

export const MASKED = '[MASKED]';

type Patterns = readonly (readonly [LinearExpression, string])[];
/**
 * The patterns to replace in text, in this order: a longer secret before anything that could be found inside it. For the sentinels see
 * docs/architecture/ledger-rows.md#masking.
 */
const SECRETS: Patterns = [
  [
    linear('-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)'),
    '[PEM_PRIVATE_KEY]',
  ],
  [linear(String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), '[AWS_ACCESS_KEY_ID]'],
];
/** Behind these come secrets that a text assigns to a name. */
const PERSONAL: Patterns = [
  [linear(String.raw`[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}`), '[EMAIL]'],
  [linear(String.raw`\b\d{3}-\d{2}-\d{4}\b`), '[SSN]'],
  [linear(String.raw`\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b`), '[IPV4]'],
];

/**
 * Replaces personal and secret data in text, and whole values with sensitive names, by sentinels. Idempotent. This is a best effort for
 * readers, never a permission to publish.
 */
export function mask(value: Json): Json {
  if (typeof value === 'string') return maskText(value);
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return value;
    const text = String(value);
    const masked = byShape(text, NUMBER_SHAPES);
    return masked === text ? value : masked;
  }
  if (Array.isArray(value)) {
    const isSecret = secretItems(value);
    return value.map((item, at) => (isSecret(at) !== undefined ? MASKED : mask(item)));
  }
  if (typeof value !== 'object' || value === null) return value;
  const isSecret = secretMembers(value, isSecretName);
  const maskedName = namesOf(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      maskedName(name),
      isSecret(name) !== undefined && inner !== null ? MASKED : mask(inner),
    ]),
  );
}

/** What a path of names and places leads to, as `mask` shows it where it stands; `null` where nothing is there. */
export function maskedAt(value: Json, path: readonly string[]): Json {
  const [at, ...rest] = path;
  if (at === undefined || value === null) return mask(value);
  if (typeof value !== 'object') return null;
  const inner = Array.isArray(value) ? value[Number(at)] : Object.hasOwn(value, at) ? value[at] : undefined;
  if (inner === undefined || inner === null) return null;
  const name = Array.isArray(value) ? secretItems(value)(Number(at)) : secretMembers(value, isSecretName)(at);
  return name === undefined ? maskedAt(inner, rest) : MASKED;
}

/** The masked names of an object's members. Those that are masked alike, or as another is called, stay apart: `[IBAN]`, `[IBAN] (2)`. */
function namesOf(object: JsonObject): (name: string) => string {
  const taken = new Set<string>();
  const counts = new Map<string, number>();
  const isTaken = (name: string): boolean => taken.has(name) || Object.hasOwn(object, name);
  return (name) => {
    const masked = maskText(name);
    if (masked === name) return name;
    let [base, free] = [masked, masked];
    while (isTaken(free)) {
      const count = (counts.get(base) ?? 1) + 1;
      counts.set(base, count);
      free = `${base} (${count})`;
      // Behind what awaits a value (`password:'`), and where it ends a number, what is put there is masked itself.
      if (maskText(free) !== free) base = free = MASKED;
    }
    taken.add(free);
    return free;
  };
}

type Shapes = ReadonlyMap<ResponseEntity, string>;
/** What the scan of answers knows by its shape, and no pattern here. */
const SECRET_SHAPES: Shapes = new Map([
  ['API_TOKEN', '[API_TOKEN]'],
  ['DB_URI', '[DB_URI]'],
]);
/** In digits of other scripts too. */
const NUMBER_SHAPES: Shapes = new Map([
  ['CREDIT_CARD', '[CC]'],
  ['SSN', '[SSN]'],
]);

/** A card in whatever groups it is written with blanks or dashes; not the digits behind the point of a fraction. */
const CARD = /(?<!\d\.)\b\d(?:[ -]?\d){12,18}\b/g;
/** What is glued to a number stands alone when that is taken out; so often a text is read. */
const MOST_READ = 3;
function maskText(text: string, read = 1): string {
  const secrets = withoutTokens(replaced(byShape(text, SECRET_SHAPES), SECRETS));
  // Account numbers before secrets that are assigned, which end at a blank, and before cards: one in twenty has a part that passes for one.
  const accounts = without(ibansIn, '[IBAN]', secrets);
  const assigned = spliced(
    accounts,
    [...assignedSecrets(accounts)].map((place) => ({ ...place, instead: '[SECRET]' })),
  );
  const personal = replaced(assigned, PERSONAL);
  const cards = without(writtenCardsIn, '[CC]', personal).replace(CARD, (card, at: number, whole: string) =>
    isIssued(card.replaceAll(/\D/g, '')) && !touchesUuid(whole, at, at + card.length) ? '[CC]' : card,
  );
  const masked = byShape(cards, NUMBER_SHAPES);
  return (accounts === secrets && masked === personal) || read === MOST_READ ? masked : maskText(masked, read + 1);
}

const replaced = (text: string, patterns: Patterns): string =>
  patterns.reduce((rest, [pattern, sentinel]) => pattern.replaceAll(rest, sentinel), text);

const withoutTokens = (text: string): string =>
  spliced(text, inOrder([...tokensIn(text)].map(({ type, ...place }) => ({ ...place, instead: `[${type}]` }))));

const without = (
  find: (text: string) => Iterable<readonly [start: number, end: number]>,
  instead: string,
  text: string,
): string =>
  spliced(
    text,
    Array.from(find(text), ([start, end]) => ({ start, end, instead })),
  );

function byShape(text: string, shapes: Shapes): string {
  const found = [...sensitiveDataIn(text, shapes)].flatMap(({ type, start, end }) => {
    const instead = shapes.get(type);
    // Of an address that holds what a shell goes on from, the password alone is taken out, up to there.
    const holdsMore = type === 'DB_URI' && GOES_ON_TO_ELSE.test(text.slice(start, end).replace(OPTIONS, ''));
    return instead === undefined || holdsMore ? [] : [{ start, end, instead }];
  });
  return spliced(text, inOrder(found));
}
const OPTIONS = /\?[^?]{0,4096}$/;

interface Place {
  readonly start: number;
  readonly end: number;
  readonly instead: string;
}
/** Of two that begin at one place the longer first. */
const inOrder = (places: readonly Place[]): readonly Place[] =>
  places.toSorted((one, other) => one.start - other.start || other.end - one.end);

function spliced(text: string, places: readonly Place[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, instead } of places) {
    if (start < at) continue;
    parts.push(text.slice(at, start), instead);
    at = end;
  }
  return parts.join('') + text.slice(at);
}
