import type { JsonObject } from '../../../contracts/json.js';
import { type Leaf, readArguments } from '../../argument-values.js';
import { sha256Hex } from '../../crypto/digest.js';
import { LOOKED_AT_IN_PLACE, sizeOf } from '../../large.js';
import { unitOf } from '../../money/currency-units.js';
import { inUnits } from '../../money/minor-units.js';
import { magnitudeOf } from '../../money/money-values.js';
import type { Amount, MoneyReader } from '../../money/read-money.js';
import { clipped, words } from '../../text.js';
import { digitsAsLetters, skeletonWords } from '../../skeleton.js';

/** Somebody or some place that a call reaches, as hashes: `key` of its name, `look` of how the name looks. */
export interface Destination {
  readonly key: string;
  readonly look: string;
}

/**
 * What a call does, in a few numbers and hashes. It is stored with the call's record and, once the call has run, taught to its agent's profile.
 * No argument is in it in clear text except the sums of money.
 */
export interface CallTraits {
  readonly tool: string;
  /** The tool that this agent called before; `null` when none is known. */
  readonly after: string | null;
  /** The sum of each currency; `size` is `null` when an amount cannot be read as a number. */
  readonly amounts: readonly { readonly unit: string; readonly size: number | null }[];
  readonly destinations: readonly Destination[];
  /** A hash of the arguments' names and types. */
  readonly shape: string;
  /** Its arguments are larger than is compared, and nothing else was read of them. */
  readonly large: boolean;
}

export interface ObservedCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** Reads the traits of a call of a tenant. Takes linear time in at most `LOOKED_AT_IN_PLACE` characters. */
export type TraitsReader = (tenant: string, call: ObservedCall, after: string | null) => CallTraits;

const LONGEST_TOOL = 256;
const MOST_UNITS = 4;
const MOST_DESTINATIONS = 16;
const MOST_NAMES = 64;
/** Amounts of further currencies are added under this name. */
const OTHER_UNITS = '+';

export const createTraitsReader =
  (moneyIn: MoneyReader): TraitsReader =>
  (tenant, call, after) => {
    const tool = clipped(call.tool, LONGEST_TOOL);
    const nothing = { tool, after: after && clipped(after, LONGEST_TOOL), amounts: [], destinations: [] };
    if (sizeOf(call.arguments) > LOOKED_AT_IN_PLACE) return { ...nothing, shape: '', large: true };
    const read = readArguments(call.arguments);
    const { amounts, payees } = moneyIn(read, call.tool, 'looks');
    const reached = [...payees.flatMap((payee) => placesOf(payee) ?? payee), ...read.leaves.flatMap(placesIn)];
    return {
      ...nothing,
      amounts: sumsOf(amounts),
      destinations: destinationsOf(tenant, reached),
      shape: shapeOf(read.leaves),
      large: false,
    };
  };

function sumsOf(amounts: readonly Amount[]): CallTraits['amounts'] {
  const sums = new Map<string, number | null>();
  for (const one of amounts) {
    if (one.label === 'count') continue;
    const own = unitOf(one);
    const unit = sums.has(own) || sums.size < MOST_UNITS ? own : OTHER_UNITS;
    const size = sizeOfAmount(one);
    const before = sums.get(unit);
    sums.set(unit, size === null || before === null ? null : (before ?? 0) + size * one.times);
  }
  return [...sums].map(([unit, size]) => ({ unit, size }));
}

function sizeOfAmount(one: Amount): number | null {
  const written = inUnits(one) ?? one.amount;
  const size = one.isNumber ? Math.abs(Number(written)) : magnitudeOf(written);
  return Number.isFinite(size) ? size : null;
}

const HOSTS = words('host hostname hosts server domain endpoint ip');
const LONGEST_PLACE = 2_048;
const URL_BEGINS = /^[a-z][a-z0-9+.-]{1,15}:\/\//i;
const ADDRESS = /^[^\s@<>,;]{1,64}@[^\s@<>,;]{1,255}$/;

/** The host of an address on the web, the addresses of a mail; `null` for any other text. One that mentions some says nothing of where a call goes. */
function placesOf(given: string): readonly string[] | null {
  if (given.length > LONGEST_PLACE) return null;
  const text = given.trim();
  if (URL_BEGINS.test(text)) {
    const host = URL.parse(text)?.hostname ?? '';
    return host === '' ? null : [host];
  }
  if (!text.includes('@')) return null;
  const parts = text.split(/[,;]/).map(mailboxOf);
  return parts.every((part) => ADDRESS.test(part)) ? parts : null;
}

function placesIn({ value, words: named }: Leaf): readonly string[] {
  if (typeof value !== 'string') return [];
  const isHost = HOSTS.has(named.at(-1) ?? '') && value.length <= LONGEST_PLACE && !/\s/.test(value.trim());
  return placesOf(value) ?? (isHost ? [value] : []);
}

/** `a@b.example` of `Ann Ba <a@b.example>`. */
function mailboxOf(part: string): string {
  const text = part.trim();
  const open = text.lastIndexOf('<');
  return open >= 0 && text.endsWith('>') ? text.slice(open + 1, -1) : text;
}

function destinationsOf(tenant: string, names: readonly string[]): readonly Destination[] {
  const found = new Map<string, Destination>();
  for (const name of names) {
    if (found.size >= MOST_DESTINATIONS) break;
    const plain = plainly(name);
    if (plain === '') continue;
    const key = hashOf('destination', tenant, plain).slice(0, 24);
    found.set(key, { key, look: hashOf('look', tenant, looksLike(plain)).slice(0, 16) });
  }
  return [...found.values()];
}

/** One spelling of a name: letter case, blanks and characters that nobody sees make no other destination. */
const plainly = (name: string): string =>
  clipped(name, LONGEST_PLACE)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\p{Default_Ignorable_Code_Point}\s]/gu, '');

/** From this length on a name is compared by its look: of shorter ones too many look alike. */
const COMPARED_FROM = 6;
function looksLike(plain: string): string {
  const look = skeletonWords(plain).trim();
  const letters = look.replaceAll(' ', '').length;
  // Scripts that the skeleton leaves out look like nothing else.
  const isWhole = letters >= COMPARED_FROM && letters >= plain.replaceAll(/[^\p{L}\p{N}]/gu, '').length;
  return isWhole ? digitsAsLetters(look) : plain;
}

function shapeOf(leaves: readonly Leaf[]): string {
  const names = new Set<string>();
  for (const { path, value } of leaves) {
    if (names.size >= MOST_NAMES) break;
    names.add(`${path.join('.')}:${typeof value}`);
  }
  return hashOf('shape', '', [...names].toSorted().join('\n')).slice(0, 16);
}

/** Salted with the tenant, so that what one tenant's agents reach says nothing of another's. */
const hashOf = (what: string, tenant: string, text: string): string => sha256Hex(`gate.${what}/1\0${tenant}\0${text}`);
