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
import { toolTokens } from '../inspection/tool-shape.js';
import { clipped, words } from '../text.js';
import { withMoneyForms } from './money-forms.js';
import type { NameReader, NameSays } from './money-names.js';
import { isCurrency, isDate, looksLikeMoney, saysAmount } from './money-values.js';

export interface Amount {
  readonly amount: string;
  readonly currency: string | null;
  /** How often it stands there. */
  readonly times: number;
}

/** The money in the arguments of one call: each amount and each payee once, in the order in which they stand. */
export interface MoneyFound {
  readonly amounts: readonly Amount[];
  readonly payees: readonly string[];
}

/**
 * Reads how much the arguments name, and for whom, at every level and in JSON that is packed in texts. `isPayment` says of the tool that it
 * pays: then every amount and everybody counts, also names that mean other things elsewhere. Takes linear time.
 */
export type MoneyReader = (
  read: ReadArguments,
  tool: string,
  isPayment: boolean,
  checkpoint?: Checkpoint,
) => MoneyFound;

/** Names of a member that holds the value, in an object whose other member has the name: `{"name": "amount", "value": 5}`. */
const VALUE_NAMES = words('value val content values data');
const NAME_NAMES = words('name key field label id param parameter argument property');
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
  readonly amount: NameSays['amount'];
  readonly payee: NameSays['payee'];
  /** The object that describes the payee it is a part of. */
  readonly describes: Group | null;
  /** Of a detail (`type`, `day`): it counts where this object, or null for the whole call, gives nothing else. */
  readonly instead: Group | null | undefined;
}

export function createMoneyReader(readName: NameReader): MoneyReader {
  return ({ leaves, groups }, tool, isPayment, checkpoint = unlimited) => {
    const pairs = new Map<Group, ArgumentName>();
    for (const [at, group] of groups.entries()) {
      if (at % LEAVES_PER_CHECKPOINT === 0) checkpoint();
      const name = pairOf(group);
      if (name !== undefined && saysSomething(readName(name))) pairs.set(group, name);
    }
    const said: Said[] = [];
    for (const [at, leaf] of withMoneyForms(leaves).entries()) {
      if (at % LEAVES_PER_CHECKPOINT === 0) checkpoint();
      for (const field of fieldsOf(leaf)) {
        const one = saidOf(field, field.names.map(readName));
        if (one) said.push(one);
      }
      const paired = leaf.group && VALUE_NAMES.has(leaf.name) ? pairs.get(leaf.group) : undefined;
      const names = paired ? [...leaf.names.slice(0, -1), paired] : leaf.names;
      const one = saidOf(leaf, names.map(readName));
      if (one) said.push(one);
    }
    const asks = (known: ReadonlySet<string>): boolean =>
      !isPayment && toolTokens(tool).some((word) => known.has(word));
    return weighed(said, { isPayment, isTravel: asks(TRAVELS), isRate: asks(RATES) });
  };
}

const saysSomething = ({ amount, payee, currency }: NameSays): boolean => amount !== null || payee !== null || currency;

function pairOf({ members }: Group): ArgumentName | undefined {
  if (!members.some(([name]) => VALUE_NAMES.has(name.toLowerCase()))) return undefined;
  const named = members.find(([name, value]) => NAME_NAMES.has(name.toLowerCase()) && typeof value === 'string');
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
  if (says === undefined || typeof value === 'boolean' || isDate(value)) return null;
  const asAmount = amountOf(says, names);
  const isAmount = saysHowMuch(value, says, asAmount);
  const below = isAmount || isAside(says) ? -1 : payeeAbove(names);
  const payee = isAmount ? null : (says.payee ?? (says.amount === null ? (names[below]?.payee ?? null) : null));
  const isPayee = payee !== null && String(value).trim() !== '';
  if (!isAmount && !isPayee) {
    const instead = detailOf(leaf, says, names);
    if (instead) return instead;
    if (!says.currency && !says.origin && says.bound === null) return null;
  }
  return {
    leaf,
    says,
    amount: isAmount ? asAmount : null,
    payee: isPayee ? payee : null,
    describes: isPayee && below >= 0 ? described(leaf, below + 1, says.payee === null) : null,
    instead: undefined,
  };
}

/** A detail that may hold what the object around it should say: `{"amount": {"day": 90000}}`, `{"payee": {"type": "DE1"}}`. */
function detailOf(leaf: Leaf, says: NameSays, names: readonly NameSays[]): Said | null {
  const { value } = leaf;
  if (!isAside(says) || typeof value === 'boolean') return null;
  const above = names.findLastIndex((one, at) => at < names.length - 1 && !isAside(one) && saysWhoOrHowMuch(one));
  const { amount, payee } = names[above] ?? { amount: null, payee: null };
  const isCode = typeof value === 'string' && (isCurrency(value) || CODE.test(value.trim()));
  if (amount === 'amount' || amount === 'price')
    return saysAmount(value)
      ? { leaf, says, amount, payee: null, describes: null, instead: described(leaf, above + 1, true) }
      : null;
  const who = payee === 'party' ? null : (payee ?? says.payeeBehind);
  if (who === null || isCode || String(value).trim() === '') return null;
  const around = payee === null ? null : described(leaf, above + 1, true);
  return { leaf, says, amount: null, payee: who, describes: around, instead: around };
}
const CODE = /^[a-z]{2}$/i;

const saysWhoOrHowMuch = ({ amount, payee }: NameSays): boolean => amount !== null || payee !== null;
const isAside = ({ detail, currency, bound }: NameSays): boolean => detail || currency || bound !== null;
const payeeAbove = (names: readonly NameSays[]): number =>
  names.findLastIndex(({ payee }, at) => payee !== null && at < names.length - 1);

function amountOf(says: NameSays, names: readonly NameSays[]): NameSays['amount'] {
  if (says.amount === 'amount' || (says.payee !== null && says.amount === null)) return says.amount;
  if (says.whole && names.at(-2)?.amount === 'price') return 'price';
  if ((says.detail && !says.whole) || says.currency) return says.amount;
  if (names.some(({ amount }) => amount === 'amount')) return 'amount';
  return says.amount === 'count' && names.at(-2)?.amount === 'price' ? 'price' : says.amount;
}

/** The ends of a span are looked for. A highest amount may be what is paid as well, if no lowest one stands beside it. */
function saysHowMuch(value: string | number, { bound }: NameSays, amount: NameSays['amount']): boolean {
  if (amount === null || bound === 'lowest') return false;
  return amount === 'amount' ? saysAmount(value) : bound === null && looksLikeMoney(value);
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
  readonly isTravel: boolean;
  readonly isRate: boolean;
}

/** Without the details of objects that give an amount or somebody otherwise. */
function withoutDetails(said: readonly Said[]): readonly Said[] {
  if (said.every(({ instead }) => instead === undefined)) return said;
  const given = { amount: new Set<Group | null>(), payee: new Set<Group | null>() };
  for (const { leaf, instead, amount, payee } of said) {
    const known = amount !== null ? given.amount : payee !== null ? given.payee : null;
    if (instead !== undefined || known === null) continue;
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
function weighed(all: readonly Said[], { isPayment, isTravel, isRate }: About): MoneyFound {
  const said = withoutDetails(all);
  const currencyOf = currenciesIn(said);
  const [origins, lowest] = [new Set<Group | null>(), new Set<Group | null>()];
  for (const { leaf, says } of said) {
    if (says.origin && isCurrency(leaf.value)) origins.add(leaf.group);
    if (says.bound === 'lowest') lowest.add(leaf.group);
  }
  // "from": "EUR", "to": "USD" is a rate that is asked for.
  const payees = said.filter(
    ({ leaf, payee }) =>
      payee !== null && !(isRate && payee !== 'payee' && isCurrency(leaf.value) && origins.has(leaf.group)),
  );
  const isOutright = isPayment || payees.some(({ payee }) => payee === 'payee');
  const isDirected = isPayment || payees.some(({ payee }) => payee !== 'party');
  const counted = said.filter(({ amount, leaf: { group }, says }) => {
    if (amount === null || (says.bound === 'highest' && lowest.has(group))) return false;
    if (amount === 'amount' || isOutright) return true;
    if (amount === 'count') return currencyOf.beside(group);
    return isDirected && !isTravel;
  });
  const isSure = isPayment || counted.some(({ amount }) => amount !== 'price');
  return moneyTogether(
    counted.map(({ leaf: { value, group } }) => ({
      amount: String(value).trim(),
      currency: currencyOf.of(group),
      times: 1,
    })),
    textsOf(payees.filter(({ payee }) => payee !== 'party' || isSure)),
  );
}

/** Each amount and each payee once. */
export function moneyTogether(amounts: readonly Amount[], payees: readonly string[]): MoneyFound {
  const kept = new Map<string, Amount>();
  for (const one of amounts) {
    const key = `${one.currency ?? ''} ${one.amount}`;
    kept.set(key, { ...one, times: one.times + (kept.get(key)?.times ?? 0) });
  }
  return { amounts: [...kept.values()], payees: [...new Set(payees)] };
}

/** The currency of what stands in an object: its own, that of an object around it, or the only one that is named. */
function currenciesIn(said: readonly Said[]) {
  const known = new Map<Group | null, string>();
  for (const { leaf, says } of said)
    if (says.currency && typeof leaf.value === 'string' && leaf.value.trim() !== '' && !known.has(leaf.group))
      known.set(leaf.group, leaf.value.trim());
  const [first = null, ...others] = new Set(known.values());
  return {
    beside: (group: Group | null): boolean => known.has(group),
    of(group: Group | null): string | null {
      let here = group;
      for (let level = 0; here !== null && level < OUTER_LEVELS; level += 1) {
        const found = known.get(here);
        if (found !== undefined) return found;
        here = here.outer;
      }
      return others.length === 0 ? first : null;
    },
  };
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
      texts.push(describes === null ? text : clipped(text, PART));
    } else if (before.parts <= PARTS) {
      before.parts += 1;
      texts[before.at] += before.parts > PARTS ? ', …' : `, ${clipped(text, PART)}`;
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
    const { amounts, payees } = readMoney(readArguments(args, checkpoint), tool, false, checkpoint);
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
