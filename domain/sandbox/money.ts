import { clipped } from '../text.js';
import { oneLine } from '../printable.js';
import { SANDBOX_BOUNDS, type SandboxReport } from '../../contracts/sandbox.js';
import type { Finding, ReadCall, Readers } from './finding.js';
import type { Verb } from './verbs.js';

export type Money = NonNullable<SandboxReport['money']>;

const AMOUNT = /^[+-]?[\p{Sc}\s]{0,4}\d[\d\s.,'_]{0,40}(?:\s?[\p{Sc}A-Za-z]{1,4})?$/u;
/** Longer texts are no amounts, currencies or payees. */
const LONGEST = 256;

/** The money in the arguments: how much, in what, to whom. Null where no amount stands. */
function moneyIn({ leaves }: ReadCall, { data }: Readers): Money | null {
  const {
    amount_arguments: amounts,
    amount_argument_parts: amountParts,
    currency_arguments: currencies,
    destination_arguments: destinations,
    destination_argument_parts: destinationParts,
  } = data.plain_reads;
  const shown = (value: unknown, units: number) => clipped(oneLine(String(value)), units);
  const first = (named: (name: string) => boolean, fits: (value: string | number) => boolean): unknown =>
    leaves.find(
      ({ name, value }) => named(name) && typeof value !== 'boolean' && String(value).length <= LONGEST && fits(value),
    )?.value;
  const amount = first(
    (name) => amounts.includes(name) || amountParts.some((part) => name.includes(part)),
    (value) => typeof value === 'number' || AMOUNT.test(value.trim()),
  );
  if (amount === undefined) return null;
  const currency = first(
    (name) => currencies.includes(name),
    (value) => typeof value === 'string',
  );
  const payee = first(
    (name) => destinations.includes(name) || destinationParts.some((part) => name.includes(part)),
    () => true,
  );
  return {
    amount: shown(amount, SANDBOX_BOUNDS.amount),
    currency: currency === undefined ? null : shown(currency, SANDBOX_BOUNDS.amount),
    payee: payee === undefined ? null : shown(payee, SANDBOX_BOUNDS.text),
  };
}

/** A payment: by the tool's name, or by an amount with somebody to have it, wherever the name does not say that it reads. */
export function readMoney(
  call: ReadCall,
  verb: Verb,
  readers: Readers,
): { readonly money: Money; readonly finding: Finding } | null {
  const found = moneyIn(call, readers);
  const pays = verb === 'pay' || (found !== null && found.payee !== null && verb !== 'read');
  if (!pays) return null;
  const money = found ?? { amount: null, currency: null, payee: null };
  const sum = money.amount === null ? 'money' : `${money.amount} ${money.currency ?? ''}`.trim();
  const reasons = ['money moves, and whoever gets it decides whether it comes back'];
  if (money.amount === null) reasons.push('the arguments name no amount');
  else if (money.currency === null && !/[\p{Sc}A-Za-z]/u.test(money.amount))
    reasons.push('the arguments name no currency');
  if (money.payee === null) reasons.push('the arguments name nobody who gets it');
  return {
    money,
    finding: {
      operation_class: 'write',
      severity: 'risky',
      act: money.payee === null ? `move ${sum}` : `move ${sum} to`,
      kind: 'send',
      targets: money.payee === null ? [] : [money.payee],
      reversible: 'no',
      reasons,
    },
  };
}
