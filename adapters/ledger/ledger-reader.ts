import { sql } from 'kysely';
import type { LedgerEntry } from '../../contracts/ledger.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import type { Store } from '../store/database.js';
import { asUnavailable, ENTRY_COLUMNS, reading, sidecarContext } from '../../domain/ledger/chain-store.js';
import { countRows, filtered, placed, scan, type ScanOptions } from './rows.js';
import type { EntryTable, LedgerTables } from '../../domain/ledger/tables.js';
import { detailMatches, type RowFilter } from '../../domain/ledger/row-filter.js';
import type { AgentQuery, LedgerReader } from '../../domain/ledger/ports.js';
import { toEntry } from '../../domain/ledger/shown-entry.js';

const ALL_COLUMNS = ENTRY_COLUMNS as readonly (keyof EntryTable)[];

/** The filter for the rows of an agent, or of all whose label fits one with `*`, between the places that a query names. */
function agentFilter(agentId: string, { before, after, ...filter }: AgentQuery): RowFilter {
  const { seqFrom = 0, seqTo = Number.MAX_SAFE_INTEGER } = filter;
  return {
    ...filter,
    ...(!agentId.includes('*') ? { agentId } : /[^*]/.test(agentId) && { agentLike: agentId }),
    ...(after !== undefined && { seqFrom: Math.max(after + 1, seqFrom) }),
    ...(before !== undefined && { seqTo: Math.min(before - 1, seqTo) }),
  };
}

/** Whole rows held in memory at a time. */
const PAGE_ROWS = 200;

export function createLedgerReader({ db }: Store<LedgerTables>, keys: KeyRing | null): LedgerReader {
  const entries = (filter: RowFilter = {}) => filtered(db.selectFrom('ledger_entries').selectAll(), filter);

  async function* pages(
    filter: RowFilter,
    { newestFirst = false, pageRows = PAGE_ROWS }: ScanOptions = {},
  ): AsyncGenerator<LedgerEntry[]> {
    try {
      for await (const page of scan(db, filter, ALL_COLUMNS, { newestFirst, pageRows })) {
        const rows = page.map(toEntry).filter((row) => detailMatches(filter.detail, row.policy_decision));
        if (rows.length > 0) yield rows;
      }
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  /** The filter without its first `rows` matches. The store skips them, so none of them is read here. `null` when nothing is left. */
  const behind = (filter: RowFilter, rows: number, newestFirst: boolean): Promise<RowFilter | null> =>
    reading(async () => {
      const query = filtered(db.selectFrom('ledger_entries').select('seq'), await placed(db, filter));
      const first = await query
        .orderBy('seq', newestFirst ? 'desc' : 'asc')
        .limit(1)
        .offset(rows)
        .executeTakeFirst();
      return first ? { ...filter, [newestFirst ? 'seqTo' : 'seqFrom']: Number(first.seq) } : null;
    });

  async function* agentPages(agentId: string, query: AgentQuery = {}): AsyncGenerator<LedgerEntry[]> {
    const newestFirst = query.limit !== undefined && query.after === undefined;
    const asked = agentFilter(agentId, query);
    // `detail` is matched in code, so with it the offset is counted here, row by row.
    let skipped = asked.detail === undefined ? 0 : (query.offset ?? 0);
    const filter = query.offset && skipped === 0 ? await behind(asked, query.offset, newestFirst) : asked;
    if (!filter) return;
    let left = query.limit ?? Number.POSITIVE_INFINITY;
    const pageRows = asked.detail === undefined ? Math.min(PAGE_ROWS, left) : PAGE_ROWS;
    for await (const page of pages(filter, { newestFirst, pageRows })) {
      const rows = page.slice(skipped, skipped + left);
      skipped = Math.max(0, skipped - page.length);
      left -= rows.length;
      if (rows.length > 0) yield rows;
      if (left === 0) return;
    }
  }

  const count = (filter: RowFilter): Promise<number> =>
    reading(async () => {
      if (filter.detail === undefined) return countRows(db, filter);
      let rows = 0;
      for await (const page of pages(filter)) rows += page.length;
      return rows;
    });

  return {
    byCorrelation: (correlationId, scope = {}) =>
      reading(async () =>
        (
          await entries({ ...scope, correlationId })
            .orderBy('seq', 'asc')
            .execute()
        ).map(toEntry),
      ),
    async byAgent(agentId, query) {
      const rows: LedgerEntry[] = [];
      for await (const page of agentPages(agentId, query)) rows.push(...page);
      return rows;
    },
    agentPages,
    pages: (filter) => pages(filter),
    count,
    agentCount: (agentId, query = {}) => count(agentFilter(agentId, query)),
    agents: () =>
      reading(async () => {
        // Jumps from one label to the next through the index, so that the cost depends on the number of labels, not rows. Only a label
        // whose first rows are hidden costs more.
        const { rows } = await sql<{ agent_id: string }>`
          with recursive labels (agent_id) as (
            select min(agent_id) from ledger_entries
            union all
            select (select min(e.agent_id) from ledger_entries e where e.agent_id > labels.agent_id)
              from labels where labels.agent_id is not null
          )
          select agent_id from labels
           where agent_id is not null and exists (
             select 1 from ledger_entries e
              where e.agent_id = labels.agent_id and e.deleted_at is null and e.demo_deleted_at is null
           )
           order by agent_id`.execute(db);
        return rows.map((row) => row.agent_id);
      }),
    held: (ids) =>
      reading(async () => {
        if (ids.length === 0) return new Set();
        // Hidden rows count too.
        const [kept, vacuumed] = await Promise.all(
          (['ledger_entries', 'ledger_vacuumed_rows'] as const).map((table) =>
            db.selectFrom(table).select('id').where('id', 'in', ids).execute(),
          ),
        );
        return new Set([...(kept ?? []), ...(vacuumed ?? [])].map(({ id }) => id));
      }),
    get: (id) =>
      reading(async () => {
        const row = await entries().where('id', '=', id).executeTakeFirst();
        return row ? toEntry(row) : null;
      }),
    newest: (limit) =>
      reading(async () => (await entries().orderBy('seq', 'desc').limit(limit).execute()).map(toEntry)),
    sidecar: (id) =>
      reading(async () => {
        const row = await db
          .selectFrom('entry_payloads as p')
          .innerJoin('ledger_entries as e', 'e.seq', 'p.entry_seq')
          .select(['p.kind', 'p.sealed', 'p.purged_at'])
          .where('e.id', '=', id)
          .where('e.deleted_at', 'is', null)
          .where('e.demo_deleted_at', 'is', null)
          .executeTakeFirst();
        if (!row) return null;
        if (row.sealed === null) return { kind: row.kind, text: null, purged_at: row.purged_at ?? '' };
        if (!keys) throw new Error('no key was given to open sidecars');
        const text = keys.open(row.sealed, sidecarContext(id, row.kind)).toString('utf8');
        return { kind: row.kind, text, purged_at: null };
      }),
  };
}
