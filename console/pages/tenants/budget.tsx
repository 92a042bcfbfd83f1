import type { TenantBudget } from '../../../contracts/identity.js';
import type { TenantSpend } from '../../../contracts/spend.js';
import { toldMicros } from '../../../domain/spend/amounts.js';
import { type Settled, settled } from '../../services.js';
import { Foreign, OrAway, Table } from '../../ui/parts.js';
import type { Visit } from '../../visit.js';
import { ofIdentity, type OfIdentity, OrUnknown } from '../stops/known.js';

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

/** What the tenant and its agents may spend this month, and spent. */
export const Budget = ({ of: { set, spent } }: { readonly of: BudgetFound }) => (
  <>
    <h2>Its budget</h2>
    <OrUnknown of={set}>
      {(budget) => <OrAway of={spent}>{(found) => <Sums budget={budget} spent={found} />}</OrAway>}
    </OrUnknown>
    <p class="dim">
      For a month in UTC, in units of the currency. An administrator sets it at the command line:{' '}
      <code>gate budget set 12.50</code>, or with <code>--agent</code> for one agent.
    </p>
  </>
);

function Sums({ budget, spent }: { readonly budget: TenantBudget; readonly spent: TenantSpend }) {
  const limits = new Map(budget.agents.map((one) => [one.agent_name, one]));
  const sums = new Map(spent.agents.map((one) => [one.agent_name, one]));
  const names = [...sums.keys(), ...[...limits.keys()].filter((name) => !sums.has(name))];
  return (
    <Table
      label="Budgets"
      heads={['Who', { number: 'Budget' }, { number: `Spent in ${spent.month}` }, { number: 'Reserved' }, 'Set by']}
    >
      <Row name="the tenant" limit={budget} spent={spent} />
      {names.map((name) => (
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
