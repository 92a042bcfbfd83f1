import type { ArgumentName } from '../argument-values.js';
import { nameOf } from '../argument-values.js';
import { words } from '../text.js';
import { isCurrency } from './money-values.js';

/** The words by which names of arguments say money, as operators list them (`policies/data.json`, docs/architecture/sandbox.md). */
export type MoneyNames = Readonly<
  Record<
    | 'amounts'
    | 'amount_parts'
    | 'amount_words'
    | 'prices'
    | 'counts'
    | 'currencies'
    | 'payees'
    | 'payee_parts'
    | 'payee_words'
    | 'directions'
    | 'direction_parts'
    | 'parties',
    readonly string[]
  >
>;

/** What the name of an argument says about money. */
export interface NameSays {
  /**
   * How much: `amount` by itself, `price` of other things too, which are sold and not paid, and `count` of anything. `times` says how often
   * something is done.
   */
  readonly amount: 'amount' | 'price' | 'count' | 'times' | null;
  /** Whom: `payee` by itself, `direction` of other things too (`to`), and `party` where somebody may only be looked up (`customer`). */
  readonly payee: 'payee' | 'direction' | 'party' | null;
  readonly currency: boolean;
  /** What other things are named too that amounts are counted in: `token`, `symbol`. */
  readonly asset: 'asset' | 'symbol' | null;
  /** The code of a currency among its words: `BTC` of `amount_btc`. */
  readonly code: string | null;
  /** The smaller unit that amounts below it are in: hundredths (`amount_cents`), or whatever the currency has (`amount_minor`). */
  readonly minor: 'cents' | 'minor' | null;
  /** Text beside a payment: `memo`. */
  readonly note: boolean;
  /** An end of a span. One alone may be what is paid; a lowest and a highest amount side by side are looked for. */
  readonly bound: 'lowest' | 'highest' | null;
  /** Beside or below an amount or a payee it says how to read that one: `decimals`, `type`. */
  readonly detail: boolean;
  /** The same payee if it were no detail: `payee_country`. Null for those whom searches are told (`vendor_type`). */
  readonly payeeBehind: 'payee' | null;
  /** Somebody whom searches are told too: `vendor`, `merchant`. */
  readonly trades: boolean;
  /** The whole part of an amount: `units`. */
  readonly whole: boolean;
  /** `from`, `base`: what stands at the other end of a pair. */
  readonly origin: boolean;
}

const LOWEST = words('min minimum least gt gte above over since greater');
const HIGHEST = words('max maximum most lt lte below under until before limit less filter');
const DETAILS = words(
  `type kind country state city zip postal region currency ccy language locale unit units scale decimals precision exponent page limit offset date time timezone
  day month year`,
);
const TIMES = words('count times repeat repeats repetitions repetition occurrences installments instalments copies');
const ASSETS = words('token asset coin cryptocurrency');
const SYMBOLS = words('symbol ticker');
const NOTES = words('memo note notes comment comments remark remarks description message reference subject metadata');
/** Codes that are words of other names too. */
const NO_CODES = words('all top cup mad pen gel cop sos sol ada try');
const CENTS = words('cent cents centime centimes centavo centavos pence pennies rappen');
const WHOLES = words('units major integer whole');
const TRADES = words('vendor vendors merchant merchants supplier suppliers counterparty counterparties');
const ORIGINS = words('from source src base origin');
/** `up_to`, `assigned_to`: nobody gets anything. */
const NO_DIRECTION = words('up relative compared related according assigned reply belongs linked mapped next close');
const MOVES = words('to transfer credit target destination dest send pay');
const ACCOUNTS = words('account acct');

const holds = (all: readonly string[], known: ReadonlySet<string>): boolean => all.some((word) => known.has(word));

/** Takes linear time. Each name is read once, however many values stand below it. */
export type NameReader = (name: ArgumentName) => NameSays;

/** A reader of names by the policy's lists, whose entries are read as names are. */
export function createNameReader(lists: MoneyNames): NameReader {
  const joinedNames = (list: readonly string[]): readonly string[] => list.map((one) => nameOf(one).words.join(''));
  const set = (list: readonly string[]): ReadonlySet<string> => new Set(joinedNames(list));
  const [amounts, amountWords, prices, counts, currencies] = [
    set(lists.amounts),
    set(lists.amount_words),
    set(lists.prices),
    set(lists.counts),
    set(lists.currencies),
  ];
  const [payees, payeeWords, directions, parties] = [
    set(lists.payees),
    set(lists.payee_words),
    set(lists.directions),
    set(lists.parties),
  ];
  const amountParts = joinedNames(lists.amount_parts);
  const payeeParts = joinedNames(lists.payee_parts);
  const directionParts = joinedNames(lists.direction_parts);

  const amountOf = (name: string, all: readonly string[]): NameSays['amount'] => {
    if (amounts.has(name) || amountParts.some((part) => name.includes(part)) || holds(all, amountWords))
      return 'amount';
    if (prices.has(name)) return 'price';
    if (holds(all, prices) || holds(all, counts) || WHOLES.has(name)) return 'count';
    return holds(all, TIMES) ? 'times' : null;
  };
  const payeeOf = (name: string, all: readonly string[]): NameSays['payee'] => {
    if (payees.has(name) || payeeParts.some((part) => name.includes(part)) || holds(all, payeeWords)) return 'payee';
    if (holds(all, ACCOUNTS) && holds(all, MOVES)) return 'payee';
    if (directions.has(name) || directionParts.some((part) => name.includes(part))) return 'direction';
    if (all.includes('to') && !holds(all, NO_DIRECTION)) return 'direction';
    return parties.has(name) ? 'party' : null;
  };
  const read = ({ words: said }: ArgumentName): NameSays => {
    // "payee2", "amount_1".
    const all = said.map((word) => word.replaceAll(/\d/g, '')).filter((word) => word !== '');
    const name = all.join('');
    const currency = currencies.has(name) || all.at(-1) === 'currency' || all.at(-1) === 'ccy';
    const isFrom = all.length === 2 && all.includes('from');
    const bound = holds(all, LOWEST) || isFrom ? 'lowest' : holds(all, HIGHEST) ? 'highest' : null;
    const detail = holds(all, DETAILS);
    const trades = holds(all, TRADES);
    const payee = all.includes('filter') ? null : payeeOf(name, all);
    return {
      amount: amountOf(name, all),
      payee: currency || detail ? null : payee,
      currency,
      asset: holds(all, ASSETS) || all.includes('currency') ? 'asset' : holds(all, SYMBOLS) ? 'symbol' : null,
      code: all.find((word) => isCurrency(word) && !NO_CODES.has(word))?.toUpperCase() ?? null,
      minor: holds(all, CENTS) ? 'cents' : all.includes('minor') ? 'minor' : null,
      note: holds(all, NOTES),
      bound,
      detail,
      payeeBehind: (currency || detail) && payee === 'payee' && !trades ? payee : null,
      trades,
      whole: WHOLES.has(name),
      origin: all.length <= 2 && holds(all, ORIGINS),
    };
  };
  const kept = new WeakMap<ArgumentName, NameSays>();
  return (name) => {
    const says = kept.get(name) ?? read(name);
    kept.set(name, says);
    return says;
  };
}
