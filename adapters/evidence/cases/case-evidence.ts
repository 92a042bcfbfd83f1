import type { Kysely } from 'kysely';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import type { RowFilter } from '../../../domain/ledger/row-filter.js';
import { toEntry } from '../../../domain/ledger/shown-entry.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { filtered, turn } from '../../ledger/rows.js';

/** Whose cases are meant: those of one tenant, or without one all of them, also those from before cases had a tenant. */
export interface CaseScope {
  readonly tenant?: string | undefined;
}

export interface Subjects {
  readonly agent_ids: readonly string[];
  readonly correlation_ids: readonly string[];
}

/** Rows of every agent and call of a case, newest first, at most 500, of its tenant alone where it has one. Hidden rows are left out. */
export type CaseEvidence = (subjects: Subjects & CaseScope) => Promise<LedgerEntry[]>;

const MAX_EVIDENCE = 500;
/** What one statement may answer in the thread of the reports (`adapters/evidence/heap-room.ts`): rows may be half a megabyte wide. */
const ROWS_AT_ONCE = 100;

export const createCaseEvidence =
  (db: Kysely<LedgerTables>): CaseEvidence =>
  ({ agent_ids, correlation_ids, tenant }) =>
    reading(async () => {
      const subjects = [
        ...agent_ids.map((agentId): RowFilter => ({ agentId, tenant })),
        ...correlation_ids.map((correlationId): RowFilter => ({ correlationId, tenant })),
      ];
      // One query per subject, so that each uses its index; for all of them at once a store may read the whole chain.
      let newest: number[] = [];
      for (const subject of subjects) {
        const seqFrom = newest.length === MAX_EVIDENCE ? newest.at(-1) : undefined;
        const rows = await filtered(db.selectFrom('ledger_entries').select('seq'), { ...subject, seqFrom })
          .orderBy('seq', 'desc')
          .limit(MAX_EVIDENCE)
          .execute();
        const found = new Set([...newest, ...rows.map(({ seq }) => Number(seq))]);
        newest = [...found].toSorted((one, other) => other - one).slice(0, MAX_EVIDENCE);
        await turn();
      }
      const entries: LedgerEntry[] = [];
      for (let from = 0; from < newest.length; from += ROWS_AT_ONCE) {
        const rows = await filtered(db.selectFrom('ledger_entries').selectAll(), {})
          .where('seq', 'in', newest.slice(from, from + ROWS_AT_ONCE))
          .orderBy('seq', 'desc')
          .execute();
        entries.push(...rows.map(toEntry));
      }
      return entries;
    });
