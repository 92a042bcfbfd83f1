import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  allowedRecovery,
  approvalChallenge,
  assertionJson,
  ceremonyOptions,
  loggedIn,
  loggedOut,
  namedOperator,
  ownPasskeys,
  passkeyIdentity,
  registeredPasskey,
  registrationJson,
  startRegistration,
} from '../../../contracts/approval.js';
import { challengeRequest } from '../../../contracts/review.js';
import { GateError, roleTooLow } from '../../../domain/errors.js';
import { approvalStatementOf, challengeOf } from '../../../domain/review/approval-challenge.js';
import { modificationOf } from '../../../domain/review/decisions.js';
import { SESSION_LIFE_MS } from '../../../domain/review/passkey-session.js';
import type { Approver } from '../../../domain/review/passkey-store.js';
import { CEREMONY } from '../../../domain/review/passkey-ceremonies.js';
import type { Passkeys } from '../../../domain/review/passkeys.js';
import { passkeyPerson } from '../../../domain/review/passkey-people.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import type { QuorumRule } from '../../../domain/decision/quorum.js';
import { whySettled } from '../../../domain/decision/transitions.js';
import type { ServiceApp } from '../../plugins/app.js';
import { deciderOf, scopeFirst, type ServiceScope, subjectOf } from '../scope.js';
import { CEREMONY_COOKIE as COOKIE, cookie, cookieOf, PASSKEY_SESSION_COOKIE as SESSION } from './passkey-cookies.js';
import { ById } from './schemas.js';

export interface PasskeyRoutes {
  readonly passkeys: Passkeys;
  readonly reviews: Pick<OpenedReviews, 'reads'>;
  readonly scopeOf: (request: FastifyRequest) => ServiceScope;
  /** How many people predicted effects ask for, where they do. */
  readonly quorum: QuorumRule;
}

/** Passkeys of approvers (docs/how-to/set-up-passkeys.md). Whoever may decide registers his own, and nobody else's. */
export function passkeyRoutes(app: ServiceApp, { passkeys, reviews, scopeOf, quorum }: PasskeyRoutes): void {
  const approverOf = (request: FastifyRequest): Approver => {
    const scope = scopeOf(request);
    // Whoever can vouch could otherwise make somebody up, with a passkey of his own.
    if (scope.vouched !== null) throw new GateError('passkeys_not_vouched');
    return deciderOf(scope)(scope.tenant);
  };
  const onRequest = (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    approverOf(request);
    done();
  };

  app.post(
    '/auth/register/start',
    { schema: { body: startRegistration, response: { 200: ceremonyOptions } }, onRequest },
    async (request, reply) => {
      const { ceremony, publicKey } = await passkeys.startRegistration(approverOf(request), {
        displayName: request.body.display_name,
        recovery: request.body.recovery_token,
        session: cookieOf(request, SESSION),
      });
      void reply.header('set-cookie', cookie(COOKIE, ceremony, CEREMONY.lifeMs));
      return { publicKey };
    },
  );

  app.post(
    '/auth/register/finish',
    { schema: { body: registrationJson, response: { 200: registeredPasskey } }, onRequest },
    async (request, reply) => {
      const ceremony = cookieOf(request, COOKIE);
      if (ceremony === null) throw new GateError('ceremony_not_found');
      const who = approverOf(request);
      const { credential_id } = await passkeys.finishRegistration(ceremony, who, request.body);
      void reply.header('set-cookie', cookie(COOKIE, '', 0));
      return { ok: true as const, name: who.subject, credential_id };
    },
  );

  app.post(
    '/auth/login/start',
    { schema: { body: namedOperator, response: { 200: ceremonyOptions } }, onRequest: scopeFirst(scopeOf) },
    async (request, reply) => {
      const who = { subject: subjectOf(request.body), tenant: scopeOf(request).tenant };
      const { operator } = scopeOf(request);
      // Whose token it is begins no logins of somebody else, which would end those.
      if (operator !== null && subjectOf(operator) !== who.subject)
        throw new GateError('capability_denied', 'name: by a token nobody but its owner logs in');
      const { ceremony, publicKey } = await passkeys.startLogin(who);
      void reply.header('set-cookie', cookie(COOKIE, ceremony, CEREMONY.lifeMs));
      return { publicKey };
    },
  );

  app.post(
    '/auth/login/finish',
    { schema: { body: assertionJson, response: { 200: loggedIn } }, onRequest: scopeFirst(scopeOf) },
    async (request, reply) => {
      const ceremony = cookieOf(request, COOKIE);
      if (ceremony === null) throw new GateError('ceremony_not_found');
      const { session, subject, role, expires_at } = await passkeys.finishLogin(
        ceremony,
        scopeOf(request).tenant,
        request.body,
      );
      void reply.header('set-cookie', [cookie(COOKIE, '', 0), cookie(SESSION, session, SESSION_LIFE_MS)]);
      return { ok: true as const, name: subject, ...(role && { role, expires_at }) };
    },
  );

  app.post(
    '/auth/logout',
    { schema: { body: z.strictObject({}).nullish(), response: { 200: loggedOut } }, onRequest: scopeFirst(scopeOf) },
    async (request, reply) => {
      void reply.header('set-cookie', [cookie(COOKIE, '', 0), cookie(SESSION, '', 0)]);
      const session = await passkeys.session(cookieOf(request, SESSION), scopeOf(request).tenant);
      return { ok: true as const, ended: session !== null };
    },
  );

  app.get(
    '/auth/me',
    { schema: { response: { 200: passkeyIdentity } }, onRequest: scopeFirst(scopeOf) },
    async (request) => {
      const session = await passkeys.session(cookieOf(request, SESSION), scopeOf(request).tenant);
      if (session === null)
        throw new GateError(
          'unauthenticated',
          `no session of a passkey (the cookie ${SESSION}): log in at POST /auth/login/start`,
        );
      const { subject: name, tenant, expires_ms } = session;
      const expires_at = new Date(expires_ms).toISOString();
      const role = scopeOf(request).holder?.role;
      return {
        authenticated: true as const,
        name,
        tenant,
        method: 'webauthn' as const,
        ...(role && { role }),
        expires_at,
      };
    },
  );

  app.get('/auth/passkeys', { schema: { response: { 200: ownPasskeys } }, onRequest }, async (request) => ({
    passkeys: (await passkeys.of(approverOf(request))).map(({ credential_id, created_ms }) => ({
      credential_id,
      created_at: new Date(created_ms).toISOString(),
    })),
  }));

  app.post(
    '/auth/enrollment/recoveries',
    { schema: { body: namedOperator, response: { 200: allowedRecovery } }, onRequest },
    async (request) => {
      const { holder } = scopeOf(request);
      // Whoever allows it hands the token over, and could keep it: of people with roles the highest alone does.
      if (holder !== null && holder.role !== 'admin') throw roleTooLow('admin', holder.role);
      const { name } = request.body;
      const subject = holder === null ? subjectOf({ name }) : passkeyPerson(name);
      const by = approverOf(request);
      const allowed = await passkeys.allowRecovery(by, cookieOf(request, SESSION), subject);
      request.log.info(
        { event: 'passkey_replacement_allowed', by: by.subject, who: subject, tenant: by.tenant },
        'a new passkey was allowed',
      );
      return allowed;
    },
  );

  app.post(
    '/pending/:id/approval-challenge',
    { schema: { params: ById, body: challengeRequest, response: { 200: approvalChallenge } }, onRequest },
    async (request) => {
      const who = approverOf(request);
      const row = await reviews.reads.get(request.params.id, who.tenant);
      if (row === null) throw new GateError('not_found');
      const late = whySettled(row);
      if (late !== null) throw new GateError(late, undefined, { fields: { status: row.status } });
      const { decision, modification_diff } = request.body;
      if ((decision === 'modify') !== (modification_diff !== undefined))
        throw new GateError('invalid_request', 'modification_diff: belongs to modify, and modify needs it');
      const statement = approvalStatementOf(row, who.subject, {
        decision,
        ...modificationOf(row, { decision, modification_diff }, quorum),
      });
      return { statement, challenge: challengeOf(statement), publicKey: await passkeys.requestFor(who, statement) };
    },
  );
}
