import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Chat, chat, chatLink, chatLinkRequest } from '../../../contracts/chat-link.js';
import { GateError } from '../../../domain/errors.js';
import type { ChatLinkStore } from '../../../domain/review/chat-links.js';
import type { ServiceApp } from '../../plugins/app.js';
import { deciderOf, scopeFirst, type ServiceScope, subjectOf } from '../scope.js';
import { mayDecide } from './decide.js';

const BySub = z.object({ oidc_sub: z.string().min(1).max(256) });

export interface IdentityRoutes {
  readonly links: ChatLinkStore;
  readonly scopeOf: (request: FastifyRequest) => ServiceScope;
}

/** Which accounts of chats are whose (docs/architecture/notifications.md#clicks). Each person links and unlinks only himself. */
export function identityRoutes(app: ServiceApp, { links, scopeOf }: IdentityRoutes): void {
  /** Otherwise somebody could decide under another's name, beside his own. */
  function ownTenant(request: FastifyRequest, sub: string): string {
    const scope = scopeOf(request);
    if (deciderOf(scope)(scope.tenant).subject !== subjectOf({ name: sub }))
      throw new GateError('capability_denied', 'oidc_sub: people link their own accounts only');
    return scope.tenant;
  }

  app.post(
    '/identities/upsert',
    { schema: { body: chatLinkRequest, response: { 200: chatLink } }, onRequest: mayDecide(scopeOf) },
    (request) => links.upsert(ownTenant(request, request.body.oidc_sub), request.body),
  );

  app.get(
    '/identities/:oidc_sub',
    { schema: { params: BySub, response: { 200: chatLink } }, onRequest: scopeFirst(scopeOf) },
    async (request) => {
      const found = await links.get(scopeOf(request).tenant, request.params.oidc_sub);
      if (found === null) throw new GateError('not_found');
      return found;
    },
  );

  const clear = (which: Chat) =>
    app.delete(
      `/identities/:oidc_sub/${which}`,
      {
        schema: { params: BySub, response: { 200: z.object({ cleared: z.boolean() }) } },
        onRequest: mayDecide(scopeOf),
      },
      async (request) => {
        const { oidc_sub } = request.params;
        return { cleared: await links.clear(ownTenant(request, oidc_sub), oidc_sub, which) };
      },
    );
  for (const which of chat.options) clear(which);
}
