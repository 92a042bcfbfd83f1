import { z } from 'zod';
import { narrative, narrativeWindow } from '../../../contracts/ledger-reports.js';
import { GateError } from '../../../domain/errors.js';
import type { LedgerReports } from '../../../adapters/evidence/reports/reports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { agentLabel, scopeOf, scopeQuery } from '../query.js';

/** An agent's activity as a story (docs/architecture/ledger-reads.md#narrative). An unknown agent has a story of zeros. */
export function narrativeRoutes({
  app,
  reports,
}: {
  readonly app: ServiceApp;
  readonly reports: Pick<LedgerReports, 'narrative'>;
}): void {
  app.get(
    '/audit/agents/:agent_id/narrative',
    {
      schema: {
        params: z.object({ agent_id: agentLabel }),
        // Also for a name that no path can hold: `..`. It counts before the one in the path.
        querystring: z.object({
          ...scopeQuery,
          agent_id: agentLabel.optional(),
          window: z.string().max(16).default('7d'),
        }),
        response: { 200: narrative },
      },
    },
    (request) => {
      const window = narrativeWindow.safeParse(request.query.window);
      if (!window.success)
        throw new GateError('invalid_window', `window is one of ${narrativeWindow.options.join(', ')}`);
      const agentId = request.query.agent_id ?? request.params.agent_id;
      return reports.narrative({ ...scopeOf(request.query), agentId, window: window.data });
    },
  );
}
