import { z } from 'zod';
import { activeAgentAdjustment, activeAgentInvoice, adjustmentReceipt } from '../../../contracts/active-agents.js';
import { tenantName } from '../../../contracts/erasure.js';
import type { ActiveAgentMeter } from '../../../adapters/evidence/active-agents/active-agents.js';
import type { ServiceApp } from '../../plugins/app.js';

/** The meter checks the times, so that a bad or missing one is `invalid_meter_window`. */
const time = z.string().max(64).default('');
const query = z.object({ tenant: tenantName, as_of: time, observed_through: time });

/**
 * The active-agent meter (docs/architecture/ledger-reads.md#active-agent-meter). An invoice is read from the chain and appends no row; an
 * adjustment appends one.
 */
export function activeAgentRoutes({
  app,
  activeAgents,
}: {
  readonly app: ServiceApp;
  readonly activeAgents: ActiveAgentMeter;
}): void {
  const invoiceOf = ({ tenant, as_of: asOf, observed_through: observedThrough }: z.infer<typeof query>) =>
    activeAgents.invoice({ tenant, asOf, observedThrough });

  app.get(
    '/finops/active-agents',
    { schema: { querystring: query, response: { 200: activeAgentInvoice } } },
    (request) => invoiceOf(request.query),
  );

  app.get(
    '/finops/active-agents/export',
    { schema: { querystring: query, response: { 200: activeAgentInvoice } } },
    async (request, reply) => {
      const invoice = await invoiceOf(request.query);
      const day = invoice.window.to.slice(0, 10);
      return reply
        .header('content-disposition', `attachment; filename="gate-${invoice.tenant}-active-agents-${day}.json"`)
        .send(invoice);
    },
  );

  app.post(
    '/finops/active-agents/adjustments',
    {
      schema: { body: activeAgentAdjustment, response: { 200: adjustmentReceipt, 201: adjustmentReceipt } },
      // The meter checks the request itself, so that a bad one is `invalid_adjustment`. The schema only documents the route.
      validatorCompiler: () => (value: unknown) => ({ value }),
    },
    async (request, reply) => {
      const receipt = await activeAgents.adjust(request.body);
      return reply.code(receipt.retained ? 200 : 201).send(receipt);
    },
  );
}
