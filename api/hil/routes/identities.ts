import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  type Chat,
  chat,
  type ChatLink,
  chatLink,
  chatLinkRemoval,
  chatLinkRemoved,
  chatLinkRequest,
  chatUnlinked,
  linkOwner,
} from '../../../contracts/chat-link.js';
import { GateError } from '../../../domain/errors.js';
import type { ChatLinkStore } from '../../../domain/review/chat-links.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { LinkCodes } from '../../../domain/review/link-code.js';
import { administratorsOnly, deciderOf, scopeFirst, type ServiceScope, subjectOfLink } from '../scope.js';
import { mayDecide } from './decide.js';

const BySub = z.object({ oidc_sub: linkOwner });

export interface IdentityRoutes {
  readonly links: ChatLinkStore;
  readonly codes: Pick<LinkCodes, 'read'>;
  readonly scopeOf: (request: FastifyRequest) => ServiceScope;
}

/** Which accounts of chats are whose (docs/architecture/notifications.md#clicks). Each person links only himself; an administrator unlinks others too. */
export function identityRoutes(app: ServiceApp, { links, codes, scopeOf }: IdentityRoutes): void {
  /** Otherwise somebody could decide under another's name, beside his own. */
  function ownTenant(request: FastifyRequest, sub: string): string {
    const scope = scopeOf(request);
    if (deciderOf(scope)(scope.tenant).subject !== subjectOfLink(sub))
      throw new GateError('capability_denied', 'oidc_sub: people link their own accounts only');
    return scope.tenant;
  }

  /** Links the account that a code was shown to, once. */
  async function proved(tenant: string, oidc_sub: string, code: string): Promise<ChatLink> {
    const account = codes.read(code);
    if (account === null) throw new GateError('link_code_invalid');
    return links.upsert(tenant, { oidc_sub, [`${account.chat}_user_id`]: account.userId }, account.digest);
  }

  app.post(
    '/identities/upsert',
    { schema: { body: chatLinkRequest, response: { 200: chatLink } }, onRequest: mayDecide(scopeOf) },
    async (request) => {
      const { link_code, ...named } = request.body;
      const tenant = ownTenant(request, named.oidc_sub);
      if (link_code !== undefined) return proved(tenant, named.oidc_sub, link_code);
      // What an operator says of himself is believed of an operator alone.
      if (scopeOf(request).operator === null)
        throw new GateError(
          'capability_denied',
          'link_code: an account is linked by the code that a click of it gives',
        );
      return links.upsert(tenant, named);
    },
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
        schema: { params: BySub, response: { 200: chatUnlinked } },
        onRequest: mayDecide(scopeOf),
      },
      async (request) => {
        const { oidc_sub } = request.params;
        return { cleared: await links.clear(ownTenant(request, oidc_sub), oidc_sub, which) };
      },
    );
  for (const which of chat.options) clear(which);

  app.post(
    '/identities/removals',
    {
      schema: { body: chatLinkRemoval, response: { 200: chatLinkRemoved } },
      onRequest: [mayDecide(scopeOf), administratorsOnly(scopeOf)],
    },
    async (request) => {
      const { chat: which, oidc_sub } = request.body;
      const scope = scopeOf(request);
      const { tenant } = scope;
      const by = deciderOf(scope)(tenant).subject;
      if (!(await links.clear(tenant, oidc_sub, which))) throw new GateError('not_found');
      const told = { event: 'chat_link_removed', by, who: subjectOfLink(oidc_sub), chat: which, tenant };
      request.log.info(told, 'an account of a chat was unlinked by an administrator');
      return { oidc_sub, chat: which, removed_by: by };
    },
  );
}
