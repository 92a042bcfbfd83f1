import { DECISION_CONTRACT } from '../../../contracts/call.js';
import type {
  Behavior,
  BehavioralBaseline,
  EnvelopeRecommendations,
  FleetBehavioralDiff,
} from '../../../contracts/ledger-reports.js';
import { type ReportRow, intentBasisPoints, rounded, tally, type Tally } from './report-rows.js';
import { isDenial, outcomeOf } from './outcome.js';

const DAY_MS = 86_400_000;
/** From this distance on a behaviour counts as drifted (docs/architecture/ledger-reads.md#reports). */
const DRIFT = 0.35;
/** Fewest requests of a window. Below it, the hours of the day alone differ by a third through chance. */
const MIN_REQUESTS = 50;
/** How many uses of a tool make its recommendation high or medium confidence. */
const SURE = { high: 20, medium: 5 };

/** Event kinds that behaviour reports read. */
export const BEHAVIOR_KINDS = ['proxy.verdict', 'brain.inspection', 'hil.approved', 'hil.denied'] as const;

/** Counts of one window. `add` counts one more row. */
interface Counts {
  total: number;
  authorized: number;
  denied: number;
  intentSum: number;
  intents: number;
  readonly tools: Tally;
  readonly hourly: number[];
}

const noCounts = (): Counts => ({
  total: 0,
  authorized: 0,
  denied: 0,
  intentSum: 0,
  intents: 0,
  tools: tally(),
  hourly: Array.from({ length: 24 }, () => 0),
});

function add(counts: Counts, reportRow: ReportRow): void {
  const intent = intentBasisPoints(reportRow);
  if (intent !== null) {
    counts.intentSum += intent;
    counts.intents += 1;
  }
  if (isDenial(reportRow)) counts.denied += 1;
  const outcome = outcomeOf(reportRow);
  if (outcome === 'allowed' || reportRow.kind === 'hil.approved') counts.authorized += 1;
  if (outcome === null) return;
  counts.total += 1;
  if (reportRow.tool !== null) counts.tools.add(reportRow.tool);
  const hour = Number(reportRow.at.slice(11, 13));
  counts.hourly[hour] = (counts.hourly[hour] ?? 0) + 1;
}

// Capped at 1: a call parked in one window and denied in the next adds a denial without a request.
const denyRate = ({ denied, total }: Counts): number => (total === 0 ? 0 : Math.min(1, denied / total));
const intentMean = ({ intentSum, intents }: Counts): number | null =>
  intents === 0 ? null : intentSum / intents / 10_000;

const shown = (counts: Counts, since: string, until: string): Behavior => {
  const mean = intentMean(counts);
  return {
    since,
    until,
    total: counts.total,
    authorized: counts.authorized,
    denied: counts.denied,
    deny_rate: rounded(denyRate(counts)),
    intent_mean: mean === null ? null : rounded(mean),
    tool_mix: counts.tools.top().map(({ key, count }) => ({ tool_type: key, count })),
    hourly: [...counts.hourly],
  };
};

/**
 * Total variation distance: half the sum of the differences between shares. 0 when both are alike or either is empty, 1 when they share
 * nothing.
 */
function distance(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((total, count) => total + count, 0);
  const [whole, part] = [sum(before), sum(after)];
  if (whole === 0 || part === 0) return 0;
  const keys = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return (
    keys.reduce((total, key) => total + Math.abs((before.get(key) ?? 0) / whole - (after.get(key) ?? 0) / part), 0) / 2
  );
}

const toolsOf = ({ tools }: Counts): Map<string, number> => new Map(tools.top().map(({ key, count }) => [key, count]));
const hoursOf = ({ hourly }: Counts): Map<string, number> =>
  new Map(hourly.map((count, hour) => [String(hour), count]));

function compared(baseline: Counts, recent: Counts) {
  const [before, after] = [toolsOf(baseline), toolsOf(recent)];
  const parts = {
    tool_mix: distance(before, after),
    hourly: distance(hoursOf(baseline), hoursOf(recent)),
    intent: Math.min(1, Math.abs((intentMean(recent) ?? 0) - (intentMean(baseline) ?? 0))),
    deny_rate: Math.abs(denyRate(recent) - denyRate(baseline)),
  };
  const overall = 1 - Object.values(parts).reduce((left, part) => left * (1 - part), 1);
  const insufficient = baseline.total < MIN_REQUESTS || recent.total < MIN_REQUESTS;
  return {
    deviation: {
      tool_mix: rounded(parts.tool_mix),
      hourly: rounded(parts.hourly),
      intent: rounded(parts.intent),
      deny_rate: rounded(parts.deny_rate),
      overall: rounded(overall),
    },
    diff: {
      new_tools: [...after.keys()].filter((tool) => !before.has(tool)).toSorted(),
      vanished_tools: [...before.keys()].filter((tool) => !after.has(tool)).toSorted(),
      deny_rate_delta: rounded(denyRate(recent) - denyRate(baseline)),
      intent_delta: rounded((intentMean(recent) ?? 0) - (intentMean(baseline) ?? 0)),
      total_delta: recent.total - baseline.total,
    },
    drifted: !insufficient && overall >= DRIFT,
    insufficient,
  };
}

export interface BehaviorWindows {
  readonly baselineDays: number;
  readonly recentDays: number;
  readonly nowMs: number;
}

/** The recent window ends now; the baseline window ends where the recent one begins. */
export function behaviorSpan({ baselineDays, recentDays, nowMs }: BehaviorWindows) {
  const sinceRecent = nowMs - recentDays * DAY_MS;
  return {
    sinceBaseline: new Date(sinceRecent - baselineDays * DAY_MS).toISOString(),
    sinceRecent: new Date(sinceRecent).toISOString(),
    now: new Date(nowMs).toISOString(),
  };
}

/** `reportRows` are the agent's rows in both windows. */
export async function behavioralBaseline(
  agentId: string,
  windows: BehaviorWindows,
  reportRows: AsyncIterable<readonly ReportRow[]>,
): Promise<BehavioralBaseline> {
  const { sinceBaseline, sinceRecent, now } = behaviorSpan(windows);
  const [baseline, recent] = [noCounts(), noCounts()];
  for await (const page of reportRows)
    for (const reportRow of page) add(reportRow.at < sinceRecent ? baseline : recent, reportRow);
  return {
    agent_id: agentId,
    baseline_days: windows.baselineDays,
    recent_days: windows.recentDays,
    baseline: shown(baseline, sinceBaseline, sinceRecent),
    recent: shown(recent, sinceRecent, now),
    ...compared(baseline, recent),
  };
}

/** The first `limit` agents of the fleet, largest change first, and how many there are. */
export async function fleetBehavioralDiff(
  windows: BehaviorWindows,
  limit: number,
  reportRows: AsyncIterable<readonly ReportRow[]>,
): Promise<FleetBehavioralDiff> {
  const { sinceBaseline, sinceRecent, now } = behaviorSpan(windows);
  const fleet = new Map<string, { readonly baseline: Counts; readonly recent: Counts }>();
  for await (const page of reportRows) {
    for (const reportRow of page) {
      const known = fleet.get(reportRow.agentId) ?? { baseline: noCounts(), recent: noCounts() };
      fleet.set(reportRow.agentId, known);
      add(reportRow.at < sinceRecent ? known.baseline : known.recent, reportRow);
    }
  }
  const all = [...fleet]
    .map(([agentId, { baseline, recent }]) => {
      const { deviation, diff, ...judged } = compared(baseline, recent);
      return {
        agent_id: agentId,
        recent_total: recent.total,
        baseline_total: baseline.total,
        ...diff,
        drift_overall: deviation.overall,
        ...judged,
      };
    })
    // A window with too few requests says nothing, so those agents come last.
    .toSorted(
      (a, b) =>
        Number(a.insufficient) - Number(b.insufficient) ||
        b.drift_overall - a.drift_overall ||
        (a.agent_id < b.agent_id ? -1 : 1),
    );
  const agents = all.slice(0, limit);
  return {
    baseline_days: windows.baselineDays,
    recent_days: windows.recentDays,
    since_baseline: sinceBaseline,
    since_recent: sinceRecent,
    now,
    agents,
    agents_total: all.length,
    insufficient_total: all.filter(({ insufficient }) => insufficient).length,
    returned: agents.length,
  };
}

/** An agent of a tenant whose behaviour drifted, with the measured differences. */
export interface DriftedAgent {
  readonly agentId: string;
  readonly tenant: string | null;
  readonly baselineTotal: number;
  readonly recentTotal: number;
  readonly deviation: BehavioralBaseline['deviation'];
  readonly diff: BehavioralBaseline['diff'];
}

/** The agents whose behaviour drifted, sorted by tenant and name. `reportRows` are the rows of both windows. */
export async function driftedAgents(
  windows: BehaviorWindows,
  reportRows: AsyncIterable<readonly ReportRow[]>,
): Promise<DriftedAgent[]> {
  const { sinceRecent } = behaviorSpan(windows);
  const fleet = new Map<
    string,
    Pick<ReportRow, 'agentId' | 'tenant'> & { readonly baseline: Counts; readonly recent: Counts }
  >();
  for await (const page of reportRows) {
    for (const reportRow of page) {
      const { agentId, tenant } = reportRow;
      const key = JSON.stringify([tenant, agentId]);
      const known = fleet.get(key) ?? { agentId, tenant, baseline: noCounts(), recent: noCounts() };
      fleet.set(key, known);
      add(reportRow.at < sinceRecent ? known.baseline : known.recent, reportRow);
    }
  }
  return [...fleet]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, { agentId, tenant, baseline, recent }]) => {
      const { deviation, diff, drifted } = compared(baseline, recent);
      if (!drifted) return [];
      return [{ agentId, tenant, baselineTotal: baseline.total, recentTotal: recent.total, deviation, diff }];
    });
}

/** Event kinds that recommendations read. */
export const USE_KINDS = [
  'proxy.verdict',
  'hil.approved',
  'hil.denied',
  'hil.expired',
  'upstream.outcome',
  'call.aborted',
  'call.abandoned',
] as const;
/** After one of these a call that waited does not run, so it is no longer remembered. */
const NEVER_RUN: ReadonlySet<string> = new Set(['hil.denied', 'hil.expired', 'call.aborted', 'call.abandoned']);

/**
 * The tools an agent used, on its own or with approval. A refused call is no reason to allow a tool, nor is one that was approved and
 * stopped before it ran. An approved call that its agent runs itself counts as one that was allowed.
 */
export async function envelopeRecommendations(
  { agentId, windowDays, nowMs }: { readonly agentId: string; readonly windowDays: number; readonly nowMs: number },
  reportRows: AsyncIterable<readonly ReportRow[]>,
): Promise<EnvelopeRecommendations> {
  const used = tally();
  /** Calls that waited and have not been seen to run: whether Gate is to run each. */
  const parked = new Map<string | null, boolean>();
  let total = 0;
  for await (const page of reportRows) {
    for (const reportRow of page) {
      const { kind, tool, correlationId, decision } = reportRow;
      const outcome = outcomeOf(reportRow);
      if (outcome !== null) total += 1;
      if (outcome === 'reviewed') parked.set(correlationId, decision?.['contract'] !== DECISION_CONTRACT);
      const isHere = parked.get(correlationId);
      const stage = kind === 'upstream.outcome' ? decision?.['stage'] : null;
      const ran =
        isHere === true ? stage === 'completed' || stage === 'failed' : isHere === false && kind === 'hil.approved';
      if (ran || stage === 'not_run' || NEVER_RUN.has(kind)) parked.delete(correlationId);
      if (tool !== null && (outcome === 'allowed' || ran)) used.add(tool);
    }
  }
  return {
    agent_id: agentId,
    window_days: windowDays,
    since: new Date(nowMs - windowDays * DAY_MS).toISOString(),
    until: new Date(nowMs).toISOString(),
    total_calls: total,
    used_tools: used.top().map(({ key, count }) => ({
      tool_type: key,
      used_count: count,
      confidence: count >= SURE.high ? 'high' : count >= SURE.medium ? 'medium' : 'low',
    })),
  };
}
