import { holdsName, holdsValue } from '../argument-names.js';
import type { MoneyInArguments } from '../../contracts/policy.js';
import {
  type ArgumentName,
  type Group,
  type Leaf,
  nameOf,
  type ReadArguments,
  readArguments,
} from '../argument-values.js';
import { type Checkpoint, unlimited } from '../in-place.js';
import { toolTokens } from '../tool-shape.js';
import { clipped, shortened, words } from '../text.js';
import { type CurrencyNamed, currenciesIn, currencyNamed } from './currencies.js';
import { withMoneyForms } from './money-forms.js';
import type { NameReader, NameSays } from './money-names.js';
import { isCurrency, isDate, isMeasure, looksLikeMoney, saysAmount } from './money-values.js';

export interface Amount {
  readonly amount: string;
  /** Where several are named, all of them. */
  readonly currency: string | null;
  /** The currency is Gate's own list of several. */
  readonly isSeveral?: true;
  /** What it is, where it is not by itself what is paid: an end of a span, or how often. */
  readonly label: 'at least' | 'at most' | 'count' | null;
  /** It is in this smaller unit, by its names. The amount is as written. */
  readonly minor: NameSays['minor'];
  /** How often it stands there. */
  readonly times: number;
  /** It is a number, which is as large as it says. Of a text, readers differ in what its points and commas mean. */
  readonly isNumber: boolean;
}

/** The money in the arguments of one call: each amount and each payee once, in the order in which they stand. */
export interface MoneyFound {
  readonly amounts: readonly Amount[];
  readonly payees: readonly string[];
}

/**
 * Reads how much the arguments name, and for whom, at every level and in JSON that is packed in texts. Of a tool that `pays` every amount and
 * everybody counts, also names that mean other things elsewhere; of one that only `looks`, a lowest and a highest amount are a span that is looked
 * for. Takes linear time.
 */
export type MoneyReader = (
  read: ReadArguments,
  tool: string,
  does: 'pays' | 'looks' | 'other',
  checkpoint?: Checkpoint,
) => MoneyFound;

/** Tools that look for a way to a place, at a price. */
const TRAVELS = words(
  'flight flights fare fares train trains bus buses ferry ferries cruise cruises trip trips travel route routes ride rides hotel hotels itinerary',
);
/** Tools that tell what one currency is worth in another. */
const RATES = words('rate rates quote quotes fx forex convert converter conversion ticker price prices');
const OUTER_LEVELS = 4;
const LEAVES_PER_CHECKPOINT = 512;

interface Said {
  readonly leaf: Leaf;
  readonly says: NameSays;
  /** `text` under the name of an amount is one beside somebody who is paid: in words that are on no list. */
  readonly amount: NameSays['amount'] | 'text';
  /** The code of a currency in the names that lead to it. */
  readonly code: string | null;
  readonly minor: NameSays['minor'];
  readonly payee: NameSays['payee'];
  /** Searches are told such somebody too. */
  readonly trades: boolean;
  /** The object that describes the payee it is a part of. */
  readonly describes: Group | null;
  /** Of a detail (`type`, `day`): it counts where this object, or null for the whole call, gives nothing else. */
  readonly instead: Group | null | undefined;
}

export function createMoneyReader(readName: NameReader): MoneyReader {
  return ({ leaves, groups }, tool, does, checkpoint = unlimited) => {
    const isPayment = does === 'pays';
    const pairs = new Map<Group, ArgumentName>();
    for (const [at, group] of groups.entries()) {
      if (at % LEAVES_PER_CHECKPOINT === 0) checkpoint();
      const name = pairOf(group);
      if (name !== undefined && saysSomething(readName(name))) pairs.set(group, name);
    }
    const said: Said[] = [];
    const currencies: CurrencyNamed[] = [];
    const add = (leaf: Leaf, names: readonly NameSays[]): void => {
      const currency = currencyNamed(leaf, names);
      if (currency) currencies.push(currency);
      const one = isDate(leaf.value) ? saidOfDate(leaf, names, readName) : saidOf(leaf, names);
      if (one) said.push(one);
    };
    for (const [at, leaf] of withMoneyForms(leaves).entries()) {
      if (at % LEAVES_PER_CHECKPOINT === 0) checkpoint();
      for (const field of fieldsOf(leaf)) add(field, field.names.map(readName));
      const names = namesOf(leaf, pairs);
      add(leaf, withoutValue(names.map(readName), names));
    }
    const asks = (known: ReadonlySet<string>): boolean =>
      !isPayment && toolTokens(tool).some((word) => known.has(word));
    return weighed(said, currencies, {
      isPayment,
      looks: does === 'looks',
      isTravel: asks(TRAVELS),
      isRate: asks(RATES),
    });
  };
}

/** The names of a value, with that of its pair in the place of "value": `{"name": "amount", "value": {"units": 5}}`. */
function namesOf({ names, group }: Leaf, pairs: ReadonlyMap<Group, ArgumentName>): readonly ArgumentName[] {
  if (pairs.size === 0) return names;
  let [here, at] = [group, names.length - 1];
  for (let level = 0; here !== null && at >= 0 && level < OUTER_LEVELS; level += 1) {
    const paired = holdsValue(names[at]?.plain ?? '') ? pairs.get(here) : undefined;
    if (paired) return [...names.slice(0, at), paired, ...names.slice(at + 1)];
    [here, at] = [here.outer, at - 1];
  }
  return names;
}

/** `{"payee": {"value": "DE1"}}` names the same payee as `{"payee": "DE1"}`. */
function withoutValue(says: readonly NameSays[], names: readonly ArgumentName[]): readonly NameSays[] {
  const at = names.findLastIndex(({ plain }) => !holdsValue(plain));
  const [own, last] = [says[at], says.at(-1)];
  return at < says.length - 1 && last?.payee === null && own?.payee != null && own.amount === null
    ? says.slice(0, at + 1)
    : says;
}

const saysSomething = ({ amount, payee, currency }: NameSays): boolean => amount !== null || payee !== null || currency;

function pairOf({ members }: Group): ArgumentName | undefined {
  if (!members.some(([name]) => holdsValue(name))) return undefined;
  const named = members.find(([name, value]) => holdsName(name) && typeof value === 'string');
  return named ? nameOf(named[1] as string) : undefined;
}

const FORM = /^[^\s=&?#:/]{1,128}=[^\s&]*(?:&[^\s=&?#:/]{1,128}=[^\s&]*)+$/;
/** The fields of a text that is a form: `amount=100&payee=x`. */
function fieldsOf(leaf: Leaf): readonly Leaf[] {
  const { value } = leaf;
  if (typeof value !== 'string' || !value.includes('&') || !FORM.test(value)) return [];
  const group: Group = { path: leaf.path, members: [], outer: leaf.group };
  return [...new URLSearchParams(value)].map(([name, text]) => {
    const own = nameOf(name);
    return { ...leaf, name: own.plain, words: own.words, names: [...leaf.names, own], group, value: text };
  });
}

/** By its own name, or by one of those it stands below: `{"to": {"id": "x"}}`, `{"amount": {"value": 5}}`. */
function saidOf(leaf: Leaf, names: readonly NameSays[]): Said | null {
  const says = names.at(-1);
  const { value } = leaf;
  if (says === undefined || typeof value === 'boolean') return null;
  const asAmount = amountOf(says, names);
  const amount = saysHowMuch(value, says, asAmount) ? asAmount : saysText(leaf, names) ? 'text' : null;
  const below = amount !== null || isAside(says) ? -1 : payeeAbove(names);
  const payee = amount !== null ? null : (says.payee ?? (says.amount === null ? (names[below]?.payee ?? null) : null));
  const isPayee = payee !== null && String(value).trim() !== '';
  const code = names.findLast((one) => one.code !== null)?.code ?? null;
  if (amount === null && !isPayee)
    return detailOf(leaf, says, names) ?? (says.origin ? { ...NOTHING, leaf, says } : null);
  return {
    leaf,
    says,
    amount,
    code,
    minor: minorOf(names),
    payee: isPayee ? payee : null,
    trades: says.payee === null ? names[below]?.trades === true : says.trades,
    describes: isPayee && below >= 0 ? described(leaf, below + 1, says.payee === null) : null,
    instead: undefined,
  };
}
const minorOf = (names: readonly NameSays[]): NameSays['minor'] =>
  names.findLast((one) => one.minor !== null)?.minor ?? null;
/**
 * A date, or a word for one: as a detail, or as an end of a span, it says nothing of money. Whoever is named so by the name of a payee is one, and
 * so is an amount that begins like a date.
 */
function saidOfDate(leaf: Leaf, names: readonly NameSays[], readName: NameReader): Said | null {
  const says = names.at(-1);
  if (says === undefined || isAside(says)) return null;
  const said = saidOf(leaf, names);
  if (said?.payee === 'direction' && (says.payee === null || endsSpan(leaf, readName))) return null;
  // Below a payee it is mostly since when.
  return said?.payee != null && says.payee === null ? { ...said, instead: said.describes } : said;
}

const SPAN_MEMBERS = 64;
/** `{"from": "2026-01-01", "to": "2026-02-01"}` */
const endsSpan = ({ group }: Leaf, readName: NameReader): boolean =>
  group !== null &&
  group.members.slice(0, SPAN_MEMBERS).some(([name, value]) => {
    const says = isDate(value) ? readName(nameOf(name)) : null;
    return says !== null && says.payee === null && (says.origin || says.detail || says.bound === 'lowest');
  });

const NOTHING = {
  amount: null,
  code: null,
  minor: null,
  payee: null,
  trades: false,
  describes: null,
  instead: undefined,
};

/** Text under the name of an amount that is neither a number nor the currency of one. */
function saysText({ value, name }: Leaf, names: readonly NameSays[]): boolean {
  const says = holdsValue(name) && names.length > 1 ? names.at(-2) : names.at(-1);
  return (
    typeof value === 'string' &&
    says?.amount === 'amount' &&
    says.payee === null &&
    !says.detail &&
    !says.currency &&
    value.trim() !== '' &&
    !isCurrency(value)
  );
}

/** A detail that may hold what the object around it should say: `{"amount": {"day": 90000}}`, `{"payee": {"type": "DE1"}}`. */
function detailOf(leaf: Leaf, says: NameSays, names: readonly NameSays[]): Said | null {
  const { value } = leaf;
  if (!isAside(says) || typeof value === 'boolean') return null;
  const above = names.findLastIndex((one, at) => at < names.length - 1 && !isAside(one) && saysWhoOrHowMuch(one));
  const { amount, payee } = names[above] ?? { amount: null, payee: null };
  const isCode = typeof value === 'string' && (isCurrency(value) || CODE.test(value.trim()));
  if (amount === 'amount' || amount === 'price')
    return saysAmount(value) && !isMeasure(value)
      ? { ...NOTHING, leaf, says, amount, minor: minorOf(names), instead: described(leaf, above + 1, true) }
      : null;
  const who = payee ?? says.payeeBehind;
  if (who === null || isCode || String(value).trim() === '') return null;
  const around = payee === null ? null : described(leaf, above + 1, true);
  return { ...NOTHING, leaf, says, payee: who, describes: around, instead: around };
}
const CODE = /^[a-z]{2}$/i;

const saysWhoOrHowMuch = ({ amount, payee }: NameSays): boolean =>
  amount === 'amount' || amount === 'price' || payee === 'payee' || payee === 'direction';
const isAside = ({ detail, currency, bound }: NameSays): boolean => detail || currency || bound !== null;
const payeeAbove = (names: readonly NameSays[]): number =>
  names.findLastIndex(({ payee }, at) => payee !== null && at < names.length - 1);

function amountOf(says: NameSays, names: readonly NameSays[]): NameSays['amount'] {
  if (says.amount === 'amount' || (says.payee !== null && says.amount === null)) return says.amount;
  if ((says.detail && !says.whole) || says.currency) return says.amount;
  if (names.some(({ amount }) => amount === 'amount')) return 'amount';
  return says.amount === 'count' && names.at(-2)?.amount === 'price' ? 'price' : says.amount;
}

function saysHowMuch(value: string | number, { bound }: NameSays, amount: NameSays['amount']): boolean {
  if (amount === null) return false;
  if (amount === 'amount') return saysAmount(value) && !isMeasure(value);
  if (bound !== null || !looksLikeMoney(value)) return false;
  return amount === 'price' || (!isMeasure(value) && (amount === 'count' || Number(value) !== 1));
}

/** The object of so many names around a value. A name that says whom by itself belongs to it right in it alone. */
function described({ group }: Leaf, depth: number, isDeep: boolean): Group | null {
  let here = group;
  for (let level = 0; isDeep && level < OUTER_LEVELS; level += 1) {
    if (here === null || here.path.length <= depth || (here.outer?.path.length ?? 0) < depth) break;
    here = here.outer;
  }
  return isDeep || here?.path.length === depth ? here : null;
}

/** What the tool is about, by its name. */
interface About {
  readonly isPayment: boolean;
  readonly looks: boolean;
  readonly isTravel: boolean;
  readonly isRate: boolean;
}

/** Without the details of objects that give an amount or somebody otherwise. */
function withoutDetails(said: readonly Said[]): readonly Said[] {
  if (said.every(({ instead }) => instead === undefined)) return said;
  const given = { amount: new Set<Group | null>(), payee: new Set<Group | null>() };
  for (const { leaf, says, instead, amount, payee } of said) {
    const isSure = amount !== 'text' && amount !== 'times' && says.bound === null;
    const known = amount !== null ? given.amount : payee !== null ? given.payee : null;
    if (instead !== undefined || known === null || !isSure) continue;
    known.add(null);
    let here = leaf.group;
    for (let level = 0; here !== null && level <= OUTER_LEVELS; level += 1) {
      known.add(here);
      here = here.outer;
    }
  }
  return said.map((one) => {
    const known = one.amount === null ? given.payee : given.amount;
    return one.instead !== undefined && known.has(one.instead) ? { ...one, amount: null, payee: null } : one;
  });
}

/** Which of the amounts and names mean money that moves, seen together. */
function weighed(
  all: readonly Said[],
  currencies: readonly CurrencyNamed[],
  { isPayment, looks, isTravel, isRate }: About,
): MoneyFound {
  const said = withoutDetails(all);
  const currencyOf = currenciesIn(currencies);
  const origins = new Set<Group | null>();
  const ends = { lowest: new Set<Group | null>(), highest: new Set<Group | null>() };
  for (const { leaf, says, amount } of said) {
    if (says.origin && isCurrency(leaf.value)) origins.add(leaf.group);
    if (says.bound !== null && amount !== null) ends[says.bound].add(leaf.group);
  }
  // "from": "EUR", "to": "USD" is a rate that is asked for.
  const payees = said.filter(
    ({ leaf, payee }) =>
      payee !== null && !(isRate && payee !== 'payee' && isCurrency(leaf.value) && origins.has(leaf.group)),
  );
  const isOutright = isPayment || payees.some(({ payee }) => payee === 'payee');
  const isPaid = payees.some(({ payee, trades }) => payee === 'payee' && !trades);
  const isDirected = isPayment || payees.some(({ payee }) => payee !== 'party');
  // "amount": "200g", "to": "oz" asks how much that is.
  const isGiven = payees.some(({ leaf, payee }) => payee === 'direction' && !isMeasure(`1${leaf.value}`));
  const counts = ({ amount, leaf: { group, value }, says }: Said): boolean => {
    if (amount === null || isPayment) return amount !== null;
    // A lowest and a highest amount are a span that is looked for; so is a lowest one that is told of nobody who is paid.
    if (looks && says.bound !== null && ends[says.bound === 'lowest' ? 'highest' : 'lowest'].has(group)) return false;
    if (amount === 'times') return false;
    if (amount === 'text' && !isRate && isMeasure(value)) return isPaid || isGiven;
    if (amount === 'text' || says.bound === 'lowest') return isPaid;
    if (amount === 'amount' || isOutright) return true;
    if (amount === 'count') return currencyOf.beside(group);
    return isDirected && !isTravel;
  };
  const counted = said.filter(counts);
  const isSure = isPayment || counted.some(({ amount }) => amount !== 'price');
  // How often is told of whatever is paid.
  const isRepeated = counted.length > 0 && !isPayment && said.some(({ amount }) => amount === 'times');
  const told = isRepeated ? said.filter((one) => one.amount === 'times' || counts(one)) : counted;
  return moneyTogether(
    told.map(({ leaf: { value, group }, says: { bound }, amount, code, minor }) => ({
      amount: String(value).trim(),
      ...(amount === 'times' ? { currency: null } : currencyOf.of(group, code)),
      label: amount === 'times' ? ('count' as const) : bound && LABELS[bound],
      minor: amount === 'times' ? null : minor,
      times: 1,
      isNumber: typeof value === 'number',
    })),
    textsOf(payees.filter(({ payee }) => payee !== 'party' || isSure)),
  );
}

const LABELS = { lowest: 'at least', highest: 'at most' } as const;

/** Each amount and each payee once. */
export function moneyTogether(amounts: readonly Amount[], payees: readonly string[]): MoneyFound {
  const kept = new Map<string, Amount>();
  for (const one of amounts) {
    const key = `${one.label ?? ''} ${one.currency ?? ''} ${one.minor ?? ''} ${one.isNumber} ${one.amount}`;
    kept.set(key, { ...one, times: one.times + (kept.get(key)?.times ?? 0) });
  }
  return { amounts: [...kept.values()], payees: [...new Set(payees)] };
}

const PARTS = 4;
const PART = 64;
/** Each payee in a text. What an object says of one is one text: its name, its account. */
function textsOf(payees: readonly Said[]): readonly string[] {
  const texts: string[] = [];
  const described = new Map<Group, { readonly at: number; parts: number }>();
  for (const { leaf, describes } of payees) {
    const text = String(leaf.value).trim();
    const before = describes === null ? undefined : described.get(describes);
    if (before === undefined) {
      if (describes !== null) described.set(describes, { at: texts.length, parts: 1 });
      texts.push(describes === null ? text : shortened(text, PART));
    } else if (before.parts <= PARTS) {
      before.parts += 1;
      texts[before.at] += before.parts > PARTS ? ', …' : `, ${shortened(text, PART)}`;
    }
  }
  return texts;
}

/** What rules get of it. */
const LISTED = 12;
const LONGEST = 256;
/** What the policy engine hands to the rules, of any tool. */
export const createMoneyFacts = (readName: NameReader) => {
  const readMoney = createMoneyReader(readName);
  return (args: unknown, tool: string, checkpoint: Checkpoint = unlimited): MoneyInArguments => {
    const found = readMoney(readArguments(args, checkpoint), tool, 'looks', checkpoint);
    const { payees } = found;
    const amounts = found.amounts.filter(({ label }) => label !== 'count');
    const shown = (text: string): string => clipped(text, LONGEST);
    return {
      amounts: amounts
        .slice(0, LISTED)
        .map(({ amount, currency }) => ({ amount: shown(amount), currency: currency && shown(currency) })),
      payees: payees.slice(0, LISTED).map(shown),
      more: amounts.length > LISTED || payees.length > LISTED,
    };
  };
};
