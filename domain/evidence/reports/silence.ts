import type { SilentAgents } from '../../../contracts/ledger-reports.js';
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
  enrolledAt: string | null;
  lastActivity: string | null;
  active: boolean;
}

/**
 * The active agents without activity for `sinceHours`, longest silence first. Agents come from life-cycle rows and, if they were never
 * registered, from traffic. Gate's own services are left out.
 */
export async function silentAgents(
  reportRows: AsyncIterable<readonly ReportRow[]>,
  {
    sinceHours,
    nowMs,
    allowed,
  }: { readonly sinceHours: number; readonly nowMs: number; readonly allowed: ReadonlySet<string> },
): Promise<SilentAgents> {
  const roster = new Map<string, Known>();
  for await (const page of reportRows) {
    for (const reportRow of page) {
      const name = reportRow.kind === 'proxy.verdict' ? reportRow.agentId : (reportRow.agentName ?? reportRow.agentId);
      if (name.startsWith('gate-')) continue;
      const key = JSON.stringify([reportRow.tenant, name]);
      const known = roster.get(key) ?? {
        name,
        tenant: reportRow.tenant,
        enrolledAt: null,
        lastActivity: null,
        active: true,
      };
      roster.set(key, known);
      if (reportRow.kind === 'proxy.verdict') known.lastActivity = reportRow.at;
      else if (reportRow.kind === 'agent.registered') {
        known.enrolledAt ??= reportRow.at;
        known.active = true;
      } else known.active = reportRow.kind === 'agent.unsuspended';
    }
  }
  const active = [...roster.values()].filter((agent) => agent.active && !allowed.has(agent.name));
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
