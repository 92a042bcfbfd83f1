import type { Kysely } from 'kysely';
import type { JsonObject } from '../../../contracts/json.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { turn } from '../rows.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { classIn, longerLived } from '../../../domain/ledger/erasure/retention-class.js';

/**
 * How long the bytes beside entries are kept, by the retention class that policy gave the call. A class without a number is kept for good
 * (docs/architecture/ledger-reads.md#retention).
 */
export interface RetentionPeriods {
  readonly standardMs?: number | undefined;
  readonly extendedMs?: number | undefined;
}

const PAGE = 500;

interface RetentionOptions {
  readonly db: Kysely<LedgerTables>;
  readonly purgeSidecar: (id: string) => Promise<boolean>;
  readonly clock: () => number;
}

/**
 * Purges sealed bytes that have been kept long enough. Entries stay, so the chain verifies as before. A row has the class of its call: the
 * longer-lived one when rows of the call give several, also when it gives none itself. Returns how many were purged. Can be interrupted and
 * repeated.
 */
export type PurgeSidecars = (periods: RetentionPeriods) => Promise<number>;

export function createRetention({ db, purgeSidecar, clock }: RetentionOptions): PurgeSidecars {
  /** The classes of calls. Policy gives the class in one row of a call; the call's other rows do not repeat it. */
  async function classesOf(correlationIds: readonly string[]): Promise<Map<string, string>> {
    const classes = new Map<string, string>();
    if (correlationIds.length === 0) return classes;
    const rows = await db
      .selectFrom('ledger_entries')
      .select(['correlation_id', 'tenant', 'policy_decision'])
      .where('correlation_id', 'in', correlationIds)
      .where('event_kind', '=', 'policy.evaluated')
      .orderBy('seq')
      .execute();
    for (const row of rows) {
      const given = longerLived(classes.get(callOf(row)) ?? null, classOf(row));
      if (given !== null) classes.set(callOf(row), given);
    }
    return classes;
  }

  return async ({ standardMs, extendedMs }) => {
    const periods = [standardMs, extendedMs].filter((period) => period !== undefined);
    if (periods.length === 0) return 0;
    const now = clock();
    const oldest = new Date(now - Math.min(...periods)).toISOString();
    let purged = 0;
    for (let after = 0; ; ) {
      const rows = await reading(() =>
        db
          .selectFrom('entry_payloads as p')
          .innerJoin('ledger_entries as e', 'e.seq', 'p.entry_seq')
          .select(['e.seq', 'e.id', 'e.timestamp', 'e.correlation_id', 'e.tenant', 'e.policy_decision'])
          .where('p.sealed', 'is not', null)
          .where('p.entry_seq', '>', after)
          .where('e.timestamp', '<', oldest)
          .orderBy('p.entry_seq')
          .limit(PAGE)
          .execute(),
      );
      const calls = [...new Set(rows.map((row) => row.correlation_id).filter((id) => id !== null))];
      const classes = await reading(() => classesOf(calls));
      for (const row of rows) {
        const retention = longerLived(classOf(row), classes.get(callOf(row)) ?? null);
        const period = retention === 'standard' ? standardMs : extendedMs;
        if (period !== undefined && Date.parse(row.timestamp) < now - period && (await purgeSidecar(row.id)))
          purged += 1;
      }
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return purged;
      after = Number(last.seq);
      await turn();
    }
  };
}

const callOf = (row: { readonly correlation_id: string | null; readonly tenant: string | null }): string =>
  `${row.tenant ?? ''} ${row.correlation_id ?? ''}`;

const classOf = ({ policy_decision: said }: { readonly policy_decision: string | null }): string | null =>
  classIn(said === null ? null : (JSON.parse(said) as JsonObject | null));
