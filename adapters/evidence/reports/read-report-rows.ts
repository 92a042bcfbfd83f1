import type { Kysely } from 'kysely';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { extent, filtered, type Places, scan } from '../../ledger/rows.js';
import { detailMatches, type RowFilter } from '../../../domain/ledger/row-filter.js';
import { isRehearsal } from '../../../domain/evidence/reports/outcome.js';
import { type ReportRow, LIGHT_COLUMNS, toReportRow } from '../../../domain/evidence/reports/report-rows.js';

const LIGHT = [...LIGHT_COLUMNS, 'source'] as const;
const COLUMNS = [...LIGHT, 'reasoning', 'policy_decision'] as const;

/**
 * The rows of a filter, as reports read them, page by page in chain order. Every report is computed from these, so that both stores give the same
 * result. Rows of reviews that no call asked for are left out: they are no agent's doing. `light` leaves out reasoning and decision, which are
 * most of a row; it is for reports that only count.
 */
export async function* reportPages(
  db: Kysely<LedgerTables>,
  filter: RowFilter,
  { light = false, places }: { readonly light?: boolean; readonly places?: Places } = {},
): AsyncGenerator<ReportRow[]> {
  // A decision may be a quarter of a megabyte, and a page of them is in memory at once.
  const options = { places, ...(!light && { pageRows: 100 }) };
  for await (const page of scan(db, filter, light ? LIGHT : COLUMNS, options)) {
    const reportRows = page
      .filter((row) => !isRehearsal(row))
      .map(toReportRow)
      .filter((reportRow) => detailMatches(filter.detail, reportRow.decision));
    if (reportRows.length > 0) yield reportRows;
  }
}

/** Places that are looked at for each row that a page may have. */
const PLACES_FOR_A_ROW = 2_000;

/**
 * Where the next page of a filter is looked for, and where the one after it begins if there is no row: few rows in a long ledger take no longer than
 * somebody waits for a page.
 */
export async function placesOfPage(
  db: Kysely<LedgerTables>,
  filter: RowFilter,
  limit: number,
): Promise<{ readonly places: Places; readonly next: number | null }> {
  const { low, high } = await extent(db, filter);
  const last = Math.min(high, low + limit * PLACES_FOR_A_ROW - 1);
  return { places: { low, high: last }, next: last < high ? last : null };
}

/** The rows at these places that are not hidden, in chain order. */
export async function reportRowsAt(db: Kysely<LedgerTables>, seqs: readonly number[]): Promise<ReportRow[]> {
  if (seqs.length === 0) return [];
  const rows = await filtered(db.selectFrom('ledger_entries').select(COLUMNS), {})
    .where('seq', 'in', seqs)
    .orderBy('seq')
    .execute();
  return rows.map(toReportRow);
}
