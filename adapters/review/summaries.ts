import { toolOf } from '../../contracts/call-methods.js';
import type { JsonObject } from '../../contracts/json.js';
import type { ReviewOrder, ReviewStatus } from '../../contracts/review.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { cursorOf, type Place, placeOf } from '../../domain/review/cursor.js';
import type { SummariesQuery, SummaryPage } from '../../domain/review/ports.js';
import { type Annotations, FORSAKEN_AFTER_MS, NO_CONTENT, view } from '../../domain/review/review-view.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import { summaryOf } from '../../domain/review/summary.js';
import { type Ask, type Statement, statement } from '../store/statement.js';
import type { rowCheck } from './row-check.js';
import type { rowViews } from './row-views.js';
import type { Listed } from './stored-row.js';
import { waitingCount } from './waiting.js';

/** What a filter looks at. */
type Looked = Pick<
  StoredReview,
  | 'id'
  | 'correlation_id'
  | 'created_ms'
  | 'deadline_ms'
  | 'status'
  | 'agent_id'
  | 'method'
  | 'minimized_payload'
  | 'risk_summary'
  | 'annotations'
>;

/** Rows that are read at a time where a filter may drop most of them. */
const STEP = 500;
/** Rows that one page looks at: what a page takes does not grow with the table, however few rows match. */
export const LOOKED_AT = 2_000;

export interface SummariesOptions {
  readonly ask: Ask;
  readonly keys: KeyRing;
  readonly clock: () => number;
  /**
   * The rows of these ids. Of `listedOf` a row that Gate did not write is shown as `tampered`, a withdrawn one is among them, and one that is
   * gone is left out.
   */
  readonly check: Pick<ReturnType<typeof rowCheck>, 'listedOf' | 'unchecked'>;
  readonly reportOf: ReturnType<typeof rowViews>['reportOf'];
}

/**
 * Pages of short rows. No payload is decrypted, and no page looks at more than a bounded number of rows. What the sandbox predicts is opened of
 * the rows that a page shows, and of those that a search looks at in vain elsewhere.
 */
export function reviewSummaries({ ask, keys, clock, check, reportOf }: SummariesOptions) {
  const short = (row: Listed, now: number) =>
    summaryOf(view(row, { ...NO_CONTENT, report: reportOf(row) }, now, 'summary'));
  return async (query: SummariesQuery): Promise<SummaryPage> => {
    const { status, limit, sort, q, risk_tier, cursor } = query;
    const tenants = [...new Set(query.tenants)].toSorted();
    const list = [tenants, status, sort, q ?? null, risk_tier ?? null];
    const now = clock();
    const [wants, from] = [wanted(query, now), cursor === undefined ? null : placeOf(keys, list, cursor)];
    const found: string[] = [];
    let [place, looked, more] = [from, 0, true];
    while (more && found.length <= limit && looked < LOOKED_AT) {
      const step = q === undefined && risk_tier === undefined && looked === 0 ? limit + 1 : STEP;
      const rows = await pageAfter(place, step);
      more = rows.length === step;
      looked += rows.length;
      const verdicts = new Map(rows.map((row) => [row.id, wants(row)]));
      const predicted = await predictedSo(rows.filter(({ id }) => verdicts.get(id) === 'by its prediction'));
      for (const row of rows) {
        if (verdicts.get(row.id) !== true && !predicted.has(row.id)) {
          place = placeAt(row);
          continue;
        }
        found.push(row.id);
        if (found.length > limit) break;
        place = placeAt(row);
      }
    }
    const shown = (await check.listedOf(found.slice(0, limit))).filter(({ withdrawn_at }) => withdrawn_at === null);
    return {
      items: shown.map((row) => short(row, now)),
      next_cursor: place !== null && (more || found.length > limit) ? cursorOf(keys, list, place) : null,
      pending_count: await waitingCount(ask, tenants, now),
    };

    /** Those of which the sandbox predicts what is looked for; what does not open is found by nothing. */
    async function predictedSo(rows: readonly Looked[]): Promise<ReadonlySet<string>> {
      const text = q?.toLowerCase() ?? '';
      const opened = await check.unchecked(rows.map(({ id }) => id));
      return new Set(opened.flatMap((row) => (predictionIn(row).toLowerCase().includes(text) ? [row.id] : [])));
    }

    function predictionIn(row: Listed): string {
      if (row.sandbox_report === null) return '';
      try {
        return short(row, now).predicted ?? '';
      } catch {
        return '';
      }
    }

    async function pageAfter(after: Place | null, step: number): Promise<Looked[]> {
      const ranges = tenants.flatMap((tenant) => WRITTEN[status].map((written) => [tenant, written] as const));
      const asked = pageStatement(sort, ranges.length, after !== null);
      const values = ranges.flatMap((range) => [...range, ...(after ? [after.created_ms, after.id] : []), step]);
      return (await ask(asked, ...values, step)).rows;
    }
  };
}

/** The stored statuses among which rows of a shown status are (docs/architecture/reviews.md#deadline). */
const WRITTEN = {
  pending: ['pending', 'tampered'],
  approved: ['approved'],
  denied: ['denied'],
  expired: ['expired', 'pending'],
} as const satisfies Record<SummariesQuery['status'], readonly ReviewStatus[]>;

/** The beginning of an id, as lists show it or longer. */
const ID_BEGINS = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/;

const placeAt = ({ created_ms, id }: Looked): Place => ({ created_ms: Number(created_ms), id });

/** Case is folded here and not by the store: SQLite knows that of ASCII only. */
function wanted({ status, q, risk_tier }: SummariesQuery, now: number): (row: Looked) => boolean | 'by its prediction' {
  const text = q?.toLowerCase();
  const begins = ID_BEGINS.exec(text?.trim() ?? '')?.[0];
  return (row) => {
    const forsaken = row.status === 'pending' && Number(row.deadline_ms) <= now - FORSAKEN_AFTER_MS;
    if (row.status === 'pending' && forsaken !== (status === 'expired')) return false;
    if (text === undefined && risk_tier === undefined) return true;
    // Nothing of a row that Gate did not write is shown, so nothing of it is found.
    if (row.status === 'tampered') return false;
    if (risk_tier !== undefined && tierOf(row) !== risk_tier) return false;
    const found =
      text === undefined ||
      [row.agent_id, row.method, row.risk_summary].some((field) => field.toLowerCase().includes(text)) ||
      toolIn(row).toLowerCase().includes(text) ||
      (begins !== undefined && [row.id, row.correlation_id].some((id) => id.startsWith(begins)));
    return found || 'by its prediction';
  };
}

/** The tool that the row is shown with. */
function toolIn({ minimized_payload, method }: Looked): string {
  try {
    return toolOf({ request_payload: JSON.parse(minimized_payload) as JsonObject, method });
  } catch {
    return '';
  }
}

/** The severity that the sandbox predicts. Rows are not verified here: the annotations of one that somebody edited may be anything. */
function tierOf({ annotations }: Looked): string | null {
  try {
    return (JSON.parse(annotations) as Annotations).sandbox_report?.severity ?? 'unscored';
  } catch {
    return null;
  }
}

const statements = new Map<string, Statement<Looked>>();

/** One range of the index `reviews_listed` per tenant and stored status, each read from the place on, and merged. */
function pageStatement(sort: ReviewOrder, ranges: number, after: boolean): Statement<Looked> {
  const key = `${sort} ${ranges} ${after}`;
  const known = statements.get(key);
  if (known) return known;
  const [behind, direction] = sort === 'newest' ? ['<', 'desc'] : ['>', 'asc'];
  const ordered = `order by created_ms ${direction}, id ${direction} limit ?`;
  const range = `select id, correlation_id, created_ms, deadline_ms, status, agent_id, method, minimized_payload, risk_summary, annotations from reviews
    where tenant = ? and status = ? and withdrawn_at is null${after ? ` and (created_ms, id) ${behind} (?, ?)` : ''} ${ordered}`;
  const all = Array.from({ length: ranges }, (_, index) => `select * from (${range}) as range_${index}`);
  const made = statement<Looked>(`${all.join(' union all ')} ${ordered}`);
  statements.set(key, made);
  return made;
}
