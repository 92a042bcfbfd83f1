import { Option, type Command } from 'commander';
import { toolOf } from '../contracts/call-methods.js';
import { type ApprovalStats, type PendingRequest, statsWindow } from '../contracts/review.js';
import { isRehearsal, REHEARSAL } from '../domain/review/rehearsal.js';
import { CliError } from './errors.js';
import { json, print } from './output.js';
import { lasting } from './review-text.js';
import { table } from './table.js';
import { type ConsoleFlags, consoleAt, decideToken, endpoint } from './target.js';
import type { LiteFlags } from './lite-target.js';

interface ApprovalsOptions extends LiteFlags, ConsoleFlags {
  readonly window: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** `gate approvals`: who decided or approved what, and how fast. */
export function registerApprovals(program: Command): void {
  program
    .command('approvals')
    .description(
      'who decided what, and how fast: counts of a window, what each person did in it, and every vote on the newest calls',
    )
    .addHelpText(
      'after',
      `
examples:
  gate approvals                      the last day, and the votes on the newest 20 calls
  gate approvals --window 7d --limit 100
  gate approvals --json               the same for a program
  gate verify --approval <correlation id>   whether what a passkey signed holds: ids stand in the last column

what each person did:
  ended      calls that ended by this person: approved + denied + changed
  approved   as the call was
  denied     by this person
  changed    approved with other arguments (gate decide <id> modify)
  refused    of those: policy denied the changed call, which is no denial by this person
  votes      approvals that left the call waiting for others, of the calls that are listed below (--limit)
  median     from the call to the decision that ended it`,
    )
    .addOption(
      new Option('--window <window>', 'what the counts are of: so many hours or days until now')
        .choices(statsWindow.options)
        .default('24h'),
    )
    .addOption(
      new Option(
        '--limit <n>',
        'list the votes on so many of the newest decided calls, and on as many of those that wait',
      )
        .argParser(Number)
        .default(20),
    )
    .addOption(endpoint())
    .addOption(decideToken())
    .addOption(consoleAt())
    .addOption(json())
    .action(async ({ window, limit, json: asJson, ...given }: ApprovalsOptions) => {
      if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
        throw new CliError('--limit is a number from 1 to 1000', 2);
      const { reviewTarget } = await import('./review-target.js');
      const target = reviewTarget(given);
      const stats = await target.ask<ApprovalStats>('hil', 'GET', `/approvals/stats?window=${window}`);
      const newest = (status: 'decided' | 'pending') =>
        target.ask<PendingRequest[]>('hil', 'GET', `/pending?status=${status}&sort=newest&limit=${limit}`);
      const decisions = [...(await newest('decided')), ...(await newest('pending'))]
        .flatMap(votesOn)
        .toSorted((one, other) => (other.decided_at ?? '').localeCompare(one.decided_at ?? ''));
      if (asJson) return print({ stats, decisions });
      process.stdout.write(`${counts(stats)}\n`);
      if (stats.by_approver.length > 0 || decisions.some(isVote))
        process.stdout.write(`${byApprover(stats, decisions)}\n`);
      process.stdout.write(decisions.length > 0 ? `${latest(decisions)}\n` : '(no decision is kept)\n');
    });
}

/** What one person said of a call. `vote`: an approval that did not yet decide it. */
interface Vote {
  readonly pending_id: string;
  readonly correlation_id: string;
  readonly decided_at: string | null;
  readonly decided_by: string | null;
  readonly decided_via: string | null;
  readonly decision: 'vote' | 'approved' | 'approved with changes' | 'denied' | 'changed, then denied by policy';
  /** How many had approved by then, and how many must. */
  readonly approvals: number;
  readonly required_approvers: number;
  readonly agent_id: string;
  readonly tool: string;
  /** No agent asked for it, and nothing ran. */
  readonly rehearsal: boolean;
  readonly took_secs: number | null;
  readonly reason: string | null;
}

/** Every vote on a call, and last the one that decided it; nothing of a call that waits for its first one. */
function votesOn(row: PendingRequest): Vote[] {
  const { approvals = [], required_approvers = 1, created_at, status } = row;
  const call = {
    rehearsal: isRehearsal(row),
    pending_id: row.id,
    correlation_id: row.correlation_id,
    required_approvers,
    agent_id: row.agent_id,
    tool: toolOf(row),
  };
  const after = (at: string) => (Date.parse(at) - Date.parse(created_at)) / 1000;
  // Of those that made the number complete, the row itself says more.
  const earlier = approvals.filter(({ by }) => status !== 'approved' || by !== row.decided_by);
  const votes = earlier.map(({ by, at, reason = null }, index): Vote => {
    const said = { decided_at: at, decided_by: by, decided_via: null, decision: 'vote', reason } as const;
    return { ...call, ...said, approvals: index + 1, took_secs: after(at) };
  });
  if (status === 'pending' || status === 'tampered') return votes;
  const changed = row.reviewed_payload_digest != null;
  const asDenied = changed ? 'changed, then denied by policy' : 'denied';
  const asApproved = changed ? 'approved with changes' : 'approved';
  const decision: Vote = {
    ...call,
    decided_at: row.decided_at,
    decided_by: row.decided_by,
    decided_via: row.decided_via,
    decision: status === 'denied' ? asDenied : asApproved,
    approvals: earlier.length + (status === 'approved' ? 1 : 0),
    took_secs: row.decided_at === null ? null : after(row.decided_at),
    reason: row.decision_reason,
  };
  return [...votes, decision];
}

const percent = (rate: number | null): string => (rate === null ? '-' : `${Math.round(rate * 100)} %`);

function counts(stats: ApprovalStats): string {
  const {
    approved,
    modified,
    denied,
    expired,
    aborted,
    withdrawn,
    pending_count: waiting,
    oldest_pending_secs: oldest,
  } = stats;
  const { modified_then_denied: refused } = stats;
  const since = oldest === null ? '' : `, the oldest for ${lasting(oldest)}`;
  return [
    `the last ${stats.window}: ${approved} approved, ${modified} approved with changes, ${denied} denied${refused > 0 ? ` (${refused} of them by policy, after somebody had changed the call)` : ''}, ${expired} expired, ${aborted} aborted, ${withdrawn} withdrawn by their agents`,
    `people took ${lasting(stats.median_time_to_decide_secs)} (median), ${lasting(stats.p95_time_to_decide_secs)} (95 %); ${percent(stats.deny_rate)} of what was decided was denied`,
    `waiting: ${waiting}${since}`,
  ].join('\n');
}

const isVote = ({ decision }: Vote): boolean => decision === 'vote';

const NOTHING_ENDED = { count: 0, approved: 0, denied: 0, modified: 0, modified_then_denied: 0, median_secs: null };

/** What each person did. Whoever only voted ended nothing, and is listed too. */
function byApprover({ by_approver }: ApprovalStats, decisions: readonly Vote[]): string {
  const votes = new Map<string, number>();
  for (const { decided_by } of decisions.filter(isVote))
    if (decided_by !== null) votes.set(decided_by, (votes.get(decided_by) ?? 0) + 1);
  const known = new Set(by_approver.map(({ decided_by }) => decided_by));
  const voters = [...votes.keys()].filter((who) => !known.has(who));
  const people = [...by_approver, ...voters.map((decided_by) => ({ decided_by, ...NOTHING_ENDED }))];
  return table(
    ['who', 'ended', 'approved', 'denied', 'changed', 'refused', 'votes', 'median'].map((head) => ({ head })),
    people.map(({ decided_by, count, approved, denied, modified, modified_then_denied, median_secs }) => [
      decided_by,
      ...[count, approved, denied, modified, modified_then_denied, votes.get(decided_by) ?? 0].map(String),
      lasting(median_secs),
    ]),
  );
}

function latest(decisions: readonly Vote[]): string {
  return table(
    [
      ...['when', 'who', 'decision', 'agent', 'tool', 'after'].map((head) => ({ head })),
      { head: 'correlation id', whole: true },
    ],
    decisions.map(({ decided_at, decided_by, decision, agent_id, tool, took_secs, correlation_id, ...votes }) => [
      decided_at?.slice(0, 19).replace('T', ' ') ?? '-',
      decided_by ?? '-',
      [
        decision,
        ...(votes.required_approvers > 1 ? [`${votes.approvals} of ${votes.required_approvers}`] : []),
        ...(votes.rehearsal ? [REHEARSAL] : []),
      ].join(', '),
      agent_id,
      tool,
      lasting(took_secs),
      correlation_id,
    ]),
  );
}
