import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import {
  allowedRecovery,
  approvalChallenge,
  assertionJson,
  ceremonyOptions,
  loggedIn,
  namedOperator,
  namedPerson,
  personRemoved,
  registeredPasskey,
  registrationJson,
  startRegistration,
} from '../../contracts/approval.js';
import { challengeRequest } from '../../contracts/review.js';
import type { Role } from '../../console/roles.js';
import type { Person } from '../../console/visit.js';
import { SESSION_LIFE_MS } from '../../domain/review/passkey-session.js';
import type { ServiceApp } from '../plugins/app.js';
import { passesOn } from '../plugins/openapi.js';
import type { AskLimits } from './ask-limits.js';
import type { LargeRoute } from './body-limits.js';
import { assertEntered, type Entered, type EnteredOf } from './entered.js';
import { neighbourOf, type NeighbourOver } from './neighbour.js';

export interface PasskeyRelayOptions {
  readonly entered: EnteredOf;
  /** Throws for a request that is not from a page of this session. */
  readonly assertOwn: (request: FastifyRequest, entered: Entered) => void;
  /** Throws for somebody of a lower role. */
  readonly assertRole: (person: Person, needed: Role) => void;
  readonly hil: NeighbourOver;
  readonly limits: Pick<AskLimits, 'readMs' | 'ceremonyMs'>;
  /** How a question about a decision is read, which holds the changed arguments. */
  readonly large: LargeRoute;
}

/** What the script of a page asks of HIL's ceremonies, which decide what counts: the least role of who asks, and what is said. */
const RELAYED = {
  '/auth/register/start': ['viewer', startRegistration, ceremonyOptions],
  '/auth/register/finish': ['viewer', registrationJson, registeredPasskey],
  '/auth/login/start': ['viewer', namedOperator, ceremonyOptions],
  '/auth/login/finish': ['viewer', assertionJson, loggedIn],
  '/auth/enrollment/recoveries': ['viewer', namedOperator, allowedRecovery],
  '/auth/enrollment/invitations': ['admin', namedPerson, allowedRecovery],
  '/auth/enrollment/removals': ['admin', namedPerson, personRemoved],
} as const;
const SESSIONS = 1_000;

/**
 * Ceremonies of passkeys, passed on to HIL for who is signed in (docs/how-to/set-up-passkeys.md). HIL's cookies stay here, beside the session:
 * no browser sees them.
 */
export function relayPasskeys(
  app: ServiceApp,
  { entered, assertOwn, assertRole, hil, large, limits }: PasskeyRelayOptions,
): void {
  // As long as HIL's own session of a passkey; a restart of the console ends it.
  const kept = new LRUCache<string, ReadonlyMap<string, string>>({ max: SESSIONS, ttl: SESSION_LIFE_MS });

  const pass = async (
    request: FastifyRequest,
    reply: FastifyReply,
    path: string,
    least: Role = 'viewer',
  ): Promise<FastifyReply> => {
    const who = await entered(request);
    assertEntered(who);
    assertOwn(request, who);
    assertRole(who.person, least);
    const cookies = new Map(kept.get(who.session.id));
    // Where the session of a passkey is what proves the person, it is the one.
    const { cookie: own, ...proof } = who.proof;
    const shown = [own ?? [], [...cookies].map(([name, value]) => `${name}=${value}`)].flat();
    const step = {
      method: 'POST',
      path,
      headers: shown.length > 0 ? { cookie: shown.join('; ') } : {},
      body: request.body ?? {},
    } as const;
    const reviews = neighbourOf('hil', hil, { tenant: who.person.tenant, proof, limits });
    const answer = await reviews.pass(step, limits.ceremonyMs);
    for (const line of answer.setCookies) {
      const [pair = ''] = line.split(';', 1);
      const at = pair.indexOf('=');
      const value = pair.slice(at + 1);
      if (value === '') cookies.delete(pair.slice(0, at));
      else cookies.set(pair.slice(0, at), value);
    }
    kept.set(who.session.id, cookies);
    return reply.code(answer.status).type('application/json').send(answer.text);
  };

  for (const [path, [least, body, answer]] of Object.entries(RELAYED))
    app.post(path, passesOn(body, answer), (request, reply) => pass(request, reply, path, least));
  app.post<{ Params: { id: string } }>(
    '/hil/:id/approval-challenge',
    { ...large, ...passesOn(challengeRequest, approvalChallenge) },
    (request, reply) => pass(request, reply, `/pending/${encodeURIComponent(request.params.id)}/approval-challenge`),
  );
}
