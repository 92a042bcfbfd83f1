import type { Kysely } from 'kysely';
import { reading } from '../../domain/ledger/chain-store.js';
import type { VacuumTables } from './vacuum/vacuum.js';

/** What each sink has confirmed, derived from what its stream asks for next. The stream's own cursor is in its workflow. */
export interface SinkCursors {
  /** A stream that asks for the rows after a place has confirmed everything up to it. It may go back; the last request counts. */
  confirmed(sink: string, seq: number): Promise<void>;
  /** The farthest place that any sink confirmed, so the chain was at least that long. 0 when none confirmed anything. */
  farthest(): Promise<number>;
}

export function createSinkCursors(db: Kysely<VacuumTables>, clock: () => number): SinkCursors {
  /** The stored values, because a stream without new rows asks every few seconds. */
  const known = new Map<string, number>();
  return {
    confirmed: (sink, seq) =>
      reading(async () => {
        if (known.get(sink) === seq) return;
        const row = { last_seq: seq, updated_at: new Date(clock()).toISOString() };
        await db
          .insertInto('egress_cursors')
          .values({ sink_id: sink, ...row })
          .onConflict((conflict) => conflict.column('sink_id').doUpdateSet(row))
          .execute();
        known.set(sink, seq);
      }),
    farthest: () =>
      reading(async () => {
        const row = await db
          .selectFrom('egress_cursors')
          .select((make) => make.fn.max('last_seq').as('seq'))
          .executeTakeFirst();
        return Number(row?.seq ?? 0);
      }),
  };
}
