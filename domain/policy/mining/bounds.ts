import type { Json } from '../../../contracts/json.js';
import type { ArgumentBound } from '../../../contracts/policy-mining.js';
import { canonicalJson } from '../../crypto/digest.js';
import { hasUuidForm } from '../../uuid.js';

type Is = ArgumentBound['is'];

/**
 * How far one value may be generalized, before anything is said of others: not at all, as a number between the least and the greatest that people
 * saw, or as the same text with other digits.
 */
export type Kind =
  | { readonly of: 'value'; readonly value: Json }
  | {
      readonly of: 'number';
      readonly number: number;
      readonly text: boolean;
      readonly decimals: number;
      readonly value: Json;
    }
  | { readonly of: 'like'; readonly like: string; readonly value: string };

const WHOLE = /^(?:0|[1-9][0-9]{0,14})$/;
const DECIMAL = /^(?:0|[1-9][0-9]{0,11})\.([0-9]{1,4})$/;
/** An identifier: letters, digits, and what joins them. No address, path, sentence or amount looks so. */
const IDENTIFIER = /^[A-Za-z0-9_-]{2,64}$/;
const LIKE_UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/** `isFixed`: it says who is paid, where something goes or which one is meant, and is never anything but itself. */
export function kindOf(value: Json, isFixed: boolean): Kind {
  if (isFixed) return { of: 'value', value };
  if (typeof value === 'number') return { of: 'number', number: value, text: false, decimals: 0, value };
  if (typeof value !== 'string') return { of: 'value', value };
  if (WHOLE.test(value)) return { of: 'number', number: Number(value), text: true, decimals: 0, value };
  const decimals = DECIMAL.exec(value)?.[1]?.length;
  if (decimals !== undefined) return { of: 'number', number: Number(value), text: true, decimals, value };
  if (hasUuidForm(value)) return { of: 'like', like: LIKE_UUID, value };
  if (IDENTIFIER.test(value) && /[A-Za-z]/.test(value) && /[0-9]/.test(value))
    return { of: 'like', like: value.replaceAll(/[0-9]+/g, (digits) => `[0-9]{${digits.length}}`), value };
  return { of: 'value', value };
}

/** What tells calls apart whose values no bound has in common. */
export function sortOf(kind: Kind): string {
  if (kind.of === 'value') return `=${canonicalJson(kind.value)}`;
  return kind.of === 'like' ? `~${kind.like}` : `#${kind.text ? kind.decimals : ''}`;
}

/** Whether a value is within a bound. The rule says the same (`fence.ts`). */
export function isWithin(value: Json | undefined, is: Is): boolean {
  if (value === undefined) return false;
  if ('equals' in is) return canonicalJson(value) === canonicalJson(is.equals);
  if ('one_of' in is) return is.one_of.some((one) => canonicalJson(value) === canonicalJson(one));
  const kind = kindOf(value, false);
  if ('like' in is) return kind.of === 'like' && kind.like === is.like;
  if (kind.of !== 'number' || kind.text !== is.text || kind.decimals !== is.decimals) return false;
  return kind.number >= is.from && kind.number <= is.to && (!is.whole || Number.isInteger(kind.number));
}
