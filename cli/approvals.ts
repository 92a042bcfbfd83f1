import { Option, type Command } from 'commander';
import { type ApprovalStats, type PendingRequest, statsWindow, toolOf } from '../contracts/review.js';
import { CliError } from './errors.js';
import { json, print } from './output.js';
import { lasting } from './review-text.js';
import { table } from './table.js';
import { decideToken, endpoint, operatorTarget } from './target.js';
import type { LiteFlags } from './lite-target.js';

interface ApprovalsOptions extends LiteFlags {
  readonly window: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** `gate approvals`: who decided what, and how fast. */
export function registerApprovals(program: Command): void {
  program
    .command('approvals')
    .description(
      'who decided what, and how fast: counts of a window, its approvers, and the decisions of the newest calls',
    )
    .addOption(new Option('--window <window>', 'until now').choices(statsWindow.options).default('24h'))
    .addOption(new Option('--limit <n>', 'so many of the newest calls that are decided').argParser(Number).default(20))
    .addOption(endpoint())
    .addOption(decideToken())
    .addOption(json())
    .action(async ({ window, limit, json: asJson, ...given }: ApprovalsOptions) => {
      if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
        throw new CliError('--limit is a number from 1 to 1000', 2);
      const target = operatorTarget(given);
      const stats = await target.ask<ApprovalStats>('hil', 'GET', `/approvals/stats?window=${window}`);
      const rows = await target.ask<PendingRequest[]>(
        'hil',
        'GET',
        `/pending?status=decided&sort=newest&limit=${limit}`,
      );
      const decisions = rows
        .toSorted((one, other) => (other.decided_at ?? '').localeCompare(one.decided_at ?? ''))
        .map(decisionOf);
      if (asJson) return print({ stats, decisions });
      process.stdout.write(`${counts(stats)}\n`);
      if (stats.by_approver.length > 0) process.stdout.write(`${byApprover(stats)}\n`);
      process.stdout.write(decisions.length > 0 ? `${latest(decisions)}\n` : '(no decision is kept)\n');
    });
}

/** A decision as it is listed. */
type Decision = ReturnType<typeof decisionOf>;
const decisionOf = (row: PendingRequest) => ({
  correlation_id: row.correlation_id,
  decided_at: row.decided_at,
  decided_by: row.decided_by,
  decided_via: row.decided_via,
  decision:
    row.status === 'denied' ? 'denied' : row.reviewed_payload_digest == null ? 'approved' : 'approved with changes',
  agent_id: row.agent_id,
  tool: toolOf(row),
  took_secs: row.decided_at === null ? null : (Date.parse(row.decided_at) - Date.parse(row.created_at)) / 1000,
  reason: row.decision_reason,
});

const percent = (rate: number | null): string => (rate === null ? '-' : `${Math.round(rate * 100)} %`);

function counts(stats: ApprovalStats): string {
  const { approved, modified, denied, expired, pending_count: waiting, oldest_pending_secs: oldest } = stats;
  const since = oldest === null ? '' : `, the oldest for ${lasting(oldest)}`;
  return [
    `the last ${stats.window}: ${approved} approved, ${modified} approved with changes, ${denied} denied, ${expired} expired`,
    `people took ${lasting(stats.median_time_to_decide_secs)} (median), ${lasting(stats.p95_time_to_decide_secs)} (95 %); ${percent(stats.deny_rate)} of what was decided was denied`,
    `waiting: ${waiting}${since}`,
  ].join('\n');
}

function byApprover({ by_approver }: ApprovalStats): string {
  return table(
    ['who', 'decisions', 'denied', 'median'].map((head) => ({ head })),
    by_approver.map(({ decided_by, count, deny_rate, median_secs }) => [
      decided_by,
      String(count),
      percent(deny_rate),
      lasting(median_secs),
    ]),
  );
}

function latest(decisions: readonly Decision[]): string {
  return table(
    ['when', 'who', 'decision', 'agent', 'tool', 'after'].map((head) => ({ head })),
    decisions.map(({ decided_at, decided_by, decision, agent_id, tool, took_secs }) => [
      decided_at?.slice(0, 19).replace('T', ' ') ?? '-',
      decided_by ?? '-',
      decision,
      agent_id,
      tool,
      lasting(took_secs),
    ]),
  );
}
