import { SPENDERS_LISTED, spendQuery, tenantSpend } from '../../../contracts/spend.js';
import type { FastifyRequest } from 'fastify';
import type { CallSpending } from '../../../domain/call/ports.js';
import { monthOf } from '../../../domain/spend/spend.js';
import type { ServiceApp } from '../../plugins/app.js';

export interface SpendRouteOptions {
  readonly spend: Pick<CallSpending, 'of' | 'byAgent'>;
  /** Of whom is asked, by the operator's token or the scope that the console names. Throws where neither says so, or they say otherwise. */
  readonly tenantOf: (request: FastifyRequest) => string;
}

/** What a tenant spent and reserved in a month (docs/architecture/budgets.md), for the console and the operators of the tenant; agents are told no sums. */
export function spendRoutes(app: ServiceApp, { spend, tenantOf }: SpendRouteOptions): void {
  app.get(
    '/spend',
    {
      schema: { querystring: spendQuery, response: { 200: tenantSpend } },
    },
    async (request) => {
      const tenant = tenantOf(request);
      const { month = monthOf(Date.now()) } = request.query;
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
