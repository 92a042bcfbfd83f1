import {
  budgetChange,
  budgetMicros,
  ofTenantPath,
  tenantBudget,
  type TenantBudget,
} from '../../../contracts/identity.js';
import type { BudgetStore, SetBudget } from '../../../domain/identity/budgets.js';
import { GateError } from '../../../domain/errors.js';
import type { ServiceApp } from '../../plugins/app.js';
import { askerFirst } from '../administrator.js';
import type { People } from '../people.js';
import { changeBy, instant } from './changes.js';

export interface BudgetRouteParts {
  readonly store: BudgetStore;
  readonly people: People;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onChanged: () => void;
}

/** What a tenant, and each agent of it, may spend in a month (docs/architecture/budgets.md). */
export function budgetRoutes(app: ServiceApp, { store, people, clock, onChanged }: BudgetRouteParts): void {
  app.get(
    '/tenants/:tenant/budget',
    { schema: { params: ofTenantPath, response: { 200: tenantBudget } }, onRequest: askerFirst(people.readerOf) },
    async (request) => {
      const { tenant } = request.params;
      people.assertReads(tenant, request);
      return budgetOf(tenant, await store.budgets(tenant));
    },
  );
  app.post(
    '/tenants/:tenant/budget',
    {
      schema: { params: ofTenantPath, body: budgetChange, response: { 200: tenantBudget } },
      onRequest: askerFirst(people.administratorOf),
    },
    async (request) => {
      const { tenant } = request.params;
      const { agent_name: agent = null, reason, budget_micros: asked } = request.body;
      const person = people.administratorIn(tenant, request);
      const read = budgetMicros.safeParse(asked);
      if (!read.success) throw new GateError('budget_invalid');
      await store.setBudget({ tenant, agent }, read.data, changeBy(person, reason, clock()));
      onChanged();
      return budgetOf(tenant, await store.budgets(tenant));
    },
  );
}

const budgetOf = (tenant: string, set: readonly SetBudget[]): TenantBudget => ({
  tenant,
  ...toldOf(set.find(({ agent }) => agent === null)),
  agents: set.flatMap((one) =>
    one.agent === null || one.budgetMicros === null ? [] : [{ agent_name: one.agent, ...toldOf(one) }],
  ),
});

/** Who took a limit away stands there without one. */
const toldOf = (one: SetBudget | undefined) =>
  one && {
    ...(one.budgetMicros !== null && { budget_micros: one.budgetMicros }),
    updated_at: instant(one.setMs),
    updated_by: one.setBy,
    ...(one.reason !== null && { reason: one.reason }),
  };
