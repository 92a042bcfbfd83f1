import { z } from 'zod';
import type { JsonObject } from '../../../contracts/json.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import { type Authorizer, UNKNOWN_AUTHORIZATION } from '../authorizer.js';
import { agentOf } from '../mcp-requests.js';
import { idOf } from '../mcp.js';

/** What a host may execute, signed; to the agent whose call it was. */
export function registerAuthorizations(
  app: ServiceApp,
  { limits, authorizer }: { readonly limits: AgentLimitsCheck; readonly authorizer: Authorizer },
): void {
  app.get(
    '/authorizations/:correlation_id',
    { schema: { params: z.object({ correlation_id: z.string() }) } },
    async (request): Promise<JsonObject> => {
      const caller = agentOf(request);
      const asked = { caller, correlationId: request.correlationId, name: 'GET /authorizations' };
      await limits.replay(asked);
      const id = idOf(request.params.correlation_id, UNKNOWN_AUTHORIZATION);
      // Then refusals too carry the id of the call.
      return authorizer(id, asked, () => {
        request.correlationId = id;
      });
    },
  );
}
