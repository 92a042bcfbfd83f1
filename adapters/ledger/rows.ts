import { type Kysely, type SelectQueryBuilder, sql, type SqlBool } from 'kysely';
import type { ChainHead } from '../../domain/ledger/chain.js';
import type { EntryTable, LedgerTables } from '../../domain/ledger/tables.js';
import type { RowFilter } from '../../domain/ledger/row-filter.js';

type Entries = SelectQueryBuilder<LedgerTables, 'ledger_entries', object>;

/**
 * Adds the filter's conditions to `query`. Conditions on `policy_decision` are only approximated, because the stores' JSON functions
 * differ; `detailMatches` decides.
 */
export function filtered<Query extends Entries>(query: Query, filter: RowFilter): Query {
  const { agentId, agentLike, tool, correlationId, tenant, demoPrefix, seqFrom, seqTo, from, to } = filter;
  const { methods, eventKinds, signal, source, authorized, detail, hiding = 'reads' } = filter;
  let narrowed: Entries = query;
  if (agentId !== undefined) narrowed = narrowed.where('agent_id', '=', agentId);
  if (agentLike !== undefined) {
    const pattern = agentLike
      .toLowerCase()
      .replaceAll(/[\\%_]/g, '\\$&')
      .replaceAll('*', '%');
    narrowed = narrowed.where(sql<SqlBool>`lower(agent_id) like ${pattern} escape '\\'`);
  }
  if (tool !== undefined) narrowed = narrowed.where('tool_name', '=', tool);
  if (correlationId !== undefined) narrowed = narrowed.where('correlation_id', '=', correlationId);
  if (demoPrefix !== undefined) {
    // '.' follows '-' in ASCII, so this range holds exactly the ids whose first group is the prefix, in either store's byte order.
    narrowed = narrowed.where(
      sql<SqlBool>`((correlation_id >= ${`${demoPrefix}-`} and correlation_id < ${`${demoPrefix}.`}) or source = 'simulator')`,
    );
  } else if (tenant !== undefined) {
    // The index on agent or call selects fewer rows; without statistics a store would pick the tenant's index instead, so hide that column.
    const shorter = agentId !== undefined || correlationId !== undefined || areAlarms(filter);
    narrowed = narrowed.where(shorter ? sql<string>`coalesce(tenant, '')` : 'tenant', '=', tenant);
  }
  if (seqFrom !== undefined) narrowed = narrowed.where('seq', '>=', seqFrom);
  if (seqTo !== undefined) narrowed = narrowed.where('seq', '<=', seqTo);
  if (from !== undefined) narrowed = narrowed.where('timestamp', '>=', from);
  if (to !== undefined) narrowed = narrowed.where('timestamp', '<', to);
  if (methods !== undefined) narrowed = narrowed.where('method', 'in', methods);
  if (eventKinds !== undefined) narrowed = narrowed.where('event_kind', 'in', eventKinds);
  // As the index of alarms has it: without the same words a store does not see that it may be used.
  if (areAlarms(filter)) narrowed = narrowed.where(sql<SqlBool>`event_kind >= 'alarm.' and event_kind < 'alarm/'`);
  if (signal !== undefined) narrowed = narrowed.where('signal', '=', signal);
  if (source !== undefined) narrowed = narrowed.where('source', '=', source);
  if (authorized !== undefined) narrowed = narrowed.where('authorized', '=', authorized ? 1 : 0);
  for (const value of Object.values(detail ?? {})) {
    // The column holds canonical JSON, so a value that occurs in it occurs in exactly these bytes.
    const pattern = `%${JSON.stringify(value).replaceAll(/[\\%_]/g, '\\$&')}%`;
    narrowed = narrowed.where(
      STOPPED.has(value)
        ? sql<SqlBool>`policy_decision like ${sql.lit(`%${JSON.stringify(value)}%`)}`
        : sql<SqlBool>`policy_decision like ${pattern} escape '\\'`,
    );
  }
  if (hiding !== 'nothing') narrowed = narrowed.where('deleted_at', 'is', null);
  if (hiding === 'reads') narrowed = narrowed.where('demo_deleted_at', 'is', null);
  return narrowed as Query;
}

/** Whether the rows are alarms, each of which stands in an index of its own. */
const areAlarms = ({ eventKinds }: RowFilter): boolean =>
  eventKinds !== undefined && eventKinds.length > 0 && eventKinds.every((kind) => kind.startsWith('alarm.'));

/** Words of a decision that the index of stopped calls is made of, each in the same words (`migrations/ledger-rare-rows.ts`). */
const STOPPED: ReadonlySet<string> = new Set(['deny', 'park', 'rate_limited']);
const areStopped = ({ detail }: RowFilter): boolean => Object.values(detail ?? {}).some((value) => STOPPED.has(value));

/** Lets the event loop run. A file store answers synchronously, and a long read must not block appends. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Places per statement when no index selects the rows. */
const SCAN_BLOCK = 20_000;
/** Places per statement when the index on agents selects rows of which a further condition may leave none. */
const AGENT_BLOCK = 10 * SCAN_BLOCK;
/** Places per statement when the index of alarms, or of a tenant's stopped calls, selects the rows. */
const RARE_BLOCK = 10 * SCAN_BLOCK;

/** How many places one statement looks at. */
function blockOf(filter: RowFilter): number {
  const { agentId, correlationId, tenant, demoPrefix } = filter;
  if (correlationId !== undefined) return Number.POSITIVE_INFINITY;
  if (areAlarms(filter)) return RARE_BLOCK;
  const { agentLike, tool, methods, eventKinds, signal, source, authorized, detail } = filter;
  // A tenant's or an agent's rows are found by their index, but those of a tool that was never used only by looking at all of them.
  const narrows = [agentLike, tool, methods, eventKinds, signal, source, authorized, detail].some(
    (of) => of !== undefined,
  );
  if (agentId !== undefined) return narrows ? AGENT_BLOCK : Number.POSITIVE_INFINITY;
  if (tenant !== undefined && demoPrefix === undefined && areStopped(filter)) return RARE_BLOCK;
  return tenant !== undefined && demoPrefix === undefined && !narrows ? Number.POSITIVE_INFINITY : SCAN_BLOCK;
}

export interface ScanOptions {
  readonly newestFirst?: boolean;
  /** Rows held in memory at a time. */
  readonly pageRows?: number;
  /** The places of the filter, where somebody looked them up. */
  readonly places?: Places | undefined;
}

/**
 * The rows of a filter in chain order, page by page. Memory and the time of one statement stay bounded, however long the chain is. Rows
 * that are appended after the first page are not included.
 */
export async function* scan<Column extends keyof EntryTable>(
  db: Kysely<LedgerTables>,
  filter: RowFilter,
  columns: readonly Column[],
  { newestFirst = false, pageRows = 500, places }: ScanOptions = {},
): AsyncGenerator<Pick<EntryTable, Column>[]> {
  // A call has few rows, so its range need not be looked up.
  const { low, high } = places ?? (filter.correlationId === undefined ? await extent(db, filter) : ANYWHERE);
  const wanted = [...new Set<keyof EntryTable>(['seq', ...columns])];
  let from = low;
  let to = high;
  while (from <= to) {
    const block = Math.min(blockOf(filter), to - from + 1);
    const bounds = newestFirst
      ? { seqFrom: Math.max(from, to - block + 1), seqTo: to }
      : { seqFrom: from, seqTo: Math.min(to, from + block - 1) };
    const rows = (await filtered(db.selectFrom('ledger_entries').select(wanted), { ...filter, ...bounds })
      .orderBy('seq', newestFirst ? 'desc' : 'asc')
      .limit(pageRows)
      .execute()) as Pick<EntryTable, Column | 'seq'>[];
    const last = rows.length === pageRows ? Number((rows.at(-1) as { seq: number | string }).seq) : null;
    if (newestFirst) to = (last ?? bounds.seqFrom) - 1;
    else from = (last ?? bounds.seqTo) + 1;
    if (rows.length > 0) yield rows;
    await turn();
  }
}

/** How many rows match the filter, ignoring `detail`, which only code can match. */
export async function countRows(db: Kysely<LedgerTables>, filter: RowFilter): Promise<number> {
  const { low, high } = await extent(db, filter);
  const block = filter.agentId === undefined ? SCAN_BLOCK : AGENT_BLOCK;
  let count = 0;
  for (let from = low; from <= high; from += block) {
    const row = await filtered(
      db.selectFrom('ledger_entries').select((eb) => eb.fn.countAll().as('count')),
      { ...filter, seqFrom: from, seqTo: Math.min(high, from + block - 1) },
    ).executeTakeFirst();
    count += Number(row?.count ?? 0);
    await turn();
  }
  return count;
}

const ANYWHERE = { low: 0, high: Number.MAX_SAFE_INTEGER };

/** The filter with its time window also expressed as places, which are indexed. */
export async function placed(db: Kysely<LedgerTables>, filter: RowFilter): Promise<RowFilter> {
  if (filter.from === undefined && filter.to === undefined) return filter;
  const { low, high } = await extent(db, filter);
  return { ...filter, seqFrom: low, seqTo: high };
}

export interface Places {
  readonly low: number;
  readonly high: number;
}

/** The range of places that holds the rows of a filter. */
export async function extent(db: Kysely<LedgerTables>, { seqFrom, seqTo, from, to }: RowFilter): Promise<Places> {
  // Two queries, because each alone is answered from one end of the index.
  const end = (direction: 'asc' | 'desc') =>
    db.selectFrom('ledger_entries').select(['seq', 'timestamp']).orderBy('seq', direction).limit(1).executeTakeFirst();
  const [oldest, newest] = [await end('asc'), await end('desc')];
  if (!oldest || !newest) return { low: 1, high: 0 };
  const ends = { first: Number(oldest.seq), last: Number(newest.seq) };
  const window = {
    low: from === undefined || from <= oldest.timestamp ? ends.first : await placeOf(db, from, ends),
    high: to === undefined || to > newest.timestamp ? ends.last : (await placeOf(db, to, ends)) - 1,
  };
  const signed = from === undefined && to === undefined ? null : await signedExtent(db, from, to);
  return {
    low: Math.max(ends.first, seqFrom ?? 0, Math.min(window.low, signed?.low ?? window.low)),
    high: Math.min(ends.last, seqTo ?? ends.last, Math.max(window.high, signed?.high ?? window.high)),
  };
}

/** The range of places that holds the signed rows of a window. They carry their signer's time, so they may be anywhere. */
async function signedExtent(
  db: Kysely<LedgerTables>,
  from: string | undefined,
  to: string | undefined,
): Promise<{ readonly low: number; readonly high: number } | null> {
  let query = db
    .selectFrom('ledger_entries')
    .select((eb) => [eb.fn.min('seq').as('low'), eb.fn.max('seq').as('high')])
    .where((eb) => eb.or([eb('signature', 'is not', null), eb('key_id', 'is not', null)]));
  if (from !== undefined) query = query.where('timestamp', '>=', from);
  if (to !== undefined) query = query.where('timestamp', '<', to);
  const row = await query.executeTakeFirst();
  return row?.low === null || row?.low === undefined ? null : { low: Number(row.low), high: Number(row.high) };
}

/**
 * The chain's length and hash at a moment: up to the newest unsigned row that was committed by then. A signed row has its signer's time, so
 * it counts from the next unsigned row on, and no later append changes the answer for a past moment. `null` for an empty chain.
 */
export async function committedBy(db: Kysely<LedgerTables>, ms: number): Promise<ChainHead | null> {
  const { low: first, high: last } = await extent(db, {});
  if (last < first) return null;
  // The row right before the first later one is unsigned.
  const length = (await placeOf(db, new Date(ms + 1).toISOString(), { first, last })) - 1;
  const hashIn = (table: 'ledger_entries' | 'ledger_vacuumed_rows') =>
    db.selectFrom(table).select('entry_hash').where('seq', '=', length).executeTakeFirst();
  // When that entry was vacuumed, its kept hash is used.
  const row = (await hashIn('ledger_entries')) ?? (await hashIn('ledger_vacuumed_rows'));
  return row ? { length, hash: row.entry_hash } : null;
}

/**
 * The first place of an unsigned row committed at or after `time`. Commit times never decrease along the chain (`commitTime`), so a binary
 * search finds it without an index that every append would have to update.
 */
async function placeOf(
  db: Kysely<LedgerTables>,
  time: string,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<number> {
  let low = first;
  let high = last + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = await db
      .selectFrom('ledger_entries')
      .select(['seq', 'timestamp'])
      .where('seq', '>=', middle)
      .where('signature', 'is', null)
      .orderBy('seq', 'asc')
      .limit(1)
      .executeTakeFirst();
    if (row === undefined || row.timestamp >= time) high = middle;
    else low = Number(row.seq) + 1;
  }
  return low;
}
