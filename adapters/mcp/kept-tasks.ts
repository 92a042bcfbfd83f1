import { TASK_LIFE_MS, type TaskStore } from '../../domain/mcp/tasks.js';
import type { Store } from '../store/database.js';

export interface TaskTables {
  mcp_tasks: { correlation_id: string; tenant: string; agent: string; created_ms: number; asked_ms: number };
}

/** The tasks of all proxies over one store. Those that are too old are deleted when another one is kept, a few at a time. */
export const keptTasksOver = (
  { db }: Pick<Store<TaskTables>, 'db'>,
  { now = Date.now }: { readonly now?: () => number } = {},
): TaskStore => {
  const ofAgent = ({ tenant, agent }: { readonly tenant: string; readonly agent: string }) =>
    db
      .selectFrom('mcp_tasks')
      .select(['correlation_id', 'created_ms', 'asked_ms'])
      .where('tenant', '=', tenant)
      .where('agent', '=', agent)
      .where('created_ms', '>=', now() - TASK_LIFE_MS);
  // Postgres gives a bigint as text.
  const kept = (row: Pick<TaskTables['mcp_tasks'], 'correlation_id' | 'created_ms' | 'asked_ms'>) => ({
    correlationId: row.correlation_id,
    createdMs: Number(row.created_ms),
    askedMs: Number(row.asked_ms),
  });
  return {
    async keep({ tenant, agent }, { correlationId, createdMs, askedMs }) {
      await db
        .insertInto('mcp_tasks')
        .values({ correlation_id: correlationId, tenant, agent, created_ms: createdMs, asked_ms: askedMs })
        .onConflict((conflict) =>
          conflict
            .column('correlation_id')
            .doUpdateSet({ asked_ms: askedMs })
            .where('mcp_tasks.tenant', '=', tenant)
            .where('mcp_tasks.agent', '=', agent),
        )
        .execute();
      const old = db
        .selectFrom('mcp_tasks')
        .select('correlation_id')
        .where('created_ms', '<', now() - TASK_LIFE_MS)
        .orderBy('created_ms')
        .limit(DELETED_AT_ONCE);
      await db.deleteFrom('mcp_tasks').where('correlation_id', 'in', old).execute();
    },
    async of(owner, correlationId) {
      const row = await ofAgent(owner).where('correlation_id', '=', correlationId).executeTakeFirst();
      return row ? kept(row) : null;
    },
    async list(owner, after, limit) {
      let page = ofAgent(owner);
      if (after)
        page = page.where(({ eb, or, and }) =>
          or([
            eb('created_ms', '>', after.createdMs),
            and([eb('created_ms', '=', after.createdMs), eb('correlation_id', '>', after.correlationId)]),
          ]),
        );
      const rows = await page.orderBy('created_ms').orderBy('correlation_id').limit(limit).execute();
      return rows.map(kept);
    },
  };
};

const DELETED_AT_ONCE = 10;
