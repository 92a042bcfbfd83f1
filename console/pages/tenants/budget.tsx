import type { TenantBudget } from '../../../contracts/identity.js';
import type { TenantSpend } from '../../../contracts/spend.js';
import { toldMicros } from '../../../domain/spend/amounts.js';
import { type Settled, settled } from '../../services.js';
import { Foreign, OrAway, Table } from '../../ui/parts.js';
import type { Form, Visit } from '../../visit.js';
import { ofIdentity, type OfIdentity, OrUnknown } from '../stops/known.js';
import { SetBudget } from './set-budget.js';

/** What identity says that the tenant may spend, and what the proxies counted. */
export interface BudgetFound {
  readonly set: OfIdentity<TenantBudget>;
  readonly spent: Settled<TenantSpend>;
}

export async function budgetFound({ services }: Pick<Visit, 'services'>): Promise<BudgetFound> {
  const [set, spent] = await Promise.all([ofIdentity(services.identity.budget()), settled('proxy', services.spend())]);
  return { set, spent };
}

type Limit = Pick<TenantBudget, 'budget_micros' | 'updated_by'>;
type Spent = Pick<TenantSpend, 'spent_micros' | 'reserved_micros'>;
const NOTHING: Spent = { spent_micros: 0, reserved_micros: 0 };

/** What the tenant and its agents may spend this month, and spent; for an administrator with the form that changes it, as `typed` where it was refused. */
export const Budget = ({
  of: { set, spent },
  visit,
  typed,
}: {
  readonly of: BudgetFound;
  readonly visit: Visit;
  readonly typed?: Form | undefined;
}) => (
  <>
    <h2>Its budget</h2>
    <OrUnknown of={set}>
      {(budget) => (
        <>
          <OrAway of={spent}>{(found) => <Sums budget={budget} spent={found} />}</OrAway>
          {visit.mayPost('/tenants/budget') && (
            <SetBudget
              of={budget}
              names={spenders(budget, spent.ok ? spent.value : null)}
              visit={visit}
              typed={typed}
            />
          )}
        </>
      )}
    </OrUnknown>
    <p class="dim">
      For a month in UTC, in units of the currency. An administrator sets it here, or at the command line with{' '}
      <code>gate budget set</code>.
    </p>
  </>
);

/** Who spent something, then who else has a budget. */
function spenders(budget: TenantBudget, spent: TenantSpend | null): readonly string[] {
  const names = [...(spent?.agents ?? []), ...budget.agents].map(({ agent_name: name }) => name);
  return [...new Set(names)];
}

function Sums({ budget, spent }: { readonly budget: TenantBudget; readonly spent: TenantSpend }) {
  const limits = new Map(budget.agents.map((one) => [one.agent_name, one]));
  const sums = new Map(spent.agents.map((one) => [one.agent_name, one]));
  return (
    <Table
      label="Budgets"
      heads={['Who', { number: 'Budget' }, { number: `Spent in ${spent.month}` }, { number: 'Reserved' }, 'Set by']}
    >
      <Row name="the tenant" limit={budget} spent={spent} />
      {spenders(budget, spent).map((name) => (
        <Row key={name} name={name} limit={limits.get(name)} spent={sums.get(name) ?? NOTHING} />
      ))}
    </Table>
  );
}

const Row = ({
  name,
  limit,
  spent,
}: {
  readonly name: string;
  readonly limit: Limit | undefined;
  readonly spent: Spent;
}) => (
  <tr>
    <td>
      <Foreign text={name} />
    </td>
    <td class="number">{limit?.budget_micros === undefined ? 'no limit' : toldMicros(limit.budget_micros)}</td>
    <td class="number">{toldMicros(spent.spent_micros)}</td>
    <td class="number">{toldMicros(spent.reserved_micros)}</td>
    <td>
      <Foreign text={limit?.updated_by ?? ''} />
    </td>
  </tr>
);
