import type { Kysely, Selectable } from 'kysely';
import { uuidFromDigest } from '../../domain/crypto/digest.js';
import type { ToolPinEvent } from '../../domain/identity/identity-rows.js';
import type { ToolDefinitionStore } from '../../domain/identity/tool-definition-pins.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
const TABLE = 'identity_tool_pins';
type Row = Selectable<IdentityTables[typeof TABLE]>;

/** What the store of identity has for definitions of tools. */
export interface ToolDefinitionParts {
  fault(table: typeof TABLE, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: typeof TABLE, values: Values): Values & { readonly mac: string };
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  told(within: Database, event: ToolPinEvent): Promise<unknown>;
}

/** What proxies report of the tools that agents see (docs/architecture/identity.md#tool-definitions). */
export const openToolDefinitionStore = ({
  fault,
  marked,
  inTransaction,
  told,
}: ToolDefinitionParts): ToolDefinitionStore => ({
  keepToolDefinitions: (report, nowMs) =>
    inTransaction(async (within) => {
      const { tenant, agent_id: agent, event, snapshot_sha256: snapshot, tools } = report;
      const id = uuidFromDigest('gate.tool-pins', tenant, agent);
      const values = marked(TABLE, {
        id,
        tenant,
        agent_name: agent,
        event,
        snapshot_sha256: snapshot,
        content: JSON.stringify(tools),
        changed_ms: nowMs,
      });
      const made = await within
        .insertInto(TABLE)
        .values(values)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .executeTakeFirst();
      if (made.numInsertedOrUpdatedRows !== 1n) {
        // One after the other of one agent.
        const row: Row = await within
          .updateTable(TABLE)
          .set({ id })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow();
        if (fault(TABLE, row) === null && row.snapshot_sha256 === snapshot && row.event === event) return { id };
        await within.updateTable(TABLE).set(values).where('id', '=', id).execute();
      }
      // A difference has the proxy's own row, which says what it is.
      if (event === 'pinned') await told(within, { id, tenant, agent, snapshot, tools: tools.length, nowMs });
      return { id };
    }),
});
