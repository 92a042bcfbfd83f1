import type { SilentAgents } from '../../../contracts/ledger-reports.js';
import { isReservedPrincipal } from '../own-principals.js';
import type { ReportRow } from './report-rows.js';

const HOUR_MS = 3_600_000;

/** Rows that show which agents exist and when they were active: life-cycle rows and verdicts. */
export const SILENCE_KINDS = [
  'proxy.verdict',
  'agent.registered',
  'agent.suspended',
  'agent.unsuspended',
  'agent.decommissioned',
] as const;

interface Known {
  readonly name: string;
  readonly tenant: string | null;
  readonly enrolledAt: string | null;
  readonly lastActivity: string | null;
  /** What the last row about its life cycle says; `null` without one, which counts as active. */
  readonly active: boolean | null;
}

/** What is read of a row for a roster. */
export type RosterRow = Pick<ReportRow, 'kind' | 'agentId' | 'agentName' | 'tenant' | 'at'>;
/**
 * The agents that a stretch of the chain tells of, by tenant and name. Rosters of stretches that follow each other add up to that of the whole.
 */
export type Roster = ReadonlyMap<string, Known>;

/**
 * Agents from life-cycle rows and, if they were never registered, from traffic, in chain order. Gate's own services are left out.
 */
export function rosterOf(rows: Iterable<RosterRow>): Roster {
  const roster = new Map<string, Known>();
  for (const { kind, agentId, agentName, tenant, at } of rows) {
    const name = kind === 'proxy.verdict' ? agentId : (agentName ?? agentId);
    if (isReservedPrincipal(name)) continue;
    enter(roster, JSON.stringify([tenant, name]), {
      name,
      tenant,
      enrolledAt: kind === 'agent.registered' ? at : null,
      lastActivity: kind === 'proxy.verdict' ? at : null,
      active: kind === 'proxy.verdict' ? null : kind === 'agent.registered' || kind === 'agent.unsuspended',
    });
  }
  return roster;
}

/** Rosters of stretches in chain order, as one. */
export function rosterOfAll(rosters: Iterable<Roster>): Roster {
  const all = new Map<string, Known>();
  for (const roster of rosters) for (const [key, known] of roster) enter(all, key, known);
  return all;
}

/** Adds what later rows say. */
function enter(roster: Map<string, Known>, key: string, later: Known): void {
  const known = roster.get(key);
  roster.set(
    key,
    known
      ? {
          ...known,
          enrolledAt: known.enrolledAt ?? later.enrolledAt,
          lastActivity: later.lastActivity ?? known.lastActivity,
          active: later.active ?? known.active,
        }
      : later,
  );
}

/** The active agents of a roster without activity for `sinceHours`, longest silence first. */
export function silentAgents(
  roster: Roster,
  {
    sinceHours,
    nowMs,
    allowed,
  }: { readonly sinceHours: number; readonly nowMs: number; readonly allowed: ReadonlySet<string> },
): SilentAgents {
  const active = [...roster.values()].filter((agent) => (agent.active ?? true) && !allowed.has(agent.name));
  const hours = ({ lastActivity, enrolledAt }: Known) =>
    Math.max(0, Math.floor((nowMs - Date.parse(lastActivity ?? enrolledAt ?? '')) / HOUR_MS));
  return {
    threshold_hours: sinceHours,
    generated_at: new Date(nowMs).toISOString(),
    silent_agents: active
      .filter((agent) => hours(agent) >= sinceHours)
      .map((agent) => ({
        agent_name: agent.name,
        tenant: agent.tenant,
        last_activity: agent.lastActivity,
        enrolled_at: agent.enrolledAt,
        silent_hours: hours(agent),
        never_active: agent.lastActivity === null,
      }))
      .toSorted(
        (a, b) =>
          b.silent_hours - a.silent_hours ||
          (a.agent_name < b.agent_name ? -1 : a.agent_name > b.agent_name ? 1 : 0) ||
          ((a.tenant ?? '') < (b.tenant ?? '') ? -1 : 1),
      ),
    active_total: active.length,
  };
}
