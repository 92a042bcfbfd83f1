import type { Json } from '../../contracts/json.js';

/** Whole values behind these names are replaced, whatever they look like. */
const SENSITIVE_NAME =
  /^(?:.*[_-])?(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|credentials?|authorization|cookie|session[_-]?id|ssn|cvv|pin)(?:[_-].*)?$/i;

const MASKED = '[MASKED]';

/** What is looked for in text, in this order: a longer secret before what could be found inside it. Sentinels of ledger sheet 10.2. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, '[PEM_PRIVATE_KEY]'],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, '[AWS_ACCESS_KEY_ID]'],
  [/\beyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*/g, '[JWT]'],
  [/\b(bearer|basic)\s+(?!\[)[\w.~+/=-]{8,}/gi, '$1 [TOKEN]'],
  [
    /\b((?:[\w-]{0,40}[_-])?(?:password|passwd|secret|token|api[_-]?key|access[_-]?key))(\s{0,4}[=:]\s{0,4})(?!\[)["']?[^\s"'&,;]{4,}["']?/gi,
    '$1$2[SECRET]',
  ],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g, '[EMAIL]'],
  [/\b\d{3}-\d{2}-\d{4}\b/g, '[SSN]'],
  [/\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b/g, '[IPV4]'],
];

/**
 * The value with what must not be shown replaced by sentinels: personal and secret data found in text, and whole values behind sensitive
 * names. Safe to apply twice: the second time changes nothing. A best effort for people who read, never a permission to publish.
 */
export function mask(value: Json): Json {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(mask);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      maskText(name),
      SENSITIVE_NAME.test(name) && inner !== null ? MASKED : mask(inner),
    ]),
  );
}

function maskText(text: string): string {
  const masked = PATTERNS.reduce((rest, [pattern, sentinel]) => rest.replace(pattern, sentinel), text);
  return masked.replace(/\b\d(?:[ -]?\d){12,18}\b/g, (digits) => (isCardNumber(digits) ? '[CC]' : digits));
}

/** ISO/IEC 7812: the check digit tells a card number from another long number. */
function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '').split('').map(Number).toReversed();
  const sum = digits.reduce((total, digit, index) => {
    const counted = index % 2 === 0 ? digit : digit * 2;
    return total + (counted > 9 ? counted - 9 : counted);
  }, 0);
  return sum > 0 && sum % 10 === 0;
}
