import type { FastifyRequest } from 'fastify';
import {
  allowedRecovery,
  ceremonyOptions,
  namedPerson,
  personRemoved,
  registeredPasskey,
  registrationJson,
  startWithToken,
} from '../../../contracts/approval.js';
import { CALLER_IDS } from '../../../contracts/route-authority.js';
import { GateError, roleTooLow } from '../../../domain/errors.js';
import { type PasskeyHolder, passkeyPerson } from '../../../domain/review/passkey-people.js';
import { CEREMONY } from '../../../domain/review/passkey-ceremonies.js';
import type { Passkeys } from '../../../domain/review/passkeys.js';
import type { ServiceApp } from '../../plugins/app.js';
import { namedTenant, scopeFirst, type ServiceScope } from '../scope.js';
import { CEREMONY_COOKIE, cookie, cookieOf, PASSKEY_SESSION_COOKIE } from './passkey-cookies.js';

/**
 * Looks up, before anything of a request is read, whose passkey's session the console shows. An operator's token counts instead of it, so
 * that nobody is two people at once.
 */
export function passkeyHolders(
  app: ServiceApp,
  passkeys: Pick<Passkeys, 'holder'>,
): (request: FastifyRequest) => PasskeyHolder | null {
  const holders = new WeakMap<FastifyRequest, PasskeyHolder>();
  app.addHook('onRequest', async (request) => {
    const value = cookieOf(request, PASSKEY_SESSION_COOKIE);
    if (value === null || request.headers.authorization !== undefined) return;
    if (request.caller?.callerId !== CALLER_IDS.console) return;
    const tenant = namedTenant(request);
    const holder = tenant === null ? null : await passkeys.holder(value, tenant);
    if (holder) holders.set(request, holder);
  });
  return (request) => holders.get(request) ?? null;
}

/**
 * People who have a passkey and no token (docs/how-to/sign-in-by-a-passkey.md): the first administrator by the token of the settings, everybody
 * else by an invitation of that one. What they begin here they prove by their tokens and passkeys alone.
 */
export function passkeyPeopleRoutes(
  app: ServiceApp,
  { passkeys, scopeOf }: { readonly passkeys: Passkeys; readonly scopeOf: (request: FastifyRequest) => ServiceScope },
): void {
  /** An administrator by his passkey. Whoever can vouch could otherwise make people up who approve after each other. */
  const administratorOf = (request: FastifyRequest): PasskeyHolder => {
    const { holder } = scopeOf(request);
    if (holder === null) throw new GateError('passkey_session_required');
    if (holder.role !== 'admin') throw roleTooLow('admin', holder.role);
    return holder;
  };
  const byAdministrator = (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    administratorOf(request);
    done();
  };

  app.post(
    '/auth/people/register/start',
    { schema: { body: startWithToken, response: { 200: ceremonyOptions } }, onRequest: scopeFirst(scopeOf) },
    async (request, reply) => {
      const { name, token, display_name: displayName } = request.body;
      const who = { subject: passkeyPerson(name), tenant: scopeOf(request).tenant };
      const { ceremony, publicKey } = await passkeys.startRegistration(who, { displayName, recovery: token });
      void reply.header('set-cookie', cookie(CEREMONY_COOKIE, ceremony, CEREMONY.lifeMs));
      return { publicKey };
    },
  );

  app.post(
    '/auth/people/register/finish',
    { schema: { body: registrationJson, response: { 200: registeredPasskey } }, onRequest: scopeFirst(scopeOf) },
    async (request, reply) => {
      const ceremony = cookieOf(request, CEREMONY_COOKIE);
      if (ceremony === null) throw new GateError('ceremony_not_found');
      const who = { tenant: scopeOf(request).tenant, subject: null };
      const { credential_id, subject } = await passkeys.finishRegistration(ceremony, who, request.body);
      void reply.header('set-cookie', cookie(CEREMONY_COOKIE, '', 0));
      return { ok: true as const, name: subject, credential_id };
    },
  );

  app.post(
    '/auth/people/login/start',
    { schema: { body: namedPerson, response: { 200: ceremonyOptions } }, onRequest: scopeFirst(scopeOf) },
    async (request, reply) => {
      const who = { subject: passkeyPerson(request.body.name), tenant: scopeOf(request).tenant };
      const { ceremony, publicKey } = await passkeys.startLogin(who);
      void reply.header('set-cookie', cookie(CEREMONY_COOKIE, ceremony, CEREMONY.lifeMs));
      return { publicKey };
    },
  );

  app.post(
    '/auth/enrollment/invitations',
    { schema: { body: namedPerson, response: { 200: allowedRecovery } }, onRequest: byAdministrator },
    async (request) => {
      const [who, by] = [passkeyPerson(request.body.name), administratorOf(request)];
      const invitation = await passkeys.invite(who, by.tenant);
      request.log.info({ event: 'passkey_invited', by: by.subject, who, tenant: by.tenant }, 'somebody was invited');
      return invitation;
    },
  );

  app.post(
    '/auth/enrollment/removals',
    { schema: { body: namedPerson, response: { 200: personRemoved } }, onRequest: byAdministrator },
    async (request) => {
      const [subject, by] = [passkeyPerson(request.body.name), administratorOf(request)];
      await passkeys.remove(by, subject);
      request.log.info(
        { event: 'passkey_person_removed', by: by.subject, who: subject, tenant: by.tenant },
        'somebody was taken out',
      );
      return { ok: true as const, name: subject };
    },
  );
}
