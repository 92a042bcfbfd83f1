import type { Behaviour, BehaviourReason } from '../../../contracts/inspection.js';
import { canonicalJson, sha256Hex } from '../../crypto/digest.js';
import {
  type AgentProfile,
  type AgentsProfiles,
  dayOf,
  ENOUGH,
  GROWTH,
  hourOf,
  median,
  NO_CALLS,
  type Sample,
  sizesOf,
  type ToolProfile,
} from './profile.js';
import type { CallTraits } from './traits.js';

/** What each reason adds, in basis points. A person is asked from 4,500 on (`persona_drift.review_from` of the policy's data). */
const WEIGHTS = {
  amount_far: 4_500,
  amount_unread: 4_500,
  currency: 4_500,
  size: 4_500,
  look_alike: 4_500,
  amount: 2_500,
  destination: 2_500,
  tool: 1_500,
  hour: 1_500,
  order: 1_500,
  shape: 1_500,
} as const satisfies Readonly<Record<BehaviourReason['kind'], number>>;
/** What is unusual is for a person, and is never by itself a refusal: the hard threshold of persona drift is above this. */
const HIGHEST = 6_000;

/** So many times the usual spread above what is usual; the spread is that of the logarithms. */
const ABOVE = 3;
const FAR_ABOVE = 5;
/** An agent that always pays the same may pay a little more, and one that pays anything is still held to something. */
const SPREAD = { least: 0.3, most: 0.8 } as const;
/** An amount is known when as much was paid before in so large a share of the calls. */
const KNOWN_SHARE = 0.05;
/** A new destination, predecessor or shape says something of an agent only where new ones are rare. */
const RARE = 0.2;
/** Orders and shapes vary more. */
const ENOUGH_CALLS = 20;
const ENOUGH_DAYS = 7;
/** From so many days on the first call of another tool is told. */
const SETTLED_DAYS = 3;

/**
 * How far a call is from what its agent did before: reasons that a person can read, each from at least `ENOUGH` earlier calls of the same tool.
 * Deterministic: the same traits, profile and time give the same answer, and `profile_sha256` names the profile. Not `available` when nothing
 * can be said yet.
 */
export function compareWithHistory(traits: CallTraits, profiles: AgentsProfiles, atMs: number): Behaviour {
  const profile = profiles.tools.get(traits.tool) ?? NO_CALLS;
  const { agent } = profiles;
  const isKnown = profile.samples.length >= ENOUGH;
  const reasons = [
    ...(isKnown && traits.large && !countedOf(profile).hasLarge ? [tooLarge(profile)] : []),
    ...(traits.large ? [] : amountReasons(traits, profile, dayOf(atMs))),
    ...(traits.large ? [] : destinationReasons(traits, profile)),
    ...(agent ? agentReasons(traits, agent, atMs) : []),
    ...(isKnown ? habitReasons(traits, profile) : []),
  ];
  const isFirst = agent !== null && agent.days >= SETTLED_DAYS;
  return {
    available: isKnown || isFirst || reasons.length > 0,
    score_bp: Math.min(
      HIGHEST,
      reasons.reduce((sum, { kind }) => sum + WEIGHTS[kind], 0),
    ),
    reasons,
    calls: profile.samples.length,
    days: agent?.days ?? 0,
    profile_sha256: agent === null ? null : sha256Hex(`${digestOf(agent)} ${countedOf(profile).digest}`),
  };
}

/** What is counted over a whole profile. */
interface Counted {
  readonly digest: string;
  readonly keys: ReadonlySet<string>;
  readonly looks: ReadonlySet<string>;
  /** Calls that reached somebody, and those of them that did so for the first time. */
  readonly sent: number;
  readonly fresh: number;
  readonly after: Habit;
  readonly shape: Habit;
  readonly hasLarge: boolean;
}
interface Habit {
  readonly calls: number;
  readonly different: ReadonlySet<string>;
}

/** A profile rarely changes, and is read at every call. */
const counted = new WeakMap<ToolProfile, Counted>();
function countedOf(profile: ToolProfile): Counted {
  const known = counted.get(profile);
  if (known) return known;
  const { samples } = profile;
  const sent = samples.flatMap(({ fresh }) => (fresh === null ? [] : [fresh]));
  const made: Counted = {
    digest: sha256Hex(canonicalJson(profile as never)),
    keys: new Set(profile.known.map(({ key }) => key)),
    looks: new Set(profile.known.map(({ look }) => look)),
    sent: sent.length,
    fresh: sent.filter((one) => one).length,
    after: habitOf(samples.flatMap(({ after }) => after ?? [])),
    shape: habitOf(samples.flatMap(({ shape, large }) => (large ? [] : [shape]))),
    hasLarge: samples.some(({ large }) => large),
  };
  counted.set(profile, made);
  return made;
}
const habitOf = (all: readonly string[]): Habit => ({ calls: all.length, different: new Set(all) });

const agentDigests = new WeakMap<AgentProfile, string>();
function digestOf(agent: AgentProfile): string {
  const digest = agentDigests.get(agent) ?? sha256Hex(canonicalJson(agent as never));
  agentDigests.set(agent, digest);
  return digest;
}

/** Of several calls of one request the worst score counts, and every reason is told with its call. */
export function worstBehaviour(found: readonly Behaviour[]): Behaviour {
  const [first] = found;
  if (first === undefined || found.length === 1) return first ?? NOTHING_KNOWN;
  const worst = found.reduce((a, b) => (b.score_bp > a.score_bp ? b : a));
  const told = found.flatMap(({ reasons }, at) =>
    reasons.map(({ kind, text }) => ({ kind, text: `call ${at + 1}: ${text}` })),
  );
  const read = found.flatMap(({ profile_sha256 }) => profile_sha256 ?? []);
  return {
    ...worst,
    available: found.every(({ available }) => available),
    reasons: told.slice(0, MOST_TOLD),
    profile_sha256: read.length === 0 ? null : sha256Hex(read.join(' ')),
  };
}
const MOST_TOLD = 16;

const NOTHING_KNOWN: Behaviour = {
  available: false,
  score_bp: 0,
  reasons: [],
  calls: 0,
  days: 0,
  profile_sha256: null,
};

const tooLarge = ({ samples }: ToolProfile): BehaviourReason => ({
  kind: 'size',
  text: `arguments larger than are compared, which none of ${samples.length} calls of this tool had`,
});

function amountReasons(traits: CallTraits, profile: ToolProfile, today: number): readonly BehaviourReason[] {
  return traits.amounts.flatMap(({ unit, size }): BehaviourReason[] => {
    const own = sizesOf(profile, unit);
    const most = held(profile, unit, today);
    // Calls of one day make no currency known, once there are days before: nothing would hold what they teach.
    if (own.length >= ENOUGH && (most !== null || Object.keys(profile.usual).length === 0)) {
      if (size === null) return [unread(own.length)];
      const reason = amountReason(size, profile.samples, unit, most, today);
      return reason ? [reason] : [];
    }
    // The number is compared with those of all others: writing "XYZ" behind it makes it no smaller.
    const others = inOneUnit(profile.samples, unit);
    const all = sizesOf({ samples: others }, ANY_UNIT);
    if (all.length < ENOUGH && own.length < ENOUGH) return [];
    if (size === null) return [unread(all.length + own.length)];
    const known = all.length >= ENOUGH ? others : inOneUnit(profile.samples, null);
    const reason = amountReason(size, known, ANY_UNIT, heldOfOthers(profile, unit, today), today);
    // What the number is worth, nobody here knows.
    const isMore = size > 0 && knownOf(profile, unit, today) * AS_MUCH < size;
    return [
      ...(reason ? [{ ...reason, text: `${reason.text}, in a currency that is new here` }] : []),
      ...(isMore ? [newCurrency(unit, own.length, profile)] : []),
    ];
  });
}

/** So much more is as much. */
const AS_MUCH = 1.5;
/**
 * The largest of a currency before today, and else the first one of today: were each call held to the largest, those of one day would carry one
 * another up.
 */
function knownOf({ samples }: ToolProfile, unit: string, today: number): number {
  const before = sizesOf({ samples: samples.filter(({ day }) => day < today) }, unit);
  return before.length > 0 ? Math.max(...before) : (sizesOf({ samples }, unit)[0] ?? 0);
}
const unread = (calls: number): BehaviourReason => ({
  kind: 'amount_unread',
  text: `the amount cannot be read, and those of ${calls} calls before could be`,
});
const newCurrency = (unit: string, own: number, { samples }: ToolProfile): BehaviourReason => ({
  kind: 'currency',
  text:
    own === 0 && unit === ''
      ? `an amount without a currency, which none of ${samples.length} calls of this tool left out`
      : own === 0
        ? `an amount in a currency that none of ${samples.length} calls of this tool had`
        : `more in its currency than is known of the ${own} of ${samples.length} calls of this tool that had it`,
});

const ANY_UNIT = '*';
/** The samples with the largest number of each, whatever its currency, but for those of one. They rarely change, and are made again at every call. */
const inAnyUnit = new WeakMap<readonly Sample[], Map<string | null, readonly Sample[]>>();
function inOneUnit(samples: readonly Sample[], except: string | null): readonly Sample[] {
  const of = inAnyUnit.get(samples) ?? new Map<string | null, readonly Sample[]>();
  inAnyUnit.set(samples, of);
  const made =
    of.get(except) ??
    samples.map((sample) => {
      const sizes = Object.entries(sample.amounts).flatMap(([unit, size]) => (unit === except ? [] : [size]));
      return { ...sample, amounts: sizes.length === 0 ? {} : { [ANY_UNIT]: Math.max(...sizes) } };
    });
  if (of.size >= MOST_USUAL) of.clear();
  of.set(except, made);
  return made;
}

/** As much as the currency that may have most. */
function heldOfOthers(profile: ToolProfile, unit: string, today: number): number | null {
  const all = Object.keys(profile.usual).flatMap((one) => (one === unit ? [] : (held(profile, one, today) ?? [])));
  return all.length === 0 ? null : Math.max(...all);
}

/** How much may be usual today, by what was usual before; `null` when the tool has no day behind it. */
function held({ usual }: ToolProfile, unit: string, today: number): number | null {
  const before = Object.hasOwn(usual, unit) ? usual[unit] : undefined;
  if (before === undefined) return null;
  return before.day < today ? before.value * GROWTH : before.value;
}

interface UsualSizes {
  readonly sizes: readonly number[];
  readonly middle: number;
  readonly spread: number;
}
/** By the samples, which rarely change; of the day that is asked about. */
const usualSizes = new WeakMap<readonly Sample[], Map<string, UsualSizes>>();
const MOST_USUAL = 8;
function usualOf(samples: readonly Sample[], unit: string, today: number): UsualSizes {
  const of = usualSizes.get(samples) ?? new Map<string, UsualSizes>();
  usualSizes.set(samples, of);
  const key = `${unit} ${today}`;
  const known = of.get(key);
  if (known) return known;
  // What an agent does today does not move what its calls of today are held to, once there are days before.
  const earlier = sizesOf({ samples: samples.filter(({ day }) => day < today) }, unit);
  const sizes = earlier.length >= ENOUGH ? earlier : sizesOf({ samples }, unit);
  const middle = median(sizes);
  const spread = median(sizes.map((one) => Math.abs(Math.log(one / middle)))) * 1.4826;
  const made = { sizes, middle, spread: Math.min(SPREAD.most, Math.max(SPREAD.least, spread)) };
  if (of.size >= MOST_USUAL) of.clear();
  of.set(key, made);
  return made;
}

function amountReason(
  size: number,
  samples: readonly Sample[],
  unit: string,
  most: number | null,
  today: number,
): BehaviourReason | null {
  const { sizes, middle, spread } = usualOf(samples, unit, today);
  const usual = most === null ? middle : Math.min(middle, most);
  const above = Math.log(size / usual) / spread;
  if (!(above > ABOVE)) return null;
  const alike = sizes.filter((one) => one >= size / 1.5).length;
  if (usual === middle && alike >= Math.max(2, Math.ceil(sizes.length * KNOWN_SHARE))) return null;
  const times = timesOf(size / usual);
  return {
    kind: above > FAR_ABOVE ? 'amount_far' : 'amount',
    text:
      usual === middle
        ? `amount ${times} times the median of ${sizes.length} calls of this tool`
        : `amount ${times} times what is usual, which grows by at most ${Math.round((GROWTH - 1) * 100)} % a day whatever ${sizes.length} calls say`,
  };
}

const timesOf = (ratio: number): string =>
  ratio >= 1e9 ? 'more than a billion' : ratio >= 10 ? String(Math.round(ratio)) : ratio.toFixed(1);

function destinationReasons({ destinations }: CallTraits, profile: ToolProfile): readonly BehaviourReason[] {
  if (destinations.length === 0) return [];
  const { keys, looks, sent, fresh: before } = countedOf(profile);
  const fresh = destinations.filter(({ key }) => !keys.has(key));
  if (fresh.length === 0) return [];
  if (fresh.some(({ look }) => looks.has(look)))
    return [{ kind: 'look_alike', text: 'a destination that looks like one of before, and is another' }];
  if (sent < ENOUGH || !isRare(before, sent)) return [];
  const what = fresh.length === 1 ? 'this destination' : `${fresh.length} destinations`;
  return [
    {
      kind: 'destination',
      text: `first time to ${what}: ${sent} calls of this tool went to ${keys.size} ${keys.size === 1 ? 'other' : 'others'}`,
    },
  ];
}

/** With one more of each, so that few observations are not certain. */
const isRare = (seen: number, of: number): boolean => (seen + 1) / (of + 2) <= RARE;

function habitReasons({ after, shape, large }: CallTraits, profile: ToolProfile): readonly BehaviourReason[] {
  const isNew = (own: string, { calls, different }: Habit): boolean =>
    calls >= ENOUGH_CALLS && !different.has(own) && isRare(different.size, calls);
  const habits = countedOf(profile);
  return [
    ...(after !== null && isNew(after, habits.after)
      ? [
          {
            kind: 'order' as const,
            text: `none of ${habits.after.calls} calls of this tool came right after the tool before it`,
          },
        ]
      : []),
    ...(!large && isNew(shape, habits.shape)
      ? [
          {
            kind: 'shape' as const,
            text: `arguments of names or types that none of ${habits.shape.calls} calls of this tool had`,
          },
        ]
      : []),
  ];
}

function agentReasons({ tool }: CallTraits, agent: AgentProfile, atMs: number): readonly BehaviourReason[] {
  const { days, tools } = agent;
  return [
    ...(days >= SETTLED_DAYS && tools.length > 0 && !tools.includes(tool)
      ? [
          {
            kind: 'tool' as const,
            text: `first call of this tool: the agent called ${tools.length} ${tools.length === 1 ? 'other' : 'others'} on ${days} days`,
          },
        ]
      : []),
    ...(days >= ENOUGH_DAYS ? hourReasons(agent, hourOf(atMs)) : []),
  ];
}

/** A call within an hour of one that is known is not told. */
function hourReasons({ hours, days }: AgentProfile, hour: number): readonly BehaviourReason[] {
  const isFree = (at: number): boolean => (hours[(at + 24) % 24]?.days ?? 0) === 0;
  if (![hour - 1, hour, hour + 1].every(isFree)) return [];
  let [from, until] = [hour, hour];
  while (until - from < 23 && isFree(from - 1)) from -= 1;
  while (until - from < 23 && isFree(until + 1)) until += 1;
  return [
    {
      kind: 'hour',
      text: `no call of this agent between ${clockOf(from)} and ${clockOf(until + 1)} UTC before, on ${days} days`,
    },
  ];
}
const clockOf = (hour: number): string => `${String((hour + 48) % 24).padStart(2, '0')}:00`;
