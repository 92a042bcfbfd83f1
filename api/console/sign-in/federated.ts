import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
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
  /** How many values came under each name that is read; for the log, which keeps none of them. */
  readonly came: Readonly<Record<string, number>>;
  /** When the session ends, however much it is used. */
  readonly endsMs: number;
  /** The page that is opened now. */
  readonly returnTo: string;
}

export interface Federation {
  /** Signs somebody in whom the provider proved, or says why not. */
  enter(request: FastifyRequest, reply: FastifyReply, door: Door, proved: Proved): Promise<FastifyReply>;
  /** Whoever proved nothing. The page says `words`, the log `why` under the page's id. */
  refuse(request: FastifyRequest, reply: FastifyReply, door: Door, words: string, why: Why): FastifyReply;
  readonly personOf: SignInMode['personOf'];
  readonly left: NonNullable<SignInMode['left']>;
}

/** What the log is told of a refusal: in words, and what else there is to know. */
export type Why = { readonly reason: string } & Readonly<Record<string, unknown>>;

/** Whom the provider named, and which page was wanted: shown to that person, who cannot get in as another one otherwise. */
export type Named = Pick<Proved, 'name' | 'returnTo'>;

/** What is the same for every provider (docs/architecture/console.md#federated): who its people are here, and what is written of them. */
export function federation(of: {
  readonly method: 'oidc' | 'saml';
  readonly issuer: string;
  /** What of the provider's words is read. */
  readonly reads: unknown;
  readonly rules: ProjectionRules;
  /** The page on which people sign in, with a refusal; `as` whom the provider named, where it named somebody. */
  readonly page: (refused: string, as: Named | null) => VNode;
  readonly decideToken: string;
  readonly logger: Logger;
  readonly clock: () => number;
}): Federation {
  const { method, issuer, rules, logger } = of;
  const { tenantMap, adminGroups, approverGroups, viewerGroups, teamGroups, mfaValues } = rules;
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
      ...(teamGroups.length > 0 ? [teamGroups] : []),
    ]),
  );
  const told = (
    [request, reply, door]: readonly [FastifyRequest, FastifyReply, Door],
    words: string,
    why: Why,
    as: Named | null,
  ): FastifyReply => {
    door.failed(request);
    request.log.warn(
      { event: 'federated_refused', protocol: method, correlation_id: request.correlationId, ...why },
      'somebody who came from the provider was not signed in',
    );
    // The provider's own words are for the log alone.
    const body = of.page(`${words} (${request.correlationId})`, as);
    return door.show(reply, { title: 'Sign in', status: 401, body });
  };
  const note = (event: string, { subject, tenant, role }: Omit<SignedIn, 'mode'>, words: string): void => {
    const principal = federatedPrincipal({ method, tenant, issuer, subject });
    logger.info({ event, protocol: method, principal, tenant, role }, words);
  };
  return {
    refuse: (request, reply, door, words, why) => told([request, reply, door], words, why, null),
    left: (who) => note('federated_logout', who, 'somebody signed out whom the provider had signed in'),
    async enter(request, reply, door, { name, words, came, endsMs, returnTo }) {
      const subject = `${method}:${name}`;
      if (!isSubjectOf(method, subject) || endsMs <= of.clock())
        return told(
          [request, reply, door],
          NAMED_OTHERWISE,
          { reason: 'the name cannot be recorded, or the proof is over', came },
          null,
        );
      const who = project(words, rules);
      // The provider says each time to which tenant somebody belongs: what he has open in another one is from before that, also where he is refused.
      await door.leftOthers({ subject, tenant: who.tenant });
      if ('refused' in who) {
        // What he has open from before he lost it ends with it.
        if (who.tenant !== null) await door.lost({ subject, tenant: who.tenant });
        const why = {
          reason: `by what the provider says there is no ${who.refused} for this person`,
          lacks: who.refused,
          principal: federatedPrincipal({ method, tenant: who.tenant ?? '', issuer, subject }),
          came,
        };
        return told([request, reply, door], LACKS[who.refused], why, { name, returnTo });
      }
      const { tenant, role, teams } = who;
      await door.accept(reply, { subject, tenant, mode, role, endsMs, ...(teams && { teams }) });
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

/** How many values somebody's provider said under a name. */
export const valuesIn = (said: unknown): number => (Array.isArray(said) ? said.length : said === undefined ? 0 : 1);

export const NOT_BEGUN_HERE = 'This sign-in was not begun in this browser, or took too long. Begin it again.';
/** The same for the log, which may say what the page has no words for. */
export const notBegun = (cookie: string, isSent: boolean): Why => ({
  reason: isSent
    ? `the browser's cookie ${cookie} is changed, too old or of another sign-in`
    : `the browser sent no cookie ${cookie}: it began elsewhere, or at another name of the console`,
});
const NAMED_OTHERWISE = 'The provider names you in a way that cannot be recorded, or for no longer than now.';
const LACKS = {
  tenant: 'The provider says of no tenant here that you belong to it.',
  role: 'None of your groups may use this console.',
  mfa: 'This console asks for a second factor, and the provider does not say that you used one.',
} as const;
