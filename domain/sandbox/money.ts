import { clipped, words } from '../text.js';
import { oneLine } from '../printable.js';
import { SANDBOX_BOUNDS, type SandboxReport } from '../../contracts/sandbox.js';
import type { Finding, ReadCall, Readers } from './finding.js';
import type { Verb } from './verbs.js';

export type Money = NonNullable<SandboxReport['money']>;

const AMOUNT = /^[+-]?[\p{Sc}\s]{0,4}\d[\d\s.,'_]{0,40}(?:\s?[\p{Sc}A-Za-z]{1,4})?$/u;
/** Longer texts are no amounts, currencies or payees. */
const LONGEST = 256;

/** Words of a name by which it says how much, or whom: `transfer_to`, `payoutAccount`, `amountCents`. */
const AMOUNTS = words('amount amt cents usd eur gbp chf betrag montant importe');
/** Of other things too: they count where somebody is named outright. */
const COUNTS = words('value qty quantity price total sum');
const PAYEES = words(
  `payee payout vendor supplier beneficiary recipient merchant counterparty creditor receiver iban wallet payto destinatario empfaenger`,
);
/** Words that make it a condition of a search. */
const BOUNDS = words(
  'min max minimum maximum from since until before after below above over under limit filter gt gte lt lte less greater',
);
const holds = (all: readonly string[], known: ReadonlySet<string>): boolean => all.some((word) => known.has(word));
/** `to`, `transfer_to`, `to_account`, `acct`: an end of a range where its value is a date or a number. */
const namesPayee = (all: readonly string[], value: unknown): boolean =>
  holds(all, PAYEES) ||
  (all.includes('to') && !isPoint(value)) ||
  ((all.includes('account') || all.includes('acct')) && all.some((word) => MOVES.has(word)));
const MOVES = words('to transfer credit target destination dest send pay');
const isPoint = (value: unknown): boolean =>
  typeof value === 'number' || /^\s{0,8}[\d.:TZ+/ -]{1,40}$/.test(String(value));

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
  const first = (
    named: (name: string, all: readonly string[], value: unknown) => boolean,
    fits: (value: string | number) => boolean,
  ): unknown =>
    leaves.find(
      ({ name, words: all, value }) =>
        !holds(all, BOUNDS) &&
        named(name, all, value) &&
        typeof value !== 'boolean' &&
        String(value).length <= LONGEST &&
        fits(value),
    )?.value;
  const isOutright = leaves.some(({ words: all }) => holds(all, PAYEES) && !holds(all, BOUNDS));
  const amount = first(
    (name, all) =>
      amounts.includes(name) ||
      amountParts.some((part) => name.includes(part)) ||
      holds(all, AMOUNTS) ||
      (isOutright && holds(all, COUNTS)),
    (value) => typeof value === 'number' || AMOUNT.test(value.trim()),
  );
  if (amount === undefined) return null;
  const currency = first(
    (name) => currencies.includes(name),
    (value) => typeof value === 'string',
  );
  const payee = first(
    (name, all, value) =>
      (destinations.includes(name) && !(name === 'to' && isPoint(value))) ||
      destinationParts.some((part) => name.includes(part)) ||
      namesPayee(all, value),
    () => true,
  );
  return {
    amount: shown(amount, SANDBOX_BOUNDS.amount),
    currency: currency === undefined ? null : shown(currency, SANDBOX_BOUNDS.amount),
    payee: payee === undefined ? null : shown(payee, SANDBOX_BOUNDS.text),
  };
}

/** A payment: by the tool's name, or by an amount with somebody to have it, whatever the name says. */
export function readMoney(
  call: ReadCall,
  verb: Verb,
  readers: Readers,
): { readonly money: Money; readonly finding: Finding } | null {
  const found = moneyIn(call, readers);
  const pays = verb === 'pay' || (found !== null && found.payee !== null);
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
