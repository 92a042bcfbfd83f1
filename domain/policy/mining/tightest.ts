import type { Json } from '../../../contracts/json.js';
import type { ApprovedPart, ArgumentBound } from '../../../contracts/policy-mining.js';
import { canonicalJson } from '../../crypto/digest.js';
import { isWithin, type Kind, kindOf, sortOf } from './bounds.js';
import type { Layout } from './layout.js';

/** A call that people decided, as mining compares it. */
export interface SeenCall {
  readonly upstream: string | null;
  readonly agent: string;
  readonly people: readonly string[];
  /** UTC. */
  readonly day: string;
  readonly layout: Layout;
  /** Where somebody is named who is paid, a place where something goes, or the one that is meant. */
  readonly fixed: ReadonlySet<string>;
  /** Where a number counts or measures, so that those between two of them may be meant too. */
  readonly measured: ReadonlySet<string>;
}

/** How much people must have approved, by how many of them and on how many days, of how many agents: one agent teaches nothing, nor does one evening. */
export interface Support {
  readonly approvals: number;
  readonly days: number;
  readonly people: number;
  readonly agents: number;
}
/** Of a suggestion. */
export const ENOUGH: Support = { approvals: 20, days: 3, people: 2, agents: 2 };
/** Of each part of it, and of each end of a bound: so much reached it or lay beyond. */
export const ENOUGH_OF_A_PART: Support = { approvals: 3, days: 2, people: 2, agents: 2 };
/** Approvals of an agent, before it is one of a part. */
const ENOUGH_OF_AN_AGENT = 3;
/** Different texts, before their digits may be any. */
const ENOUGH_ALIKE = 20;
/** Different numbers, before what is between them is approved too. */
const ENOUGH_NUMBERS = 5;
/** Numbers that a part names one by one. */
const MOST_NAMED = 20;
const MOST_PARTS = 20;

export const supportOf = (calls: readonly SeenCall[]): Support => calls.reduce(counted, nothing()).has();
export const isEnough = (has: Support, wanted: Support = ENOUGH): boolean =>
  (Object.keys(wanted) as (keyof Support)[]).every((what) => has[what] >= wanted[what]);

interface Sorted {
  readonly call: SeenCall;
  /** In the order of the layout's values. */
  readonly kinds: readonly Kind[];
}
interface Part {
  readonly shown: ApprovedPart;
  readonly calls: readonly Sorted[];
}

/**
 * The narrowest rule that the approvals support and no denial contradicts: parts, each of calls that are alike in everything but bounded numbers and the
 * digits of identifiers. A denied call inside a part takes away everything beyond it, or the part; whose agent it was of does not matter. The order of
 * the calls does not matter either.
 */
export function tightestParts(
  approved: readonly SeenCall[],
  denied: readonly SeenCall[],
): { readonly parts: readonly ApprovedPart[]; readonly calls: readonly SeenCall[] } {
  const found: Part[] = [];
  const byNames = new Map<string, SeenCall[]>();
  const inOrder = denied.map((call) => [valuesOf(call), call] as const);
  for (const [, call] of inOrder.toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const alike = byNames.get(call.layout.key) ?? [];
    alike.push(call);
    byNames.set(call.layout.key, alike);
  }
  for (const alike of groupsOf(approved)) {
    found.push(...partsOf(alike, byNames.get((alike[0] as Sorted).call.layout.key) ?? []));
  }
  const best = found
    .toSorted((one, other) => other.calls.length - one.calls.length || (keyOf(one) < keyOf(other) ? -1 : 1))
    .slice(0, MOST_PARTS);
  return { parts: best.map(({ shown }) => shown), calls: best.flatMap(({ calls }) => calls.map(({ call }) => call)) };
}

const valuesOf = ({ layout }: SeenCall): string => canonicalJson([layout.key, ...layout.values.values()]);
const keyOf = ({ shown }: Part): string => canonicalJson(shown as unknown as Json);

/** The value that is different most often where only the same one would do; null where there is none. */
export function mostDifferent(
  approved: readonly SeenCall[],
): { readonly pointer: string; readonly values: number } | null {
  const values = new Map<string, Set<string>>();
  for (const { call, kinds } of withKinds(approved))
    for (const [at, pointer] of [...call.layout.values.keys()].entries()) {
      const kind = kinds[at] as Kind;
      if (kind.of === 'like' || (kind.of === 'number' && call.measured.has(pointer))) continue;
      const seen = values.get(pointer) ?? new Set();
      values.set(pointer, seen.add(canonicalJson(kind.value)));
    }
  const [most] = [...values].toSorted(([one, a], [other, b]) => b.size - a.size || (one < other ? -1 : 1));
  return most ? { pointer: most[0], values: most[1].size } : null;
}

/** Each value with how far it may be generalized, given all of them: few texts that are alike are those texts, and no others. */
function withKinds(calls: readonly SeenCall[]): readonly Sorted[] {
  const alike = new Map<string, Set<string>>();
  const placeOf = (call: SeenCall, pointer: string, like: string): string =>
    canonicalJson([call.upstream, call.layout.key, pointer, like]);
  const read = calls.map((call) => ({
    call,
    kinds: [...call.layout.values].map(([pointer, value]) => kindOf(value, call.fixed.has(pointer))),
  }));
  for (const { call, kinds } of read)
    for (const [at, pointer] of [...call.layout.values.keys()].entries()) {
      const kind = kinds[at] as Kind;
      if (kind.of !== 'like') continue;
      const place = placeOf(call, pointer, kind.like);
      const seen = alike.get(place) ?? new Set();
      alike.set(place, seen.add(kind.value));
    }
  return read.map(({ call, kinds }) => {
    const pointers = [...call.layout.values.keys()];
    return {
      call,
      kinds: kinds.map((kind, at): Kind => {
        if (kind.of !== 'like') return kind;
        const values = alike.get(placeOf(call, pointers[at] as string, kind.like))?.size ?? 0;
        return values >= ENOUGH_ALIKE ? kind : { of: 'value', value: kind.value };
      }),
    };
  });
}

/** Calls with the same names, of the same upstream, that are alike in every value that has no bound. */
function groupsOf(approved: readonly SeenCall[]): readonly (readonly Sorted[])[] {
  const groups = new Map<string, Sorted[]>();
  for (const sorted of withKinds(approved)) {
    const { call, kinds } = sorted;
    const key = canonicalJson([call.upstream, call.layout.key, ...kinds.map(sortOf)]);
    const group = groups.get(key) ?? [];
    group.push(sorted);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Which numbers people approved, by the place among the layout's values: few of them, or all from one to another. */
interface Range {
  readonly at: number;
  readonly few: ReadonlySet<number> | null;
  readonly from: number;
  readonly to: number;
}
const numbersAt = ({ kinds }: Sorted, at: number) => kinds[at] as Kind & { readonly of: 'number' };
const numberAt = (sorted: Sorted, at: number): number => numbersAt(sorted, at).number;
function inRange(sorted: Sorted, { at, few, from, to }: Range): boolean {
  const number = numberAt(sorted, at);
  return few ? few.has(number) : number >= from && number <= to;
}

const isMeasured = (calls: readonly Sorted[], at: number): boolean =>
  calls.every(({ call }) => call.measured.has([...call.layout.values.keys()][at] as string));
const distinctAt = (calls: readonly Sorted[], at: number): readonly number[] =>
  [...new Set(calls.map((sorted) => numberAt(sorted, at)))].toSorted((one, other) => one - other);

/** Calls that are alike, as parts: what lies on the other side of a gap between its numbers is a part of its own. */
function partsOf(calls: readonly Sorted[], denied: readonly SeenCall[]): readonly Part[] {
  const pieces = apart(calls);
  if (pieces) return pieces.flatMap((piece) => partsOf(piece, denied));
  const part = withoutDenied(calls, denied);
  if (part === null) return [];
  // Fewer calls may have gaps that others filled.
  return part.calls.length === calls.length ? [part] : partsOf(part.calls, denied);
}

/** Both sides of the first gap in numbers that would be a range; null where there is none. */
function apart(calls: readonly Sorted[]): readonly [readonly Sorted[], readonly Sorted[]] | null {
  const [first] = calls as readonly [Sorted];
  for (const [at, kind] of first.kinds.entries()) {
    if (kind.of !== 'number' || !isMeasured(calls, at)) continue;
    const numbers = distinctAt(calls, at);
    if (numbers.length < ENOUGH_NUMBERS) continue;
    const [least] = numbers as readonly [number];
    const next = numbers.find((number, place) => {
      const before = numbers[place - 1];
      return before !== undefined && isGap(least, before, number);
    });
    if (next !== undefined)
      return [
        calls.filter((sorted) => numberAt(sorted, at) < next),
        calls.filter((sorted) => numberAt(sorted, at) >= next),
      ];
  }
  return null;
}

/** Nobody approved anything between the two, and it is more than all that is below: of numbers above zero, the next is more than double. */
const isGap = (least: number, before: number, next: number): boolean =>
  next - before >
  Math.max(Math.abs(before), before - least, Number.isInteger(before) && Number.isInteger(next) ? 1 : 0);

/** The part of these calls whose every bound is supported; null where nothing is left. */
function supported(all: readonly Sorted[]): Part | null {
  let calls = all;
  for (;;) {
    const agents = agentsOf(calls);
    const ofAgents = calls.filter(({ call }) => agents.has(call.agent));
    if (!isEnough(supportOf(ofAgents.map(({ call }) => call)), ENOUGH_OF_A_PART)) return null;
    const ranges = rangesOf(ofAgents);
    const kept = ofAgents.filter((sorted) => ranges.every((range) => inRange(sorted, range)));
    if (kept.length === calls.length) return { shown: shownPart(kept, ranges), calls: kept };
    calls = kept;
  }
}

function agentsOf(calls: readonly Sorted[]): ReadonlySet<string> {
  const counts = new Map<string, number>();
  for (const { call } of calls) counts.set(call.agent, (counts.get(call.agent) ?? 0) + 1);
  return new Set([...counts].flatMap(([agent, count]) => (count >= ENOUGH_OF_AN_AGENT ? [agent] : [])));
}

function rangesOf(calls: readonly Sorted[]): readonly Range[] {
  const [first] = calls as readonly [Sorted];
  return first.kinds.flatMap((kind, at) => {
    if (kind.of !== 'number') return [];
    const up = calls.toSorted((one, other) => numberAt(one, at) - numberAt(other, at));
    return [{ at, few: fewOf(calls, at), from: endOf(up, at), to: endOf(up.toReversed(), at) }];
  });
}

/** Of few different numbers, and of those that measure nothing, those that enough approvals are of; null where there are more. */
function fewOf(calls: readonly Sorted[], at: number): ReadonlySet<number> | null {
  const of = new Map<number, ReturnType<typeof nothing>>();
  for (const sorted of calls) {
    const number = numberAt(sorted, at);
    of.set(number, counted(of.get(number) ?? nothing(), sorted.call));
  }
  if (of.size >= ENOUGH_NUMBERS && isMeasured(calls, at)) return null;
  const enough = [...of]
    .map(([number, support]) => [number, support.has()] as const)
    .filter(([, support]) => isEnough(support, ENOUGH_OF_A_PART));
  const mostFirst = enough.toSorted(([one, a], [other, b]) => b.approvals - a.approvals || one - other);
  return new Set(mostFirst.slice(0, MOST_NAMED).map(([number]) => number));
}

/** The outermost value that enough approvals reach, or lie beyond. */
function endOf(outermostFirst: readonly Sorted[], at: number): number {
  const beyond = nothing();
  for (const sorted of outermostFirst)
    if (isEnough(counted(beyond, sorted.call).has(), ENOUGH_OF_A_PART)) return numberAt(sorted, at);
  return numberAt(outermostFirst.at(-1) as Sorted, at);
}

/** Support that is counted call by call. */
function nothing() {
  let approvals = 0;
  const [days, people, agents] = [new Set<string>(), new Set<string>(), new Set<string>()];
  return {
    add(call: SeenCall): void {
      approvals += 1;
      days.add(call.day);
      agents.add(call.agent);
      for (const one of call.people) people.add(one);
    },
    has: (): Support => ({ approvals, days: days.size, people: people.size, agents: agents.size }),
  };
}
function counted(so: ReturnType<typeof nothing>, call: SeenCall): ReturnType<typeof nothing> {
  so.add(call);
  return so;
}

function shownPart(calls: readonly Sorted[], ranges: readonly Range[]): ApprovedPart {
  const [{ call, kinds }] = calls as readonly [Sorted];
  const isOf = (kind: Kind, at: number): ArgumentBound['is'] => {
    if (kind.of === 'value') return { equals: kind.value };
    if (kind.of === 'like') return { like: kind.like };
    const { few, from, to } = ranges.find((range) => range.at === at) as Range;
    if (few) {
      const given = new Map(calls.map((sorted) => [numberAt(sorted, at), numbersAt(sorted, at).value]));
      const values = [...given].toSorted(([one], [other]) => one - other).map(([, value]) => value);
      return values.length === 1 ? { equals: values[0] as Json } : { one_of: values };
    }
    const whole = calls.every((sorted) => Number.isInteger(numberAt(sorted, at)));
    return { from, to, whole, text: kind.text, decimals: kind.decimals };
  };
  return {
    upstream: call.upstream,
    agents: [...new Set(calls.map((sorted) => sorted.call.agent))].toSorted(),
    approvals: calls.length,
    objects: call.layout.objects.map(({ pointer, names }) => ({ pointer, names: [...names] })),
    arguments: [...call.layout.values.keys()].map((pointer, at) => ({ pointer, is: isOf(kinds[at] as Kind, at) })),
  };
}

/** The part of these calls in which no denied call lies, with as many of the approvals as can be. */
function withoutDenied(all: readonly Sorted[], denied: readonly SeenCall[]): Part | null {
  let part = supported(all);
  for (;;) {
    if (part === null) return null;
    const { shown, calls } = part;
    const inside = denied.find(({ layout }) => liesIn(shown, layout));
    if (inside === undefined) return part;
    const cut: readonly Sorted[][] = shown.arguments.flatMap(({ pointer, is }, at) => {
      if (!('from' in is || 'one_of' in is)) return [];
      const limit = kindOf(inside.layout.values.get(pointer) as Json, false);
      if (limit.of !== 'number') return [];
      if (!isMeasured(calls, at)) return [calls.filter((sorted) => numberAt(sorted, at) !== limit.number)];
      return [
        calls.filter((sorted) => numberAt(sorted, at) < limit.number),
        calls.filter((sorted) => numberAt(sorted, at) > limit.number),
      ];
    });
    part = cut
      .flatMap((rest) => supported(rest) ?? [])
      .reduce<Part | null>((best, one) => (best === null || one.calls.length > best.calls.length ? one : best), null);
  }
}

/** Whether a call is one that a part was made of, whoever makes it, wherever. */
export const liesIn = ({ objects, arguments: bounds }: ApprovedPart, { key, values }: Layout): boolean =>
  bounds.every(({ pointer, is }) => isWithin(values.get(pointer), is)) && canonicalJson(objects) === key;
