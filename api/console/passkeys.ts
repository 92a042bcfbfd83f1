import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { GateError } from '../../domain/errors.js';
import type { ServiceApp } from '../plugins/app.js';
import type { Over } from '../plugins/declaration.js';
import { tenantHeader } from './tenant-scope.js';
import { addressAt } from './address-at.js';
import type { Entered, EnteredOf } from './entered.js';

export interface PasskeyRelayOptions {
  readonly entered: EnteredOf;
  /** Throws for a request that is not from a page of this session. */
  readonly assertOwn: (request: FastifyRequest, entered: Entered) => void;
  readonly hil: Promise<Over>;
}

/** What the script of a page asks of HIL's ceremonies, which decide what counts. */
const RELAYED = [
  '/auth/register/start',
  '/auth/register/finish',
  '/auth/login/start',
  '/auth/login/finish',
  '/auth/enrollment/recoveries',
] as const;
const LIMIT_MS = 10_000;
const SESSIONS = 1_000;
/** As long as HIL's own session of a passkey; a restart of the console ends it. */
const KEPT_MS = 8 * 3_600_000;

/**
 * Ceremonies of passkeys, passed on to HIL for who is signed in (docs/how-to/set-up-passkeys.md). HIL's cookies stay here, beside the session:
 * no browser sees them.
 */
export function relayPasskeys(app: ServiceApp, { entered, assertOwn, hil }: PasskeyRelayOptions): void {
  const kept = new LRUCache<string, ReadonlyMap<string, string>>({ max: SESSIONS, ttl: KEPT_MS });

  const pass = async (request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> => {
    const who = await entered(request);
    if (who === null) throw new GateError('unauthenticated', 'You are not signed in any more: load the page.');
    assertOwn(request, who);
    const cookies = new Map(kept.get(who.session.id));
    const { url, fetch } = await hil;
    const answer = await fetch(addressAt(url, path), {
      method: 'POST',
      headers: {
        ...who.proof,
        ...tenantHeader(who.person.tenant),
        'content-type': 'application/json',
        ...(cookies.size > 0 && { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }),
      },
      body: JSON.stringify(request.body ?? {}),
      signal: AbortSignal.timeout(LIMIT_MS),
    }).catch((cause: unknown) => {
      throw new GateError('console_neighbour_away', 'the review service does not answer', { cause });
    });
    for (const line of answer.setCookies ?? []) {
      const [pair = ''] = line.split(';', 1);
      const at = pair.indexOf('=');
      const value = pair.slice(at + 1);
      if (value === '') cookies.delete(pair.slice(0, at));
      else cookies.set(pair.slice(0, at), value);
    }
    kept.set(who.session.id, cookies);
    return reply
      .code(answer.status)
      .type('application/json')
      .send(await answer.text());
  };

  for (const path of RELAYED) app.post(path, (request, reply) => pass(request, reply, path));
  app.post<{ Params: { id: string } }>('/hil/:id/approval-challenge', (request, reply) =>
    pass(request, reply, `/pending/${encodeURIComponent(request.params.id)}/approval-challenge`),
  );
}
