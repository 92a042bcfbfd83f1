import type { Group, Leaf } from '../argument-values.js';
import { shortened, words } from '../text.js';
import type { NameSays } from './money-names.js';
import { isCurrency } from './money-values.js';

/** A currency that the arguments name, and the object whose amounts it is for. */
export interface CurrencyNamed {
  readonly group: Group | null;
  readonly text: string;
  /** It is the code of one. Beside a code its symbol and its name say nothing new. */
  readonly isCode: boolean;
  /** Its name means nothing else, so that it makes money of a number beside it. */
  readonly isOutright: boolean;
  /** It stands in a note, and is for the amounts in there. */
  readonly isNote: boolean;
}

const LONGEST = 256;
const OUTER_LEVELS = 4;
const MEMBERS = words('code id iso symbol name ticker value');
const CODE = /^[A-Z][A-Z0-9]{1,7}$/;

/** `{"currency": "EUR"}`, `{"currency": {"code": "EUR"}}`, `{"token": "BTC"}`. */
export function currencyNamed({ group, value, name }: Leaf, names: readonly NameSays[]): CurrencyNamed | null {
  const [says, above] = [names.at(-1), names.at(-2)];
  if (typeof value !== 'string' || says === undefined) return null;
  const text = shortened(value.trim(), LONGEST);
  if (text === '') return null;
  const isCode = isCurrency(text) || CODE.test(text);
  const isNote = names.some(({ note }) => note);
  if (says.currency) return { group, text, isCode, isOutright: true, isNote };
  const isMember = MEMBERS.has(name) && (above?.currency === true || above?.asset === 'asset');
  // An id of a row says nothing.
  if (isMember && !/\D/.test(text)) return null;
  if (isMember && above.currency) return { group: group?.outer ?? null, text, isCode, isOutright: true, isNote };
  const asset = isMember ? above.asset : says.asset;
  if (asset === null || !isCode || (asset === 'symbol' && !isCurrency(text))) return null;
  return { group: isMember ? (group?.outer ?? null) : group, text, isCode, isOutright: false, isNote };
}

/**
 * The currency of an amount: by the amount's own name, and that of its object, of an object around it, or the only one that is named
 * elsewhere. Where these differ, all are told.
 */
export function currenciesIn(named: readonly CurrencyNamed[]) {
  const known = new Map<Group | null, CurrencyNamed[]>();
  const outright = new Set<Group | null>();
  for (const one of named) {
    if (one.isOutright) outright.add(one.group);
    const others = known.get(one.group);
    if (others) others.push(one);
    else known.set(one.group, [one]);
  }
  const told = new Map<Group | null, readonly string[]>();
  const elsewhere: string[] = [];
  for (const [group, all] of known) {
    const codes = all.filter(({ isCode }) => isCode);
    // More than are told need not be kept: an amount takes them for each of its own.
    const few = different((codes.length > 0 ? codes : all).map(({ text }) => text)).slice(0, TOLD + 1);
    told.set(group, few);
    if (!all.every(({ isNote }) => isNote)) elsewhere.push(...few);
  }
  const [only, ...others] = different(elsewhere);
  const around = (group: Group | null): readonly string[] => {
    let here = group;
    for (let level = 0; here !== null && level < OUTER_LEVELS; level += 1) {
      const found = told.get(here);
      if (found) return found;
      here = here.outer;
    }
    return only !== undefined && others.length === 0 ? [only] : [];
  };
  return {
    beside: (group: Group | null): boolean => outright.has(group),
    of(group: Group | null, own: string | null): { readonly currency: string | null; readonly isSeveral?: true } {
      const all = different([...around(group), ...(own === null ? [] : [own])]);
      return all.length > 1
        ? {
            currency: `several currencies (${all.slice(0, TOLD).join(', ')}${all.length > TOLD ? ', …' : ''})`,
            isSeveral: true,
          }
        : { currency: all[0] ?? null };
    },
  };
}
const TOLD = 3;

/** Each once, in whatever case. */
function different(texts: readonly string[]): readonly string[] {
  const kept = new Map<string, string>();
  for (const text of texts) if (!kept.has(text.toUpperCase())) kept.set(text.toUpperCase(), text);
  return [...kept.values()];
}
