import type { CallTraits } from './traits.js';

/**
 * What Gate remembers of the calls of one tool by one agent, and of all calls of one agent: a fixed number of samples, so that neither time
 * nor traffic makes it larger. It is only taught calls that ran (docs/architecture/drift.md).
 */
export interface ToolProfile {
  readonly v: 1;
  /** Oldest first. */
  readonly samples: readonly Sample[];
  /** Whom its calls reached, the latest last. */
  readonly known: readonly KnownDestination[];
  /** How much was usual at the end of the last day with samples, by currency: it grows by no more than `GROWTH` from day to day. */
  readonly usual: Readonly<Record<string, Usual>>;
}

export interface Sample {
  readonly day: number;
  readonly amounts: Readonly<Record<string, number>>;
  readonly shape: string;
  readonly after: string | null;
  readonly large: boolean;
  /** Whether it reached somebody for the first time; `null` when it reached nobody. */
  readonly fresh: boolean | null;
}
export interface KnownDestination {
  readonly key: string;
  readonly look: string;
  /** The last day on which it was reached, and the first one; an earlier Gate did not write that. */
  readonly last: number;
  readonly first?: number;
}
export interface Usual {
  readonly day: number;
  readonly value: number;
}

export interface AgentProfile {
  readonly v: 1;
  /** On how many days it called in each hour of the day (UTC), and on which last. */
  readonly hours: readonly { readonly days: number; readonly last: number }[];
  readonly days: number;
  readonly last: number;
  readonly tools: readonly string[];
}

/** What is known of an agent when one of its calls is judged. */
export interface AgentsProfiles {
  readonly agent: AgentProfile | null;
  readonly tools: ReadonlyMap<string, ToolProfile>;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** One day fills an eighth of the samples, so that a median is never that of a single day. */
export const SAMPLES = 128;
export const SAMPLES_PER_DAY = 16;
export const DESTINATIONS = 256;
/** New ones of a day that are remembered: more would push out, in one day, those that are known. */
export const DESTINATIONS_PER_DAY = 32;
/** Tools of one agent that are remembered. None makes room for another: calls of invented names would push out the ones that matter. */
export const TOOLS = 64;
/** As many as eight of all samples can have. */
const UNITS = 16;
/** Fewer observations say nothing. */
export const ENOUGH = 8;
/** How much more what is usual may become from one day with calls to the next. */
export const GROWTH = 1.25;

export const dayOf = (atMs: number): number => Math.floor(atMs / DAY_MS);
export const hourOf = (atMs: number): number => Math.floor((((atMs % DAY_MS) + DAY_MS) % DAY_MS) / HOUR_MS);

export const NO_CALLS: ToolProfile = { v: 1, samples: [], known: [], usual: {} };
const NEVER = -1;
export const NO_AGENT: AgentProfile = {
  v: 1,
  hours: Array.from({ length: 24 }, () => ({ days: 0, last: NEVER })),
  days: 0,
  last: NEVER,
  tools: [],
};

/** The profile after one more call; the same object when the call teaches it nothing new. */
export function toolLearned(profile: ToolProfile, traits: CallTraits, atMs: number): ToolProfile {
  const day = dayOf(atMs);
  const known = reached(profile.known, traits, day);
  const isSampled = profile.samples.filter((sample) => sample.day === day).length < SAMPLES_PER_DAY;
  if (!isSampled) return known === profile.known ? profile : { ...profile, known };
  const begins = (profile.samples.at(-1)?.day ?? NEVER) < day;
  return {
    v: 1,
    samples: [...profile.samples, sampleOf(profile, traits, day)].slice(-SAMPLES),
    known,
    usual: begins ? usualAfter(profile, day) : profile.usual,
  };
}

function sampleOf({ known }: ToolProfile, traits: CallTraits, day: number): Sample {
  const keys = new Set(known.map(({ key }) => key));
  return {
    day,
    amounts: Object.fromEntries(traits.amounts.flatMap(({ unit, size }) => (size ? [[unit, size]] : []))),
    shape: traits.shape,
    after: traits.after,
    large: traits.large,
    fresh: traits.destinations.length === 0 ? null : traits.destinations.some(({ key }) => !keys.has(key)),
  };
}

function reached(
  known: readonly KnownDestination[],
  { destinations }: CallTraits,
  day: number,
): readonly KnownDestination[] {
  const before = new Map(known.map((one) => [one.key, one]));
  let free = DESTINATIONS_PER_DAY - known.filter(({ first }) => first === day).length;
  const now = destinations.flatMap(({ key, look }): KnownDestination[] => {
    const one = before.get(key);
    if (one) return one.last === day ? [] : [{ ...one, look, last: day }];
    free -= 1;
    return free < 0 ? [] : [{ key, look, last: day, first: day }];
  });
  if (now.length === 0) return known;
  const moved = new Set(now.map(({ key }) => key));
  return [...known.filter(({ key }) => !moved.has(key)), ...now].slice(-DESTINATIONS);
}

/** At the beginning of a day: what the days before it say, held back. */
function usualAfter(profile: ToolProfile, day: number): ToolProfile['usual'] {
  const counts = new Map<string, number>();
  for (const { amounts } of profile.samples)
    for (const unit of Object.keys(amounts)) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  // Those that are known already make room for none: what held them would be forgotten.
  const isKnown = (unit: string): number => (Object.hasOwn(profile.usual, unit) ? 1 : 0);
  const units = [...counts]
    .toSorted(([one, few], [other, many]) => isKnown(other) - isKnown(one) || many - few)
    .slice(0, UNITS)
    .map(([unit]) => unit);
  return Object.fromEntries(
    units.flatMap((unit): [string, Usual][] => {
      const sizes = sizesOf(profile, unit);
      const before = Object.hasOwn(profile.usual, unit) ? profile.usual[unit] : undefined;
      if (sizes.length < ENOUGH) return before ? [[unit, before]] : [];
      const value = before ? Math.min(median(sizes), before.value * GROWTH) : median(sizes);
      return [[unit, { day, value }]];
    }),
  );
}

export const sizesOf = ({ samples }: Pick<ToolProfile, 'samples'>, unit: string): readonly number[] =>
  samples.flatMap(({ amounts }) => (Object.hasOwn(amounts, unit) ? [amounts[unit] as number] : []));

/** Of at least one number. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] as number;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
}

/** The same object when the call teaches it nothing new. A tool beyond the limit is not remembered. */
export function agentLearned(profile: AgentProfile, tool: string, atMs: number): AgentProfile {
  const day = dayOf(atMs);
  const hour = hourOf(atMs);
  const isNew = !profile.tools.includes(tool) && profile.tools.length < TOOLS;
  if (!isNew && (profile.hours[hour]?.last ?? NEVER) >= day) return profile;
  return {
    v: 1,
    hours: profile.hours.map((one, at) => (at === hour && one.last < day ? { days: one.days + 1, last: day } : one)),
    days: profile.last < day ? profile.days + 1 : profile.days,
    last: Math.max(profile.last, day),
    tools: isNew ? [...profile.tools, tool] : profile.tools,
  };
}
