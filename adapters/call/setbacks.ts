import { sql } from 'kysely';
import type { CallState } from '../../contracts/call.js';
import type { Store } from '../store/database.js';
import { OPEN_STATES } from '../../domain/call/transitions.js';
import type { Duty, Setbacks } from '../../domain/call/setbacks.js';

export interface SetbackTables {
  call_setbacks: {
    correlation_id: string;
    duty: Duty;
    attempts: number;
    since_ms: number | string;
    next_ms: number | string;
    reason: string;
    state: CallState | null;
    alarmed: number;
  };
}

/** Kept beside the records, so that pauses and alarms survive a restart. */
export function setbacksOver({ db }: Store<SetbackTables>): Setbacks {
  return {
    async all() {
      const rows = await db.selectFrom('call_setbacks').selectAll().execute();
      return rows.map((row) => ({
        ...row,
        since_ms: Number(row.since_ms),
        next_ms: Number(row.next_ms),
        alarmed: row.alarmed === 1,
      }));
    },
    async put(setback) {
      const { correlation_id, duty, ...changes } = { ...setback, alarmed: setback.alarmed ? 1 : 0 };
      await db
        .insertInto('call_setbacks')
        .values({ correlation_id, duty, ...changes })
        .onConflict((conflict) => conflict.columns(['correlation_id', 'duty']).doUpdateSet(changes))
        .execute();
    },
    async clear(correlationId, duty) {
      await db
        .deleteFrom('call_setbacks')
        .where('correlation_id', '=', correlationId)
        .where('duty', '=', duty)
        .execute();
    },
    async prune() {
      await sql`delete from call_setbacks where not exists (
        select 1 from call_records r where r.correlation_id = call_setbacks.correlation_id and (
          duty = 'alarm'
          or (duty = 'open' and r.state in (${sql.join(OPEN_STATES)}))
          or (duty = 'rows' and r.rows_due_ms is not null)
          or (duty = 'review' and r.review_due_ms is not null)
          or (duty = 'callback' and r.callback_due_ms is not null)
          or (duty = 'probe' and r.probe_due_ms is not null)))`.execute(db);
    },
    async stuck() {
      const { calls, since } = await db
        .selectFrom('call_setbacks')
        .select(({ fn }) => [
          sql<number | string>`count(distinct correlation_id)`.as('calls'),
          fn.min('since_ms').as('since'),
        ])
        .where('attempts', '>', 0)
        .executeTakeFirstOrThrow();
      return { calls: Number(calls), since_ms: since === null ? null : Number(since) };
    },
  };
}
