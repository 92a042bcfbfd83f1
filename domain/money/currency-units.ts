import { withoutAccents } from '../argument-values.js';
import { clipped, words } from '../text.js';
import { isCurrency } from './money-values.js';
import type { Amount } from './read-money.js';

/** Signs that one currency has, or that the most valuable one of those who share it has. `¥` is a yen or twenty of them, so it is a unit of its own. */
const SIGNS: ReadonlyMap<string, string> = new Map([
  ['€', 'EUR'],
  ['$', 'USD'],
  ['£', 'GBP'],
  ['₹', 'INR'],
  ['₩', 'KRW'],
  ['₽', 'RUB'],
  ['₺', 'TRY'],
  ['₴', 'UAH'],
  ['₪', 'ILS'],
  ['₫', 'VND'],
  ['₦', 'NGN'],
  ['₱', 'PHP'],
  ['฿', 'THB'],
  ['₿', 'BTC'],
]);
const NAMES: ReadonlyMap<string, string> = new Map(
  (
    [
      ['EUR', 'euro euros'],
      ['USD', 'dollar dollars buck bucks'],
      ['GBP', 'pound pounds sterling'],
      ['CHF', 'franc francs franken'],
      ['JPY', 'yen'],
      ['CNY', 'yuan renminbi'],
      ['INR', 'rupee rupees'],
      ['BTC', 'bitcoin bitcoins'],
      ['ETH', 'ether ethereum'],
    ] as const
  ).flatMap(([code, names]) => [...words(names)].map((name) => [name, code] as const)),
);
const LONGEST = 256;
const LONGEST_UNIT = 8;

/** The currencies that a text names, by code, sign or name. */
function namedIn(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [piece] of withoutAccents(clipped(text, LONGEST)).matchAll(/\p{Sc}|\p{L}{2,16}/gu)) {
    const code = isCurrency(piece)
      ? piece.toUpperCase()
      : (SIGNS.get(piece) ?? NAMES.get(piece.toLowerCase()) ?? (/\p{Sc}/u.test(piece) ? piece : undefined));
    if (code !== undefined) found.add(code);
  }
  return found;
}

/**
 * The currency of an amount, however it is written: `€100`, `100 EUR` and `{"amount": 100, "currency": "euro"}` are in one. An amount whose text
 * and whose arguments name different ones is in none of them. `''` where none is named.
 */
export function unitOf({ amount, currency, isNumber }: Pick<Amount, 'amount' | 'currency' | 'isNumber'>): string {
  const beside = currency === null ? new Set<string>() : namedIn(currency);
  const given = beside.size === 1 ? ([...beside][0] as string) : (currency ?? '').trim().toUpperCase();
  const all = new Set([...(isNumber ? [] : namedIn(amount)), ...(given === '' ? [] : [given])]);
  return clipped([...all].toSorted().join('/'), LONGEST_UNIT);
}
