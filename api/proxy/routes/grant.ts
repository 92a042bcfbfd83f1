import { type GrantRequest, type IssuedGrant, issuedGrant, ownGrantRequest } from '../../../contracts/grants.js';
import { GateError } from '../../../domain/errors.js';
import { readObject } from '../../../domain/mcp/envelope.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import { bodyText, certificateOf, standingAgentOf } from '../mcp-requests.js';

export type AskGrant = (request: GrantRequest) => Promise<IssuedGrant>;

/**
 * A grant for the agent whose certificate this connection shows (docs/architecture/identity.md#grants). Identity decides; the proxy tells it whose
 * connection it saw, and nothing that the agent says of itself.
 */
export function registerGrant(
  app: ServiceApp,
  { limits, askGrant }: { readonly limits: AgentLimitsCheck; readonly askGrant: AskGrant },
): void {
  app.post(
    '/grant',
    // Its bytes are read as those of a call are, so the schema only describes them.
    { config: { described: { body: ownGrantRequest } }, schema: { response: { 200: issuedGrant } } },
    async (request, reply) => {
      const caller = standingAgentOf(request);
      certificateOf(request, caller.fingerprint);
      await limits.control({ caller, correlationId: request.correlationId, name: 'POST /grant' });
      const read = ownGrantRequest.safeParse(readObject(bodyText(request)));
      if (!read.success) {
        const [issue] = read.error.issues;
        throw new GateError('invalid_request', `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'no request'}`);
      }
      const issued = await askGrant({
        ...read.data,
        tenant: caller.tenant ?? '',
        agent_spiffe: caller.spiffe,
        credential_fingerprint: caller.fingerprint,
      });
      return reply.header('cache-control', 'no-store').send(issued);
    },
  );
}
