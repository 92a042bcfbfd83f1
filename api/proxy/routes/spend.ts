import { SPENDERS_LISTED, spendQuery, tenantSpend } from '../../../contracts/spend.js';
import type { CallSpending } from '../../../domain/call-record/ports.js';
import { monthOf } from '../../../domain/spend/spend.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { OperatorOf } from './operators-only.js';

export interface SpendRouteOptions {
  readonly spend: Pick<CallSpending, 'of' | 'byAgent'>;
  readonly operatorOf: OperatorOf;
}

/** What a tenant spent and reserved in a month (docs/architecture/budgets.md), for operators, and for the console, which says whose; agents are told no sums. */
export function spendRoutes(app: ServiceApp, { spend, operatorOf }: SpendRouteOptions): void {
  app.get(
    '/spend',
    {
      schema: { querystring: spendQuery, response: { 200: tenantSpend } },
    },
    async (request) => {
      const { month = monthOf(Date.now()), tenant = operatorOf(request).tenant } = request.query;
      const [whole, agents] = await Promise.all([
        spend.of(tenant, null, month),
        spend.byAgent(tenant, month, SPENDERS_LISTED),
      ]);
      return {
        tenant,
        month,
        spent_micros: whole.spentMicros,
        reserved_micros: whole.reservedMicros,
        agents: agents.map(({ agent, spentMicros, reservedMicros }) => ({
          agent_name: agent,
          spent_micros: spentMicros,
          reserved_micros: reservedMicros,
        })),
      };
    },
  );
}
