import type { FastifyRequest } from 'fastify';
import {
  approvalChallenge,
  ceremonyOptions,
  registeredPasskey,
  registrationJson,
  startRegistration,
} from '../../../contracts/approval.js';
import { challengeRequest } from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import { approvalStatementOf, challengeOf } from '../../../domain/review/approval-challenge.js';
import { modificationOf } from '../../../domain/review/decisions.js';
import { type Approver, CEREMONY, type Passkeys } from '../../../domain/review/passkeys.js';
import type { ReviewStore } from '../../../domain/review/ports.js';
import { whyNotDecidable } from '../../../domain/review/transitions.js';
import type { ServiceApp } from '../../plugins/app.js';
import { deciderOf, type ServiceScope } from '../scope.js';
import { ById } from './schemas.js';

export interface PasskeyRoutes {
  readonly passkeys: Passkeys;
  readonly reviews: Pick<ReviewStore, 'get'>;
  readonly scopeOf: (request: FastifyRequest) => ServiceScope;
}

const COOKIE = 'gate_hil_ceremony';
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Strict';

/** Passkeys of approvers (docs/how-to/set-up-passkeys.md). Whoever may decide registers his own, and nobody else's. */
export function passkeyRoutes(app: ServiceApp, { passkeys, reviews, scopeOf }: PasskeyRoutes): void {
  const approverOf = (request: FastifyRequest): Approver => {
    const scope = scopeOf(request);
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
      const { ceremony, publicKey } = await passkeys.startRegistration(approverOf(request), request.body.display_name);
      void reply.header('set-cookie', `${COOKIE}=${ceremony}; Max-Age=${CEREMONY.lifeMs / 1000}; ${ATTRIBUTES}`);
      return { publicKey };
    },
  );

  app.post(
    '/auth/register/finish',
    { schema: { body: registrationJson, response: { 200: registeredPasskey } }, onRequest },
    async (request, reply) => {
      const ceremony = cookieOf(request);
      if (ceremony === null) throw new GateError('ceremony_not_found');
      const who = approverOf(request);
      const credential_id = await passkeys.finishRegistration(ceremony, who, request.body);
      void reply.header('set-cookie', `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`);
      return { ok: true as const, name: who.subject, credential_id };
    },
  );

  app.post(
    '/pending/:id/approval-challenge',
    { schema: { params: ById, body: challengeRequest, response: { 200: approvalChallenge } }, onRequest },
    async (request) => {
      const who = approverOf(request);
      const row = await reviews.get(request.params.id, who.tenant);
      if (row === null) throw new GateError('not_found');
      const late = whyNotDecidable(row, Date.parse(row.created_at));
      if (late !== null) throw new GateError(late, undefined, { fields: { status: row.status } });
      const { decision, modification_diff } = request.body;
      if ((decision === 'modify') !== (modification_diff !== undefined))
        throw new GateError('invalid_request', 'modification_diff: belongs to modify, and modify needs it');
      const statement = approvalStatementOf(row, who.subject, {
        decision,
        ...modificationOf(row, { decision, modification_diff }),
      });
      return { statement, challenge: challengeOf(statement), publicKey: await passkeys.requestFor(who, statement) };
    },
  );
}

/** The id in the ceremony's cookie; `null` when there is none. */
function cookieOf({ headers: { cookie } }: FastifyRequest): string | null {
  const pair = cookie?.split(';').find((each) => each.trim().startsWith(`${COOKIE}=`));
  return pair?.trim().slice(COOKIE.length + 1) ?? null;
}
