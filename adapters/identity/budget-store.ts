import type { Kysely, Selectable } from 'kysely';
import { AGENT_BUDGETS_MOST } from '../../contracts/identity.js';
import {
  type BudgetOf,
  type BudgetStore,
  budgetIdOf,
  type SetBudget,
  type ToldBudget,
} from '../../domain/identity/budgets.js';
import { GateError } from '../../domain/errors.js';
import type { BudgetEvent } from '../../domain/identity/identity-rows.js';
import { changedMsOf, editedDetail } from './edited-rows.js';
import type { IdentityTables } from './identity-tables.js';
import type { NumberedRows } from './numbered-rows.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_budgets']>;

/** What the store of identity has for budgets. */
export interface BudgetParts {
  readonly db: Database;
  readonly rows: Pick<NumberedRows<Row, ToldBudget>, 'asItIs' | 'changed'>;
  intact<Found extends { readonly mac: string }>(table: 'identity_budgets', row: Found): Found;
  /** One after the other. */
  inTurn<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: BudgetEvent): Promise<unknown>;
  /** Throws `tenant_offboarded`: it gets no budget any more. */
  assertNotOffboarded(within: Database, tenant: string): Promise<void>;
}

/** What tenants and their agents may spend in a month (docs/architecture/budgets.md). */
export function openBudgetStore({
  db,
  rows,
  intact,
  inTurn,
  asked,
  told,
  assertNotOffboarded,
}: BudgetParts): BudgetStore {
  /** Each is on the list that every proxy keeps in memory. */
  async function assertRoom(within: Database, tenant: string): Promise<void> {
    const { count } = await within
      .selectFrom('identity_budgets')
      .select((of) => of.fn.countAll().as('count'))
      .where('tenant', '=', tenant)
      .where('agent_name', 'is not', null)
      .executeTakeFirstOrThrow();
    if (Number(count) >= AGENT_BUDGETS_MOST)
      throw new GateError('budgets_exhausted', `${AGENT_BUDGETS_MOST} agents of ${tenant} have budgets of their own`);
  }

  return {
    budgets: (tenant) =>
      asked(async () => {
        const found = await db.selectFrom('identity_budgets').selectAll().where('tenant', '=', tenant).execute();
        return found
          .map((row) => setBudgetOf(intact('identity_budgets', row)))
          .toSorted((a, b) => ((a.agent ?? '') < (b.agent ?? '') ? -1 : 1));
      }),
    setBudget: (of, budgetMicros, by) =>
      inTurn(async (within) => {
        if (budgetMicros !== null) await assertNotOffboarded(within, of.tenant);
        const id = budgetIdOf(of);
        const found = await rows.asItIs(within, id);
        // One that somebody edited is written anew, whole, and the ledger is told of it.
        const isEdited = found !== undefined && found.fault !== null;
        const was = found && !isEdited ? found.row : unset(id, of, isEdited ? changedMsOf(found.row, by.nowMs) : 0);
        const before = was.budget_micros === null ? null : Number(was.budget_micros);
        if (before === budgetMicros && !isEdited) return;
        if (!found && of.agent !== null) await assertRoom(within, of.tenant);
        const row = await rows.changed(
          within,
          was,
          { budget_micros: budgetMicros, set_ms: by.nowMs, set_by: by.by, reason: by.reason },
          by.nowMs,
        );
        await told(within, {
          subject: `${id}/${Number(row.listed_generation)}`,
          id,
          ...of,
          by: by.by,
          reason: by.reason,
          detail: {
            budget_micros_before: isEdited ? null : before,
            budget_micros: budgetMicros,
            ...editedDetail([found?.fault ?? null], found ?? null),
          },
        });
      }),
  };
}

const unset = (id: string, { tenant, agent }: BudgetOf, changedMs: number): Row => ({
  id,
  tenant,
  agent_name: agent,
  budget_micros: null,
  changed_ms: changedMs,
  set_ms: 0,
  set_by: '',
  reason: null,
  listed_generation: 0,
  mac: '',
});

export const toldBudgetOf = (row: Row): ToldBudget => ({
  tenant: row.tenant,
  agent: row.agent_name,
  budgetMicros: row.budget_micros === null ? null : Number(row.budget_micros),
  changedMs: Number(row.changed_ms),
});

const setBudgetOf = (row: Row): SetBudget => ({
  tenant: row.tenant,
  agent: row.agent_name,
  budgetMicros: row.budget_micros === null ? null : Number(row.budget_micros),
  setMs: Number(row.set_ms),
  setBy: row.set_by,
  reason: row.reason,
});
