import type { Command } from 'commander';
import type { TenantBudget } from '../contracts/identity.js';
import type { TenantSpend } from '../contracts/spend.js';
import { microsOf, toldMicros } from '../domain/spend/amounts.js';
import { oneLine } from '../domain/printable.js';
import { bareName, type Registry, registryOf, type StandingFlags, withPerson } from './agent-standing.js';
import { CliError } from './errors.js';
import { gateCommand, print } from './output.js';
import { table } from './table.js';

const SET_HELP = `
A sum is in units of your currency, with six decimals at most: 12.50. 0 lets nothing through, none takes the limit away.
It counts for a month in UTC, at every proxy within two seconds. What a call may cost is reserved before it begins; a
call that does not fit is refused (429 quota_exceeded), and one that waits for a person keeps its reservation.`;

/** `gate budget`: what a tenant and its agents may spend in a month, and what they spent. */
export function registerBudget(program: Command): void {
  const budget = program.command('budget').description('what a tenant, and agents of it, may spend in a month');
  withPerson(budget.command('get', { isDefault: true }))
    .description('the budget of the tenant and of its agents, what is spent this month, and what is reserved')
    .action(async ({ json: asJson, ...given }: StandingFlags) => {
      const registry = registryOf(given);
      const [set, spent] = await Promise.all([budgetOf(registry), spentOf(registry)]);
      if (asJson) return print({ budget: set, spend: spent });
      process.stdout.write(`${toldBudget(set, spent)}\n`);
    });
  withPerson(budget.command('set'))
    .description('set what the tenant, or one agent of it, may spend in a month')
    .argument('<sum>', 'in units of the currency, as 12.50; 0 for nothing, none for no limit')
    .option('--agent <name>', 'of one agent; without it, of the tenant whole')
    .option('--reason <text>', 'why; recorded in the ledger')
    .addHelpText('after', SET_HELP)
    .action(
      async (
        sum: string,
        { agent, reason, json: asJson, ...given }: StandingFlags & { agent?: string; reason?: string },
      ) => {
        const registry = registryOf(given, agent);
        const micros = sum === 'none' ? null : microsOf(sum);
        if (micros === undefined)
          throw new CliError(`a sum is a number as 12.50, with six decimals at most, or none; not ${oneLine(sum)}`, 2);
        const set = await registry.target.ask<TenantBudget>('identity', 'POST', pathOf(registry), {
          budget_micros: micros,
          ...(agent !== undefined && { agent_name: bareName(agent) }),
          ...(reason !== undefined && { reason }),
        });
        if (asJson) return print(set);
        const whose = agent === undefined ? `tenant ${registry.tenant}` : `${registry.tenant}/${bareName(agent)}`;
        process.stdout.write(
          `${oneLine(whose)} ${micros === null ? 'has no limit any more' : `may spend ${toldMicros(micros)} in a month`}\n` +
            `what is spent: ${gateCommand()} budget get\n`,
        );
      },
    );
}

const pathOf = ({ tenant }: Registry): string => `/tenants/${encodeURIComponent(tenant)}/budget`;
const budgetOf = (registry: Registry): Promise<TenantBudget> =>
  registry.target.ask<TenantBudget>('identity', 'GET', pathOf(registry));
const spentOf = ({ target }: Registry): Promise<TenantSpend> => target.ask<TenantSpend>('proxy', 'GET', '/spend');

/** The tenant first, then whoever has a budget or spent something. */
function toldBudget(set: TenantBudget, spent: TenantSpend): string {
  const agents = new Map(spent.agents.map((one) => [one.agent_name, one]));
  for (const { agent_name: name } of set.agents)
    if (!agents.has(name)) agents.set(name, { agent_name: name, spent_micros: 0, reserved_micros: 0 });
  const of = new Map(set.agents.map((one) => [one.agent_name, one]));
  const row = (
    name: string,
    { spent_micros, reserved_micros }: Pick<TenantSpend, 'spent_micros' | 'reserved_micros'>,
    { budget_micros: budget, updated_by: by = '' }: Partial<Omit<TenantBudget, 'tenant' | 'agents'>> = {},
  ) => [
    name,
    budget === undefined ? 'no limit' : toldMicros(budget),
    toldMicros(spent_micros),
    toldMicros(reserved_micros),
    budget === undefined ? '' : toldMicros(Math.max(0, budget - spent_micros - reserved_micros)),
    by,
  ];
  const head = ['who', 'budget', `spent in ${spent.month}`, 'reserved', 'left', 'set by'];
  return table(
    head.map((name) => ({ head: name, whole: name === 'who' })),
    [
      row(`tenant ${set.tenant}`, spent, set),
      ...[...agents.values()].map((one) => row(one.agent_name, one, of.get(one.agent_name))),
    ],
  );
}
