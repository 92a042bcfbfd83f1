import { toolOf } from '../../contracts/call-methods.js';
import type { JsonObject } from '../../contracts/json.js';
import type { ReviewOrder, RiskTier } from '../../contracts/review.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { summaryShown, toolShown } from '../../domain/review/masked-review.js';
import { cursorOf, type Place, placeOf } from '../../domain/review/cursor.js';
import type { ReviewLists, SummariesQuery } from '../../domain/review/ports.js';
import { type Annotations, isKept, shortView } from '../../domain/review/review-view.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import { predictedIn, summaryOf } from '../../domain/review/summary.js';
import { type Ask, type Statement, statement } from '../store/statement.js';
import type { rowCheck } from './row-check.js';
import type { rowViews } from './row-views.js';
import type { Listed, WithReport } from './stored-row.js';
import { isShownAs, STORED_AS, type StoredRange } from './stored-statuses.js';
import { waitingCount } from './waiting.js';

/** Of each row that a page looks at. The index has them. */
const PLACED = ['id', 'created_ms', 'deadline_ms', 'status'] as const satisfies (keyof StoredReview)[];
/** Looked at besides where rows of one severity are asked for. */
const RATED = [...PLACED, 'annotations'] as const satisfies (keyof StoredReview)[];
/** Looked at besides where rows with a text are. */
const SEARCHED = [
  ...RATED,
  'correlation_id',
  'agent_id',
  'method',
  'minimized_payload',
  'risk_summary',
] as const satisfies (keyof StoredReview)[];
type Placed = Pick<StoredReview, (typeof PLACED)[number]>;
type Rated = Pick<StoredReview, (typeof RATED)[number]>;
type Searched = Pick<StoredReview, (typeof SEARCHED)[number]>;

/** Whether a list has a row. */
type Verdict = boolean | 'by its prediction';
/** A row that a page looked at, and what came of it. */
interface Looked extends Place {
  readonly verdict: Verdict;
}

/** Rows that are read first where a filter may drop most of them, and then as many again as were looked at: each reading has a price. */
const STEP = 125;
/** Rows that one page looks at: what a page takes does not grow with the table, however few rows match. */
export const LOOKED_AT = 2_000;
/** Reports of the sandbox that a page opens: that costs more than all else of a search (`npm run bench -- review-lists`). */
export const OPENED = 125;

export interface SummariesOptions {
  readonly ask: Ask;
  readonly keys: KeyRing;
  readonly clock: () => number;
  /**
   * The rows of these ids. Of `listedOf` a row that Gate did not write is shown as `tampered`, a withdrawn one is among them, and one that is
   * gone is left out.
   */
  readonly check: Pick<ReturnType<typeof rowCheck>, 'listedOf' | 'reportsOf'>;
  readonly reportOf: ReturnType<typeof rowViews>['reportOf'];
}

/**
 * Pages of short rows. No payload is decrypted, and no page looks at more than a bounded number of rows. What the sandbox predicts is opened of
 * the rows that a page shows, and of those that a search looks at in vain elsewhere.
 */
export function reviewSummaries({ ask, keys, clock, check, reportOf }: SummariesOptions): ReviewLists['summaries'] {
  const short = (row: Listed, now: number) => shortView(row, reportOf(row), now);
  return async (query, asShown = async (rows) => rows) => {
    const { status, limit, sort, q, risk_tier, cursor } = query;
    const tenants = [...new Set(query.tenants)].toSorted();
    const list = [tenants, status, sort, q ?? null, risk_tier ?? null];
    const now = clock();
    const [filter, from] = [filterOf(query, now), cursor === undefined ? null : placeOf(keys, list, cursor)];
    const found: string[] = [];
    let [place, looked, opened, more] = [from, 0, 0, true];
    while (more && found.length <= limit && looked < LOOKED_AT && opened < OPENED) {
      const whole = q === undefined && risk_tier === undefined && looked === 0;
      const step = whole ? limit + 1 : Math.min(Math.max(STEP, looked), LOOKED_AT - looked);
      const read = await pageAfter(place, step);
      const sealed = read.filter(({ verdict }) => verdict === 'by its prediction');
      // As far as the first one that is too many to be opened.
      const [tooMany] = sealed.slice(OPENED - opened);
      const rows = tooMany ? read.slice(0, read.indexOf(tooMany)) : read;
      more = read.length === step || tooMany !== undefined;
      looked += rows.length;
      const predicted = await predictedSo(sealed.slice(0, OPENED - opened));
      opened += Math.min(sealed.length, OPENED - opened);
      for (const row of rows) {
        if (row.verdict === true || predicted.has(row.id)) {
          found.push(row.id);
          if (found.length > limit) break;
        }
        place = row;
      }
    }
    const shown = (await check.listedOf(found.slice(0, limit))).filter(({ withdrawn_at }) => withdrawn_at === null);
    return {
      items: (await asShown(shown.map((row) => short(row, now)))).map(summaryOf),
      next_cursor: place !== null && (more || found.length > limit) ? cursorOf(keys, list, place) : null,
      searched_to: place !== null && more && found.length <= limit ? instantOf(place) : null,
      pending_count: await waitingCount(ask, tenants, now),
    };

    /** Those of which the sandbox predicts what is looked for; what does not open is found by nothing. */
    async function predictedSo(rows: readonly Place[]): Promise<ReadonlySet<string>> {
      const text = q?.toLowerCase() ?? '';
      const sealed = await check.reportsOf(rows.map(({ id }) => id));
      return new Set(sealed.flatMap((row) => (says(predictionIn(row), text) ? [row.id] : [])));
    }

    /** As the list shows it. */
    function predictionIn(row: WithReport): string {
      try {
        return isKept(row, now) ? (predictedIn(reportOf(row)) ?? '') : '';
      } catch {
        return '';
      }
    }

    async function pageAfter(after: Place | null, step: number): Promise<Looked[]> {
      const ranges = tenants.flatMap((tenant) => STORED_AS[status].map((stored) => ({ tenant, ...stored })));
      const values = ranges.flatMap(({ tenant, status: stored }) => [
        tenant,
        stored,
        ...(after ? [after.created_ms, after.id] : []),
        step,
      ]);
      const { columns, verdictOn } = filter;
      const { rows } = await ask(pageStatement(columns, sort, ranges, after !== null), ...values, step);
      return rows.map((row) => ({ id: row.id, created_ms: row.created_ms, verdict: verdictOn(row) }));
    }
  };
}

/** `null` for a row whose time somebody edited to be none. */
function instantOf({ created_ms }: Place): string | null {
  const at = new Date(Number(created_ms));
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** The beginning of an id, as lists show it or longer. */
const ID_BEGINS = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/;

interface Filter {
  /** Read of each row; the others are not there. */
  readonly columns: readonly (keyof Searched)[];
  readonly verdictOn: (row: Searched) => Verdict;
}

/**
 * Whether a text is in what is shown of a field. Who sees it masked must not learn by a search, nor by how far one came, what stands there in
 * clear. A field in which the text is not at all is not masked: a page looks at many rows.
 */
export const says = (field: string, text: string, masked?: (field: string) => string): boolean =>
  field.toLowerCase().includes(text) && (masked === undefined || masked(field).toLowerCase().includes(text));

/** Case is ignored here and not by the store: SQLite knows that of ASCII only. */
function filterOf({ status, q, risk_tier, isMasked }: SummariesQuery, now: number): Filter {
  const text = q?.toLowerCase();
  const begins = ID_BEGINS.exec(text?.trim() ?? '')?.[0];
  const isOfStatus = (row: Placed): boolean => isShownAs(status, row, now);
  // Nothing of a row that Gate did not write is shown, so nothing of it is found.
  const isOfTier = (row: Rated): boolean =>
    row.status !== 'tampered' && (risk_tier === undefined || isRated(row, risk_tier));
  if (text !== undefined)
    return {
      columns: SEARCHED,
      verdictOn: (row) => {
        if (!isOfStatus(row) || !isOfTier(row)) return false;
        const found =
          [row.agent_id, row.method].some((field) => says(field, text)) ||
          says(row.risk_summary, text, isMasked ? summaryShown : undefined) ||
          isOfTool(row, text, isMasked ? toolShown : undefined) ||
          (begins !== undefined && [row.id, row.correlation_id].some((id) => id.startsWith(begins)));
        // Who sees it masked is shown no prediction in a list.
        return found || (!isMasked && tierOf(row) !== 'unscored' && 'by its prediction');
      },
    };
  return risk_tier === undefined
    ? { columns: PLACED, verdictOn: isOfStatus }
    : { columns: RATED, verdictOn: (row) => isOfStatus(row) && isOfTier(row) };
}

/** Whether the sandbox predicts this severity. Most rows say without being parsed that it does not. */
const isRated = (row: Rated, tier: RiskTier): boolean =>
  (tier === 'unscored' || row.annotations.includes(`"severity":"${tier}"`)) && tierOf(row) === tier;

/** Whether the tool that the row is shown with has this text in its name. Most rows say without being parsed that it has not. */
function isOfTool({ minimized_payload, method }: Searched, text: string, masked?: (tool: string) => string): boolean {
  if (!minimized_payload.includes('\\') && !minimized_payload.toLowerCase().includes(text)) return false;
  try {
    return says(toolOf({ request_payload: JSON.parse(minimized_payload) as JsonObject, method }), text, masked);
  } catch {
    return false;
  }
}

/** The severity that the sandbox predicts. Rows are not verified here: the annotations of one that somebody edited may be anything. */
function tierOf({ annotations }: Rated): string | null {
  try {
    return (JSON.parse(annotations) as Annotations).sandbox_report?.severity ?? 'unscored';
  } catch {
    return null;
  }
}

const statements = new Map<string, Statement<Searched>>();

/** One range of an index per tenant and stored status, each read from the place on, and merged. */
function pageStatement(
  columns: Filter['columns'],
  sort: ReviewOrder,
  ranges: readonly StoredRange[],
  after: boolean,
): Statement<Searched> {
  const key = `${columns.length} ${sort} ${after} ${ranges.map(({ and }) => and ?? '').join(';')}`;
  const known = statements.get(key);
  if (known) return known;
  const [behind, direction] = sort === 'newest' ? ['<', 'desc'] : ['>', 'asc'];
  const ordered = `order by created_ms ${direction}, id ${direction} limit ?`;
  const range = (and: string | null) => `select ${columns.join(', ')} from reviews
    where tenant = ? and status = ?${and === null ? '' : ` and ${and}`} and withdrawn_at is null${after ? ` and (created_ms, id) ${behind} (?, ?)` : ''} ${ordered}`;
  const all = ranges.map(({ and }, index) => `select * from (${range(and)}) as range_${index}`);
  const made = statement<Searched>(`${all.join(' union all ')} ${ordered}`);
  statements.set(key, made);
  return made;
}
