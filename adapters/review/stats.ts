import type { ApprovalStats } from '../../contracts/review.js';
import { isPerson } from '../../domain/decision/deciders.js';
import type { StatsQuery } from '../../domain/review/ports.js';
import { FORSAKEN_AFTER_MS } from '../../domain/review/review-view.js';
import { addedTook, TOOK_WITHIN, tookAt, type TookClasses } from '../../domain/review/took.js';
import { WITHDRAWN_BY_AGENT } from '../../domain/decision/transitions.js';
import { type Ask, type Statement, statement } from '../store/statement.js';
import { oldestWaiting, waitingCount } from './waiting.js';

/** Approvers in an answer, those with most decisions first. */
const APPROVERS = 100;

type Count = number | string;
const COUNTERS = ['approved', 'modified', 'denied', 'modified_denied', 'expired', 'aborted'] as const;
type Counters = Record<(typeof COUNTERS)[number], number>;

interface Kept extends Record<keyof Counters, Count> {
  readonly decided_by: string;
  readonly took: string | TookClasses;
}
interface Sum {
  readonly counts: Counters;
  readonly took: Map<string, number>;
}

/**
 * How decisions of a window went. The database keeps the counts (`migrations/hil-decision-counts.ts`); what is read is at most one row of each
 * decider for each of some ninety spans, however many decisions there were.
 */
export function reviewStats({ ask, clock }: { readonly ask: Ask; readonly clock: () => number }) {
  return async (query: StatsQuery): Promise<ApprovalStats> => {
    const tenants = [...new Set(query.tenants)];
    const now = clock();
    const since = now - WINDOW_MS[query.window];
    const [kept, forsaken, waiting, oldestMs] = await Promise.all([
      ask(prepared(KEPT, tenants.length), ...spansFrom(since).flatMap((span) => [...tenants, ...span])),
      ask(prepared(FORSAKEN, tenants.length), ...tenants, since, now - FORSAKEN_AFTER_MS),
      waitingCount(ask, tenants, now),
      oldestWaiting(ask, tenants, now),
    ]);
    const deciders = new Map<string, Sum>();
    let withdrawn = 0;
    for (const row of kept.rows) {
      // Stored as denials, and nobody's: they are no part of how much people deny.
      if (row.decided_by === WITHDRAWN_BY_AGENT) {
        withdrawn += Number(row.denied);
        continue;
      }
      const known = deciders.get(row.decided_by) ?? emptySum();
      deciders.set(row.decided_by, known);
      add(known, row);
    }
    const all = emptySum();
    for (const { counts, took } of deciders.values()) add(all, { ...counts, took: Object.fromEntries(took) });
    const { approved, modified, denied, modified_denied, expired, aborted } = all.counts;
    const decided = approved + modified + denied;
    return {
      window: query.window,
      pending_count: waiting,
      oldest_pending_secs: oldestMs === null ? null : secondsOf(Math.max(0, now - oldestMs)),
      total_decided: decided,
      approved,
      modified,
      denied,
      modified_then_denied: modified_denied,
      expired: expired + Number(forsaken.rows[0]?.count ?? 0),
      aborted,
      withdrawn,
      deny_rate: rateOf(denied, decided),
      median_time_to_decide_secs: secondsOf(tookAt(all.took, 50)),
      p95_time_to_decide_secs: secondsOf(tookAt(all.took, 95)),
      times_within: TOOK_WITHIN,
      by_approver: [...deciders]
        .filter(([name]) => isPerson(name))
        .map(([name, sum]) => approverOf(name, sum))
        .toSorted((a, b) => b.count - a.count || (a.decided_by < b.decided_by ? -1 : 1))
        .slice(0, APPROVERS),
    };
  };
}

/** A changed call is somebody's change, whatever came of it, and its denial is by policy. */
function approverOf(decided_by: string, { counts, took }: Sum): ApprovalStats['by_approver'][number] {
  const denied = counts.denied - counts.modified_denied;
  const modified = counts.modified + counts.modified_denied;
  const count = counts.approved + denied + modified;
  return {
    decided_by,
    count,
    approved: counts.approved,
    denied,
    modified,
    modified_then_denied: counts.modified_denied,
    deny_rate: rateOf(denied, count),
    median_secs: secondsOf(tookAt(took, 50)),
  };
}

const emptySum = (): Sum => ({
  counts: { approved: 0, modified: 0, denied: 0, modified_denied: 0, expired: 0, aborted: 0 },
  took: new Map(),
});

function add({ counts, took }: Sum, row: Omit<Kept, 'decided_by'>): void {
  for (const name of COUNTERS) counts[name] += Number(row[name]);
  addedTook(took, typeof row.took === 'string' ? (JSON.parse(row.took) as TookClasses) : row.took);
}

const WINDOW_MS = { '1h': 3_600_000, '6h': 21_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;
const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];

/** From the first whole minute of a window: its minutes up to a whole hour, its hours up to a whole day, and the days. */
function spansFrom(sinceMs: number): (readonly [spanMs: number, fromMs: number, toMs: number])[] {
  const next = (ms: number, spanMs: number) => Math.ceil(ms / spanMs) * spanMs;
  const minute = (Math.floor(sinceMs / MINUTE_MS) + 1) * MINUTE_MS;
  const hour = next(minute, HOUR_MS);
  const day = next(hour, DAY_MS);
  return [
    [MINUTE_MS, minute, hour],
    [HOUR_MS, hour, day],
    [DAY_MS, day, Number.MAX_SAFE_INTEGER],
  ];
}

const secondsOf = (ms: number | null): number | null => (ms === null ? null : ms / 1_000);
const rateOf = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

const KEPT = (tenants: string): Statement<Kept> => {
  const span = `select decided_by, ${COUNTERS.join(', ')}, took from review_decisions
    where tenant in (${tenants}) and span_ms = ? and start_ms >= ? and start_ms < ?`;
  return statement([span, span, span].join(' union all '));
};

/**
 * Nobody closed them, and they are shown as expired at their deadline. `tenant || ''` keeps SQLite from an index in which it would read all
 * that waits.
 */
const FORSAKEN = (tenants: string): Statement<{ count: Count }> =>
  statement(
    `select count(*) as "count" from reviews where tenant || '' in (${tenants}) and deadline_ms > ? and deadline_ms <= ?
       and status = 'pending' and withdrawn_at is null`,
  );

const made = new Map<unknown, Map<number, Statement<unknown>>>();
/** The statement for so many tenants. */
function prepared<Row>(of: (tenants: string) => Statement<Row>, tenants: number): Statement<Row> {
  const known = made.get(of) ?? new Map<number, Statement<unknown>>();
  made.set(of, known);
  const found =
    (known.get(tenants) as Statement<Row> | undefined) ?? of(Array.from({ length: tenants }, () => '?').join(', '));
  known.set(tenants, found);
  return found;
}
