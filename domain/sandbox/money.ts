import { clipped, shortened } from '../text.js';
import { oneLine } from '../printable.js';
import { SANDBOX_BOUNDS, type SandboxReport } from '../../contracts/sandbox.js';
import type { Checkpoint } from '../in-place.js';
import { magnitudeOf } from '../money/money-values.js';
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
  const found = moneyIn(call, call.tool, verb === 'pay', checkpoint);
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
  const sum = amounts.length > 1 ? severalOf(amounts) : first === undefined ? null : textOf(first);
  const reasons = ['money moves, and whoever gets it decides whether it comes back'];
  if (first === undefined) reasons.push('the arguments name no amount');
  else if (
    amounts.some(
      ({ amount, currency, label }) => label !== 'count' && currency === null && !/[\p{Sc}\p{L}]/u.test(amount),
    )
  )
    reasons.push('the arguments name no currency');
  if (payee === undefined) reasons.push('the arguments name nobody who gets it');
  if (amounts.length > 1) reasons.push(`the arguments name ${severalOf(amounts)}`);
  if (payees.length > 1) reasons.push(`the arguments name ${payees.length} who get money`);
  if (amounts.some(({ currency }) => currency?.startsWith('several currencies') === true))
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
      amount: single ? repeated(single, shown(labelled(single), AMOUNT)) : sum && shown(sum, SANDBOX_BOUNDS.amount),
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

/** Room for "and 65536 more". */
const MORE = 16;
/** A run of blanks is one: behind many of them the rest of a text would be out of sight. */
const folded = (text: string): string => text.trim().replaceAll(/\s{2,}/g, ' ');
/** A part long enough that what is cut off shows as such. */
const lineOf = (text: string, units: number): string => oneLine(clipped(folded(text), 2 * units));
const shown = (text: string, units: number): string => shortened(lineOf(text, units), units);
const isLong = (text: string, units: number): boolean => lineOf(text, units).length > units;

const AMOUNT = 48;
/** As much of a name as the line of the report has. */
const PAYEE = 120;
const labelled = ({ amount, label }: Amount): string => (label === null ? amount : `${label} ${amount}`);
const wholeOf = (one: Amount): string => (one.currency === null ? labelled(one) : `${labelled(one)} ${one.currency}`);
const repeated = ({ times }: Amount, text: string): string => (times > 1 ? `${text} (${times} times)` : text);
const textOf = (one: Amount): string => repeated(one, shown(wholeOf(one), AMOUNT));

/** How many of several amounts are written out. */
const SHOWN = 3;
/** The first few, and the largest of the others. */
function severalOf(amounts: readonly Amount[]): string {
  const texts = amounts.slice(0, SHOWN).map(textOf).join(', ');
  const [next, ...others] = amounts.slice(SHOWN);
  if (next === undefined) return `several amounts: ${texts}`;
  const largest = others.reduce((most, one) => (magnitudeOf(one.amount) > magnitudeOf(most.amount) ? one : most), next);
  return `several amounts: ${texts} and ${others.length + 1} more, up to ${textOf(largest)}`;
}
