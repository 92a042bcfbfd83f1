import type { Json } from '../../contracts/json.js';
import { type LinearExpression, linear } from '../expressions/linear.js';

/** Values with these names are replaced completely, whatever they look like. */
const SENSITIVE_NAME =
  /(?:^|[_-])(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|access[_-]?key|credentials?|authorization|cookie|session[_-]?id|ssn|cvv|pin)(?:[_-]|$)/i;

const MASKED = '[MASKED]';

const SECRET_NAME = String.raw`(?:[\w-]{0,40}[_-])?(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)`;
/** At least four characters, quoted or not. A text that starts with `[` is already a sentinel. */
const SECRET_VALUE = String.raw`(?:["'][^\s"'&,;]|[^\s"'&,;\[])[^\s"'&,;]{3,}["']?`;

/**
 * The patterns to replace in text, in this order: a longer secret before anything that could be found inside it. For the sentinels see
 * docs/architecture/ledger-rows.md#masking.
 */
const PATTERNS: readonly (readonly [LinearExpression, string])[] = [
  [
    linear('-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)'),
    '[PEM_PRIVATE_KEY]',
  ],
  [linear(String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), '[AWS_ACCESS_KEY_ID]'],
  [linear(String.raw`\beyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*`), '[JWT]'],
  [linear(String.raw`\b(bearer|basic)\s+[\w.~+/=-]{8,}`, 'i'), '$1 [TOKEN]'],
  [linear(String.raw`\b(${SECRET_NAME})(\s{0,4}[=:]\s{0,4})${SECRET_VALUE}`, 'i'), '$1$2[SECRET]'],
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
  const masked = PATTERNS.reduce((rest, [pattern, sentinel]) => pattern.replaceAll(rest, sentinel), text);
  return masked.replace(/\b\d(?:[ -]?\d){12,18}\b/g, (digits) => (isCardNumber(digits) ? '[CC]' : digits));
}

/** ISO/IEC 7812: the check digit distinguishes a card number from other long numbers. */
function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '').split('').map(Number).toReversed();
  const sum = digits.reduce((total, digit, index) => {
    const counted = index % 2 === 0 ? digit : digit * 2;
    return total + (counted > 9 ? counted - 9 : counted);
  }, 0);
  return sum > 0 && sum % 10 === 0;
}
