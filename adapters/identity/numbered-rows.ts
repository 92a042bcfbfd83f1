import { type Kysely, type Selectable, sql } from 'kysely';
import { GateError } from '../../domain/errors.js';
import { pagesOf } from '../store/pages.js';
import type { AsItIs } from './edited-rows.js';
import { AT_ONCE } from './identity-marks.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
/** The tables whose rows stand in the list of revocations as they are now, each under the number of its last change. */
type NumberedTable =
  | 'identity_standings'
  | 'identity_stops'
  | 'identity_budgets'
  | 'identity_revoked_grants'
  | 'identity_decoys'
  | 'identity_upstreams';
/** What the rows of each of them have. */
type Numbered = Pick<Selectable<IdentityTables[NumberedTable]>, 'id' | 'changed_ms' | 'listed_generation' | 'mac'>;

export interface NumberedParts<Row extends Numbered, Told> {
  readonly db: Database;
  readonly table: NumberedTable;
  intact<Found extends { readonly mac: string }>(table: NumberedTable, row: Found): Found;
  /** What is wrong with a row, or `null`. */
  fault(table: NumberedTable, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: NumberedTable, values: Values): Values & { readonly mac: string };
  /** The last number of the list. */
  latest(): Promise<number>;
  /** The next one, under which this stands. */
  number(within: Database, told: Told, nowMs: number): Promise<number>;
  /** As proxies and workers are told it. */
  readonly toldOf: (row: Row) => Told;
}

export interface NumberedRows<Row extends Numbered, Told> {
  find(within: Database, id: string): Promise<Row | undefined>;
  /** The same also where somebody edited it: for a stop, which writes it anew. */
  asItIs(within: Database, id: string): Promise<AsItIs<Row> | undefined>;
  /** The row as it is from now on, under the next number of the list. */
  changed(within: Database, was: Row, to: Partial<Row>, nowMs: number): Promise<Row>;
  /** Throws where one is not as Gate wrote it, or has a number that the list has not come to. */
  assertAll(): Promise<void>;
  /** Those whose last change has a number after the one and up to the other, in that order. */
  between(
    within: Database,
    after: number,
    latest: number,
    most: number,
    /** Without those that were retired before this time. */
    retiredBefore?: number,
  ): Promise<readonly { readonly told: Told; readonly generation: number }[]>;
}

/**
 * What may be stopped, limited, taken back or set (docs/architecture/identity.md#standing, #stops, #grants, budgets.md, decoys.md, upstreams.md): one row each, however
 * often it changes.
 */
export function numberedRows<Row extends Numbered, Told>({
  db,
  table,
  intact,
  fault,
  marked,
  latest,
  number,
  toldOf,
}: NumberedParts<Row, Told>): NumberedRows<Row, Told> {
  // Each of these tables has these columns, which no type of the library can say of all at once.
  const of = (within: Database) => within as unknown as Kysely<{ any: Numbered }>;
  const rowsOf = (within: Database) =>
    of(within)
      .selectFrom(table as 'any')
      .selectAll();
  const read = (row: Numbered): Row => intact(table, row as Row);

  return {
    async find(within, id) {
      const row = await rowsOf(within).where('id', '=', id).executeTakeFirst();
      return row && read(row);
    },
    async asItIs(within, id) {
      const row = await rowsOf(within).where('id', '=', id).executeTakeFirst();
      return row && { row: row as Row, fault: fault(table, row) };
    },
    async changed(within, was, to, nowMs) {
      // A clock that was set back makes no change older than the one before.
      const next = { ...was, ...to, changed_ms: Math.max(nowMs, Number(was.changed_ms) + 1) };
      const generation = await number(within, toldOf(next), nowMs);
      const row = marked(table, { ...next, listed_generation: generation });
      const { id: _id, ...values } = row;
      await of(within)
        .insertInto(table as 'any')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
        .execute();
      return row;
    },
    async assertAll() {
      const pages = pagesOf(AT_ONCE, (last: Numbered | undefined) =>
        rowsOf(db)
          .where('id', '>', last?.id ?? '')
          .orderBy('id')
          .limit(AT_ONCE)
          .execute(),
      );
      for await (const rows of pages) {
        // Behind the rows: each got its number in the transaction that stored it.
        const last = rows.length === 0 ? 0 : await latest();
        for (const row of rows) {
          const listed = Number(read(row).listed_generation);
          if (listed < 1 || listed > last)
            throw new GateError(
              'identity_tampered',
              `edited in the store: ${table} ${row.id}: it stands under number ${listed} of a list that is at ${last}`,
            );
        }
      }
    },
    async between(within, after, upTo, most, retiredBefore) {
      const rows = await rowsOf(within)
        .where('listed_generation', '>', after)
        .where('listed_generation', '<=', upTo)
        .$if(retiredBefore !== undefined, (query) =>
          query.where(sql<boolean>`not (state = 'retired' and changed_ms < ${retiredBefore ?? 0})`),
        )
        .orderBy('listed_generation')
        .limit(most)
        .execute();
      return rows.map((row) => ({ told: toldOf(read(row)), generation: Number(row.listed_generation) }));
    },
  };
}
