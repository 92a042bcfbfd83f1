import type { ApprovalStats } from '../../contracts/review.js';
import type { StatsQuery } from '../../domain/review/ports.js';
import { FORSAKEN_AFTER_MS } from '../../domain/review/review-view.js';
import { type Ask, type Statement, statement, type Value } from '../store/statement.js';
import { oldestWaiting, waitingCount } from './waiting.js';

/** Approvers in an answer, those with most decisions first. */
const APPROVERS = 100;

type Count = number | string;
interface Took {
  readonly decided: Count;
  readonly median: Count | null;
  readonly p95: Count | null;
}
interface Approver {
  readonly decided_by: string;
  readonly decided: Count;
  readonly approved: Count;
  readonly denied: Count;
  readonly modified: Count;
  readonly modified_denied: Count;
  readonly median: Count | null;
}

/** How decisions of a window went. All is computed by the database; what comes back is bounded, however many decisions there were. */
export function reviewStats({ ask, clock }: { readonly ask: Ask; readonly clock: () => number }) {
  return async (query: StatsQuery): Promise<ApprovalStats> => {
    const tenants = [...new Set(query.tenants)];
    const now = clock();
    const since = now - WINDOW_MS[query.window];
    const asked = <Row>(of: (tenants: string) => Statement<Row>, ...more: Value[]) =>
      ask(prepared(of, tenants.length), ...tenants, since, ...more);
    const [counted, forsaken, took, approvers, waiting, oldestMs] = await Promise.all([
      asked(COUNTED),
      asked(FORSAKEN, now - FORSAKEN_AFTER_MS),
      asked(TOOK),
      asked(BY_APPROVER, APPROVERS),
      waitingCount(ask, tenants, now),
      oldestWaiting(ask, tenants, now),
    ]);
    const by = Object.fromEntries(counted.rows.map(({ status, count }) => [status, Number(count)]));
    const [approved = 0, denied = 0, expired = 0] = [by['approved'], by['denied'], by['expired']];
    const modifiedAs = (status: string) => Number(counted.rows.find((row) => row.status === status)?.modified ?? 0);
    const modified = modifiedAs('approved');
    const [times] = took.rows;
    return {
      window: query.window,
      pending_count: waiting,
      oldest_pending_secs: oldestMs === null ? null : secondsOf(Math.max(0, now - oldestMs)),
      total_decided: approved + denied,
      approved: approved - modified,
      modified,
      denied,
      modified_then_denied: modifiedAs('denied'),
      expired: expired + Number(forsaken.rows[0]?.count ?? 0),
      deny_rate: rateOf(denied, approved + denied),
      median_time_to_decide_secs: secondsOf(times?.median),
      p95_time_to_decide_secs: secondsOf(times?.p95),
      by_approver: approvers.rows.map((row) => ({
        decided_by: row.decided_by,
        count: Number(row.decided),
        approved: Number(row.approved),
        denied: Number(row.denied),
        modified: Number(row.modified),
        modified_then_denied: Number(row.modified_denied),
        deny_rate: rateOf(Number(row.denied), Number(row.decided)),
        median_secs: secondsOf(row.median),
      })),
    };
  };
}

const WINDOW_MS = { '1h': 3_600_000, '6h': 21_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;

const secondsOf = (ms: Count | null | undefined): number | null => (ms == null ? null : Number(ms) / 1_000);
const rateOf = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

const decidedIn = (tenants: string): string =>
  `from reviews where tenant in (${tenants}) and decided_ms > ? and withdrawn_at is null`;
/** By people. A clock that was set back does not make a decision earlier than its question. */
const BY_PEOPLE = `and status in ('approved', 'denied') and decided_by not like 'system:%'`;
const TOOK_MS = `case when decided_ms > created_ms then decided_ms - created_ms else 0 end as took`;

const COUNTED = (tenants: string): Statement<{ status: string; count: Count; modified: Count }> =>
  statement(`select status, count(*) as "count", count(modified) as modified ${decidedIn(tenants)} group by status`);

/**
 * Nobody closed them, and they are shown as expired at their deadline. `tenant || ''` keeps SQLite from an index in which it would read all
 * that waits.
 */
const FORSAKEN = (tenants: string): Statement<{ count: Count }> =>
  statement(
    `select count(*) as "count" from reviews where tenant || '' in (${tenants}) and deadline_ms > ? and deadline_ms <= ?
       and status = 'pending' and withdrawn_at is null`,
  );

/** Nearest rank: the value at place ceil(p·n) of n in order. */
const TOOK = (tenants: string): Statement<Took> =>
  statement(
    `select max(n) as decided, max(case when place = (n + 1) / 2 then took end) as median,
       max(case when place = (95 * n + 99) / 100 then took end) as p95
     from (select took, row_number() over (order by took) as place, count(*) over () as n
       from (select ${TOOK_MS} ${decidedIn(tenants)} ${BY_PEOPLE}) as decided) as placed`,
  );

const BY_APPROVER = (tenants: string): Statement<Approver> =>
  statement(
    `select decided_by, max(n) as decided,
       sum(case when status = 'approved' and modified is null then 1 else 0 end) as approved,
       sum(case when status = 'denied' and modified is null then 1 else 0 end) as denied,
       count(modified) as modified, sum(case when status = 'denied' then modified else 0 end) as modified_denied,
       max(case when place = (n + 1) / 2 then took end) as median
     from (select decided_by, status, modified, took, row_number() over (partition by decided_by order by took) as place,
         count(*) over (partition by decided_by) as n
       from (select decided_by, status, modified, ${TOOK_MS} ${decidedIn(tenants)} ${BY_PEOPLE}) as decided) as placed
     group by decided_by order by max(n) desc, decided_by limit ?`,
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
