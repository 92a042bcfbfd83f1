import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { SignedIn } from '../../../adapters/console/session-store.js';
import { isSubjectOf } from '../../../domain/review/vouching.js';
import { federatedPrincipal } from './federated-principal.js';
import type { Door, SignInMode } from './mode.js';
import { project, type ProjectionRules, type ProviderWords } from './projection.js';
import { openedIn, sessionMode } from './session-mode.js';
import { vouchedPerson } from './vouching.js';

/** Somebody whom a provider proved, as it says it. */
export interface Proved {
  /** As the provider names the person. */
  readonly name: string;
  readonly words: ProviderWords;
  /** When the session ends, however much it is used. */
  readonly endsMs: number;
  /** The page that is opened now. */
  readonly returnTo: string;
}

export interface Federation {
  /** Signs somebody in whom the provider proved, or says why not. */
  enter(request: FastifyRequest, reply: FastifyReply, door: Door, proved: Proved): Promise<FastifyReply>;
  /** Whoever proved nothing. */
  refuse(request: FastifyRequest, reply: FastifyReply, door: Door, words: string): FastifyReply;
  readonly personOf: SignInMode['personOf'];
  readonly left: NonNullable<SignInMode['left']>;
}

/** What is the same for every provider (docs/architecture/console.md#federated): who its people are here, and what is written of them. */
export function federation(of: {
  readonly method: 'oidc' | 'saml';
  readonly issuer: string;
  /** What of the provider's words is read. */
  readonly reads: unknown;
  readonly rules: ProjectionRules;
  readonly decideToken: string;
  readonly logger: Logger;
  readonly clock: () => number;
}): Federation {
  const { method, issuer, rules, logger } = of;
  const { tenantMap, adminGroups, approverGroups, viewerGroups, mfaValues } = rules;
  // A session has the role that its provider's words had under these settings.
  const mode = sessionMode(
    method,
    JSON.stringify([
      issuer,
      of.reads,
      tenantMap === undefined ? null : [...tenantMap],
      adminGroups,
      approverGroups,
      viewerGroups,
      mfaValues,
    ]),
  );
  const refuse: Federation['refuse'] = (request, reply, door, words) => {
    door.failed(request);
    // The provider's own words are for the log alone.
    return door.page(reply, 401, `${words} (${request.correlationId})`);
  };
  const note = (event: string, { subject, tenant, role }: Omit<SignedIn, 'mode'>, words: string): void => {
    const principal = federatedPrincipal({ method, tenant, issuer, subject });
    logger.info({ event, protocol: method, principal, tenant, role }, words);
  };
  return {
    refuse,
    left: (who) => note('federated_logout', who, 'somebody signed out whom the provider had signed in'),
    async enter(request, reply, door, { name, words, endsMs, returnTo }) {
      const subject = `${method}:${name}`;
      if (!isSubjectOf(method, subject) || endsMs <= of.clock()) return refuse(request, reply, door, NAMED_OTHERWISE);
      const who = project(words, rules);
      // The provider says each time to which tenant somebody belongs: what he has open in another one is from before that, also where he is refused.
      await door.leftOthers({ subject, tenant: who.tenant });
      if ('refused' in who) {
        // What he has open from before he lost it ends with it.
        if (who.tenant !== null) await door.lost({ subject, tenant: who.tenant });
        request.log.warn({ lacks: who.refused }, 'somebody whom the provider knows may not sign in');
        return refuse(request, reply, door, LACKS[who.refused]);
      }
      const { tenant, role } = who;
      await door.accept(reply, { subject, tenant, mode, role, endsMs });
      // Once more: of two sign-ins at once neither found the other's session before.
      await door.leftOthers({ subject, tenant });
      note('federated_login', { subject, tenant, role }, 'somebody signed in by the provider');
      return reply.redirect(returnTo, 303);
    },
    personOf(session) {
      const opened = openedIn(session, mode, method);
      return opened && vouchedPerson(opened, method, of.decideToken);
    },
  };
}

const NAMED_OTHERWISE = 'The provider names you in a way that cannot be recorded, or for no longer than now.';
const LACKS = {
  tenant: 'The provider says of no tenant here that you belong to it.',
  role: 'None of your groups may use this console.',
  mfa: 'This console asks for a second factor, and the provider does not say that you used one.',
} as const;
