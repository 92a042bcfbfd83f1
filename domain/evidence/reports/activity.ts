import type { AgentActivity, TiersOverTime } from '../../../contracts/ledger-reports.js';
import { outcomeOf, reviewEndOf, tierOf } from './outcome.js';
import { type ReportRow, tally, type Tally } from './report-rows.js';

const HOUR_MS = 3_600_000;
/** Parts of a window. */
const POINTS = 24;
const TOOLS = 8;
/** Of one agent that is asked for alone. */
const TOOLS_OF_ONE = 25;
/** Names of tools come from agents, so those beyond are counted together. */
const TOOLS_COUNTED = 200;

/** Event kinds that the report reads. */
export const ACTIVITY_KINDS = ['proxy.verdict', 'hil.denied'] as const;

export interface ActivityWindow {
  readonly sinceHours: number;
  readonly nowMs: number;
  /** Whether the rows are of one agent, which is told in full. */
  readonly isOfOne?: boolean | undefined;
}

export const activitySpan = ({ sinceHours, nowMs }: ActivityWindow) => ({
  from: new Date(nowMs - sinceHours * HOUR_MS).toISOString(),
  to: new Date(nowMs).toISOString(),
});

interface Did {
  total: number;
  deniedByPeople: number;
  lastAt: string;
  lastCall: string | null;
  readonly outcomes: Readonly<Record<'allowed' | 'denied' | 'reviewed', Tally>>;
  readonly tools: Tally;
  readonly points: AgentActivity['agents'][number]['points'];
  readonly tiers: TiersOverTime;
  readonly tiersOf: Map<string, TiersOverTime>;
}

/** What each agent did in the window, by tool and verdict. Pages must come in chain order. */
export async function agentActivity(
  window: ActivityWindow,
  limit: number,
  reportRows: AsyncIterable<readonly ReportRow[]>,
): Promise<AgentActivity> {
  const { from, to } = activitySpan(window);
  const first = Date.parse(from);
  const partMs = (window.sinceHours * HOUR_MS) / POINTS;
  const fleet = new Map<string, Did>();
  for await (const page of reportRows) {
    for (const reportRow of page) {
      const did = fleet.get(reportRow.agentId) ?? nothing(first, partMs);
      const outcome = outcomeOf(reportRow);
      if (reviewEndOf(reportRow) === 'denied') did.deniedByPeople += 1;
      else if (outcome === null) continue;
      fleet.set(reportRow.agentId, did);
      if (outcome === null) continue;
      did.total += 1;
      did.lastAt = reportRow.at;
      did.lastCall = reportRow.correlationId;
      const tool = reportRow.tool ?? '(none)';
      did.tools.add(tool);
      did.outcomes[outcome].add(tool);
      const at = Math.min(POINTS - 1, Math.max(0, Math.floor((Date.parse(reportRow.at) - first) / partMs)));
      if (window.isOfOne) addTier(did, tool, reportRow, at);
      const point = did.points[at];
      if (!point) continue;
      point.total += 1;
      if (outcome !== 'allowed') point[outcome] += 1;
    }
  }
  const called = [...fleet].filter(([, { total }]) => total > 0);
  const agents = called
    .toSorted(([a, one], [b, other]) => other.total - one.total || (a < b ? -1 : 1))
    .slice(0, limit)
    .map(([agentId, { outcomes, tools, tiersOf, ...did }]) => {
      const sum = (of: Tally) => of.top().reduce((total, { count }) => total + count, 0);
      return {
        agent_id: agentId,
        total: did.total,
        allowed: sum(outcomes.allowed),
        denied: sum(outcomes.denied),
        reviewed: sum(outcomes.reviewed),
        denied_by_people: did.deniedByPeople,
        last_at: did.lastAt,
        last_correlation_id: did.lastCall,
        tools: tools.top(window.isOfOne ? TOOLS_OF_ONE : TOOLS).map(({ key }) => ({
          tool_name: key,
          allowed: outcomes.allowed.get(key),
          denied: outcomes.denied.get(key),
          reviewed: outcomes.reviewed.get(key),
          ...(window.isOfOne && { tiers: tiersOf.get(key) ?? {} }),
        })),
        ...(window.isOfOne && { tiers: did.tiers }),
        tools_total: tools.size(),
        points: did.points,
      };
    });
  return { since: from, until: to, agents, returned: agents.length, agents_total: called.length };
}

/** Adds a call to what its agent did by tier over time. */
function addTier({ tiers, tiersOf, tools }: Did, tool: string, row: ReportRow, at: number): void {
  const tier = tierOf(row);
  if (tier === null) return;
  // Beyond the tools that are counted by themselves they count together alone.
  const of = tools.get(tool) > 0 ? (tiersOf.get(tool) ?? {}) : null;
  if (of) tiersOf.set(tool, of);
  for (const over of of ? [tiers, of] : [tiers]) {
    const counts = (over[tier] ??= Array.from({ length: POINTS }, () => 0));
    counts[at] = (counts[at] ?? 0) + 1;
  }
}

const nothing = (first: number, partMs: number): Did => ({
  total: 0,
  deniedByPeople: 0,
  lastAt: '',
  lastCall: null,
  outcomes: { allowed: tally(TOOLS_COUNTED), denied: tally(TOOLS_COUNTED), reviewed: tally(TOOLS_COUNTED) },
  tools: tally(TOOLS_COUNTED),
  tiers: {},
  tiersOf: new Map(),
  points: Array.from({ length: POINTS }, (_, index) => ({
    at: new Date(first + index * partMs).toISOString(),
    total: 0,
    denied: 0,
    reviewed: 0,
  })),
});
