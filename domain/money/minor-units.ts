import { words } from '../text.js';
import type { Amount } from './read-money.js';

/** ISO 4217: currencies whose smaller unit is no hundredth. */
const NO_MINOR = words('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF');
const THOUSANDTHS = words('BHD IQD JOD KWD LYD OMR TND');
const CODE = /^[A-Za-z]{3}$/;
const WHOLE = /^([+-]?)(\d{1,32})$/;

/** Digits behind the point of an amount in the smaller unit; `null` where its names and its currency do not say, or say different things. */
function digitsOf({ minor, currency }: Pick<Amount, 'minor' | 'currency'>): number | null {
  if (minor === null || (currency !== null && !CODE.test(currency))) return null;
  const code = currency?.toUpperCase();
  if (code === undefined) return minor === 'cents' ? 2 : null;
  const digits = NO_MINOR.has(code) ? 0 : THOUSANDTHS.has(code) ? 3 : 2;
  return minor === 'cents' && digits !== 2 ? null : digits;
}

/** An amount in whole units of its currency: 129900 of `amount_cents` is "1299.00". Of one that is told in no smaller unit as it is written. */
export function inUnits(one: Pick<Amount, 'amount' | 'minor' | 'currency'>): string | null {
  if (one.minor === null) return one.amount;
  const digits = digitsOf(one);
  const [, sign = '', written] = WHOLE.exec(one.amount) ?? [];
  if (digits === null || written === undefined) return null;
  if (digits === 0) return one.amount;
  const padded = written.padStart(digits + 1, '0');
  return `${sign}${padded.slice(0, -digits)}.${padded.slice(-digits)}`;
}
