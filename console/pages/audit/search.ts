import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { RowsQuery, Services } from '../../services.js';

/**
 * Rows that one search looks at, where few of them may be what is looked for: no index leads to those, and a million took seconds
 * (`npm run bench -- console`).
 */
const LOOKED_AT = 200_000;

export interface Found {
  readonly rows: readonly LedgerEntry[];
  /** The oldest place that was looked at, where there may be more before it; `null` where the answer is whole, or full. */
  readonly lookedDownTo: number | null;
}

/** Whether an index leads to what a query asks for. */
const isRare = ({ agent, verdict, methods, tool }: RowsQuery): boolean =>
  [verdict, methods, tool].some((of) => of !== undefined) || (agent.includes('*') && agent !== '*');

/** The newest rows of a query; of what may be rare only among a part of the chain, which says how far it goes. */
export async function searched(ledger: Pick<Services['ledger'], 'rows'>, query: RowsQuery): Promise<Found> {
  if (!isRare(query)) return { rows: await ledger.rows(query), lookedDownTo: null };
  const { before = await endOf(ledger, query), limit } = query;
  const seqFrom = Math.max(1, before - LOOKED_AT);
  const rows = await ledger.rows({ ...query, before, seqFrom });
  return { rows, lookedDownTo: rows.length < limit && seqFrom > 1 ? seqFrom : null };
}

/** All rows of a query, newest first, a page at a time: no request to the ledger looks at more than one search does. */
export async function* pagesOf(
  ledger: Pick<Services['ledger'], 'rows'>,
  query: RowsQuery,
): AsyncGenerator<readonly LedgerEntry[]> {
  let { before } = query;
  for (;;) {
    const { rows, lookedDownTo } = await searched(ledger, { ...query, ...(before !== undefined && { before }) });
    if (rows.length > 0) yield rows;
    if (rows.length < query.limit && lookedDownTo === null) return;
    before = lookedDownTo ?? rows.at(-1)?.seq;
  }
}

/** The place after the newest row that may be meant. */
async function endOf({ rows }: Pick<Services['ledger'], 'rows'>, { to }: RowsQuery): Promise<number> {
  const [newest] = await rows({ agent: '*', limit: 1, ...(to !== undefined && { to }) });
  return newest === undefined ? 1 : Number(newest.seq) + 1;
}
