import { z } from 'zod';
import type { AccessTokenRules } from '../../../domain/identity/access-tokens.js';
import { GateError } from '../../../domain/errors.js';
import type { ServiceApp } from '../../plugins/app.js';
import { METADATA_PATH } from '../token-callers.js';

/** https://www.rfc-editor.org/rfc/rfc9728#section-2 */
const ResourceMetadata = z.object({
  resource: z.url(),
  resource_name: z.string(),
  authorization_servers: z.array(z.url()),
  bearer_methods_supported: z.array(z.literal('header')),
  scopes_supported: z.array(z.string()).optional(),
});

/**
 * Which issuer's tokens agents come with: what an MCP client reads after a 401. Open to everybody, since it is asked before anybody is
 * known. 404 where no token is taken.
 */
export function registerResourceMetadata(app: ServiceApp, rules: AccessTokenRules | undefined): void {
  const own = rules && new URL(rules.resource).pathname;
  const paths = new Set(['', '/mcp', ...(own === undefined || own === '/' ? [] : [own])]);
  for (const path of paths)
    app.get(`${METADATA_PATH}${path}`, { schema: { response: { 200: ResourceMetadata } } }, (_request, reply) => {
      if (!rules)
        throw new GateError('not_found', 'agents come here with a certificate, or a token that settings name');
      void reply.header('cache-control', 'public, max-age=300');
      return {
        resource: rules.resource,
        resource_name: 'Gate',
        authorization_servers: [rules.issuer],
        bearer_methods_supported: ['header' as const],
        ...(rules.scopes.length > 0 && { scopes_supported: [...rules.scopes] }),
      };
    });
}
