import { clipped, shortened } from '../text.js';
import { oneLine, quoted, shortenedSaid } from '../printable.js';
import { SANDBOX_BOUNDS, type SandboxReport } from '../../contracts/sandbox.js';
import type { Checkpoint } from '../in-place.js';
import { inUnits } from '../money/minor-units.js';
import { isCurrency, magnitudeOf } from '../money/money-values.js';
import { type Amount, type MoneyFound, moneyTogether } from '../money/read-money.js';
import type { Finding, ReadCall, Readers } from './finding.js';
import type { Verb } from './verbs.js';

export type Money = NonNullable<SandboxReport['money']>;

export interface Payment {
  readonly found: MoneyFound;
  readonly money: Money;
  readonly finding: Finding;
}

/** A payment: by the tool's name, or by an amount with somebody to have it, whatever the name says. */
export function readMoney(call: ReadCall, verb: Verb, { moneyIn }: Readers, checkpoint: Checkpoint): Payment | null {
  const does = verb === 'pay' ? 'pays' : verb === 'read' ? 'looks' : 'other';
  const found = moneyIn(call, call.tool, does, checkpoint);
  const moves = found.amounts.length > 0 && found.payees.length > 0;
  return verb === 'pay' || moves ? paymentOf(found) : null;
}

/** All payments of a batch as one. */
export const together = (payments: readonly Payment[]): Payment =>
  payments.length === 1
    ? (payments[0] as Payment)
    : paymentOf(
        moneyTogether(
          payments.flatMap(({ found }) => found.amounts),
          payments.flatMap(({ found }) => found.payees),
        ),
      );

function paymentOf(found: MoneyFound): Payment {
  const { amounts, payees } = found;
  const [first] = amounts;
  const [payee] = payees;
  const sumOf = (text: (one: Amount) => string): string | null =>
    amounts.length > 1 ? severalOf(amounts, text) : first === undefined ? null : text(first);
  const sum = sumOf(saidOf);
  const reasons = ['money moves, and whoever gets it decides whether it comes back'];
  if (first === undefined) reasons.push('the arguments name no amount');
  else if (
    amounts.some(
      ({ amount, currency, label }) => label !== 'count' && currency === null && !/[\p{Sc}\p{L}]/u.test(amount),
    )
  )
    reasons.push('the arguments name no currency');
  if (payee === undefined) reasons.push('the arguments name nobody who gets it');
  if (amounts.length > 1) reasons.push(`the arguments name ${severalOf(amounts, saidOf)}`);
  if (payees.length > 1) reasons.push(`the arguments name ${payees.length} who get money`);
  if (new Set(amounts.map(unitOf).filter((unit) => unit !== '')).size > 1)
    reasons.push('the arguments name amounts of several currencies, which are not compared');
  if (amounts.some(({ isSeveral }) => isSeveral === true))
    reasons.push('the arguments name several currencies for one amount');
  if (
    amounts.some((one) => isLong(wholeOf(one), AMOUNT)) ||
    payees.some((one) => isLong(one, PAYEE) || one.includes('…'))
  )
    reasons.push('an amount, or who gets it, is longer than shown');
  const single = amounts.length === 1 ? first : undefined;
  return {
    found,
    money: {
      amount: single ? repeated(single, shown(labelled(single), AMOUNT)) : shownOrNull(sumOf(textOf)),
      currency: single?.currency ? shown(single.currency, SANDBOX_BOUNDS.amount) : null,
      payee:
        payee === undefined
          ? null
          : `${shown(payee, SANDBOX_BOUNDS.text - MORE)}${payees.length > 1 ? ` and ${payees.length - 1} more` : ''}`,
    },
    finding: {
      operation_class: 'write',
      severity: 'risky',
      act: `move ${sum ?? 'money'}${payee === undefined ? '' : amounts.length > 1 ? '; to' : ' to'}`,
      kind: 'send',
      targets: payees,
      reversible: 'no',
      reasons,
    },
  };
}

const shownOrNull = (text: string | null): string | null => text && shown(text, SANDBOX_BOUNDS.amount);
/** Room for "and 65536 more". */
const MORE = 16;
/** A run of blanks is one: behind many of them the rest of a text would be out of sight. */
const withSingleSpaces = (text: string): string => text.trim().replaceAll(/\s{2,}/g, ' ');
/** A part long enough that what is cut off shows as such. */
const lineOf = (text: string, units: number): string => oneLine(clipped(withSingleSpaces(text), 2 * units));
const shown = (text: string, units: number): string => shortened(lineOf(text, units), units);
const isLong = (text: string, units: number): boolean => lineOf(text, units).length > units;

const AMOUNT = 48;
/** As much of a name as the line of the report has. */
const PAYEE = 120;
const UNITS = { cents: 'cents', minor: 'minor units' } as const;
/** In whole units where that is sure, and as it is written. */
function amountOf(one: Amount, currency: string, amount = one.amount): string {
  const units = inUnits(one);
  const written = one.minor === null ? amount : `${amount} ${UNITS[one.minor]}`;
  const told = units === null ? written : units === one.amount ? amount : units;
  const text = units === null || units === one.amount ? `${told}${currency}` : `${told}${currency} (${written})`;
  return one.label === null ? text : `${one.label} ${text}`;
}
const labelled = (one: Amount): string => amountOf(one, '');
const wholeOf = (one: Amount): string => amountOf(one, one.currency === null ? '' : ` ${one.currency}`);
const repeated = ({ times }: Amount, text: string): string => (times > 1 ? `${text} (${times} times)` : text);
const textOf = (one: Amount): string => repeated(one, shown(wholeOf(one), AMOUNT));
/** The same in a sentence of Gate's: quoted, unless it is a number with the code or sign of a currency. */
function saidOf(one: Amount): string {
  const { amount, currency } = one;
  const number = isPlainAmount(amount) ? withSingleSpaces(amount) : quoted(withSingleSpaces(amount), AMOUNT);
  const unit =
    currency === null ? '' : ` ${isPlainCurrency(one) ? currency.trim() : quoted(withSingleSpaces(currency), AMOUNT)}`;
  const text = amountOf(one, unit, number);
  return repeated(one, shortenedSaid(text, AMOUNT + text.split('`').length - 1));
}
/** Only what the parts between the digits say is looked up, so a long number is one. */
const isPlainAmount = (text: string): boolean => {
  const [before = '', after = '', ...others] = text.trim().split(/[-+]?[.,]?\d[\d.,'_ ]*(?:e[+-]?\d{1,3}(?!\d))?/i);
  return others.length === 0 && text.trim() !== before && [before, after].every(isPlainUnit);
};
const isPlainUnit = (text: string): boolean => {
  const sign = text.trim();
  return sign === '' || /^[-+]?\p{Sc}$/u.test(sign) || isCurrency(sign);
};
const isPlainCurrency = ({ currency, isSeveral }: Amount): boolean => {
  const text = currency ?? '';
  if (isPlainUnit(text) || isSeveral !== true) return isPlainUnit(text);
  const [, several] = /^several currencies \((.{1,64})\)$/u.exec(text) ?? [];
  return several?.split(', ').every((one) => one === '…' || isPlainUnit(one)) ?? false;
};

/** How many of several amounts are written out. */
const SHOWN = 3;
/** The first few, and the largest of the others in each currency. */
function severalOf(amounts: readonly Amount[], text: (one: Amount) => string): string {
  const texts = amounts.slice(0, SHOWN).map(text).join(', ');
  const others = amounts.slice(SHOWN);
  if (others.length === 0) return `several amounts: ${texts}`;
  const isRead = (one: Amount): boolean => WAYS.every((way) => Number.isFinite(sizeOf(one, way)));
  const unread = others.filter((one) => !isRead(one));
  const largest = largestOf(others.filter(isRead));
  const upTo = largest.length > 0 ? `, up to ${largest.slice(0, SHOWN).map(text).join(', ')}` : '';
  const rest = largest.length > SHOWN ? ', and amounts of other currencies' : '';
  const further = unread.length > SHOWN ? ` and ${unread.length - SHOWN} more` : '';
  const not = unread.length > 0 ? `, and not read: ${unread.slice(0, SHOWN).map(text).join(', ')}${further}` : '';
  return `several amounts: ${texts} and ${others.length} more${upTo}${rest}${not}`;
}

/** The currency of an amount, also where it stands beside the number in one text. */
const unitOf = ({ amount, currency, label }: Amount): string =>
  label === 'count' ? '' : (currency ?? signsIn(amount).join(' ')).toUpperCase();
const signsIn = (text: string): readonly string[] =>
  (text.match(/\p{L}{1,16}|\p{Sc}/gu) ?? []).filter((sign) => !/\p{L}/u.test(sign) || isCurrency(sign));

/** A comma or a point stands between thousands, or before a fraction. */
const WAYS = ['thousands', 'fraction'] as const;
/** Infinite for what is no number that is read. */
function sizeOf(one: Amount, way: (typeof WAYS)[number]): number {
  const units = inUnits(one) ?? one.amount;
  return one.isNumber ? Math.abs(Number(units)) : magnitudeOf(units, way);
}

/** The largest of each currency, and of each way to read their texts; the largest numbers first. */
function largestOf(amounts: readonly Amount[]): readonly Amount[] {
  const largest = new Map<string, { readonly one: Amount; readonly size: number }>();
  for (const one of amounts)
    for (const way of WAYS) {
      const size = sizeOf(one, way);
      const kind = `${way} ${unitOf(one)}`;
      if (size > (largest.get(kind)?.size ?? -1)) largest.set(kind, { one, size });
    }
  const sorted = [...largest.values()].toSorted((one, other) => (other.size > one.size ? 1 : -1));
  return [...new Set(sorted.map(({ one }) => one))];
}
