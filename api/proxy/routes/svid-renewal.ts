import { hash } from 'node:crypto';
import { type IssuedSvid, issuedSvid, svidRenewal, type SvidRenewRequest } from '../../../contracts/identity.js';
import { GateError } from '../../../domain/errors.js';
import { readObject } from '../../../domain/mcp/envelope.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import { bodyText, certificateOf, standingAgentOf } from '../mcp-requests.js';

export type RenewSvid = (request: SvidRenewRequest) => Promise<IssuedSvid>;

/**
 * The next certificate of the agent whose certificate this connection shows (docs/architecture/identity.md#the-next-one). Identity decides; the
 * proxy tells it whose connection it saw, and nothing that the agent says of itself. Without identity it is answered like a path that does not exist.
 */
export function registerSvidRenewal(
  app: ServiceApp,
  { limits, renewSvid }: { readonly limits: AgentLimitsCheck; readonly renewSvid: RenewSvid },
): void {
  app.post(
    '/svid/renew',
    // Its bytes are read as those of a call are, so the schema only describes them.
    { config: { described: { body: svidRenewal } }, schema: { response: { 200: issuedSvid } } },
    async (request) => {
      const caller = standingAgentOf(request);
      const certificate = certificateOf(request, caller.fingerprint);
      await limits.control({ caller, correlationId: request.correlationId, name: 'POST /svid/renew' });
      const read = svidRenewal.safeParse(readObject(bodyText(request)));
      if (!read.success) {
        const [issue] = read.error.issues;
        throw new GateError('invalid_request', `${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'no request'}`);
      }
      return renewSvid({
        ...read.data,
        agent_spiffe: caller.spiffe,
        credential_fingerprint: caller.fingerprint,
        public_key_sha256: hash('sha256', certificate.publicKey.export({ type: 'spki', format: 'der' })),
      });
    },
  );
}
