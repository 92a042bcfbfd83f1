import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { SessionStore } from '../../adapters/console/session-store.js';
import { errorText, GateError } from '../../domain/errors.js';
import { countedAddress } from '../../domain/limits/counted-address.js';
import { slidingBudget } from '../../domain/limits/sliding-budget.js';
import type { Over } from '../plugins/declaration.js';
import type { ChainWatch } from './chain-health.js';
import type { Send } from './documents.js';
import type { ConsoleMetrics } from './metrics.js';
import type { OwnRequests } from './own-requests.js';
import type { People } from './people.js';
import { tellStanding } from './services-over-http.js';
import type { Door, ReviewProof, SignInMode } from './sign-in/mode.js';
import { nothingMore } from './sign-in/vouching.js';

/** Failed attempts to sign in, of one address. */
const ATTEMPTS = { count: 10, windowMs: 60_000 };

export interface DoorOptions {
  readonly sessions: SessionStore;
  readonly signIn: SignInMode;
  /** What proves to the review service that the console vouches for somebody. */
  readonly decideToken: string | undefined;
  readonly hil: Promise<Over>;
  readonly people: People;
  readonly own: OwnRequests;
  readonly chain: ChainWatch;
  readonly send: Send;
  readonly metrics: ConsoleMetrics;
  readonly logger: Logger;
  readonly clock: () => number;
}

/** Through which people come in, whatever way they sign in by, and by which they leave. */
export function doorOf(options: DoorOptions): Door {
  const { sessions, signIn, people, own, send, metrics, clock } = options;
  const failures = slidingBudget(ATTEMPTS.count, ATTEMPTS.windowMs);

  /** Says to the review service what somebody may do now. Where it is away it goes by what it heard last, for as long as it keeps that. */
  const tell = async (proof: ReviewProof, tenant: string): Promise<void> => {
    if (proof['x-gate-decision-principal'] === undefined) return;
    try {
      await tellStanding(options.hil, proof, tenant);
    } catch (error) {
      options.logger.warn({ reason: errorText(error) }, 'the review service was not told what somebody may do now');
    }
  };
  const tellNothingMore = async (who: { readonly subject: string; readonly tenant: string }): Promise<void> => {
    const proof = nothingMore(who, signIn.name, options.decideToken, clock());
    if (proof) await tell(proof, who.tenant);
  };

  return {
    nowMs: clock,
    throttle(request: FastifyRequest) {
      // An image on any page could fail in the name of everybody at its reader's address. A browser says what it asks for.
      const { 'sec-fetch-site': site, 'sec-fetch-dest': dest } = request.headers;
      if (site === 'cross-site' && dest !== 'document') throw new GateError('csrf_failed');
      const wait = failures.look(countedAddress(request.ip), clock());
      if (wait === 0) return;
      metrics.attempt('throttled');
      throw new GateError('rate_limited', 'Too many attempts to sign in failed from this address.', {
        fields: { retry_after_secs: wait },
      });
    },
    failed(request) {
      failures.take(countedAddress(request.ip), 1, clock());
      metrics.attempt('refused');
    },
    providerAway: () => metrics.attempt('provider_away'),
    async accept(reply: FastifyReply, who) {
      // With two roles at once, the older one would be used where the newer one is not enough: also where Gate ends in the middle.
      const kept = await sessions.enter(who);
      const entered = await people.enteredBy(kept, reply.request);
      if (entered) await tell(entered.proof, who.tenant);
      metrics.attempt('accepted');
      // So that whoever decides now is told where the chain does not hold; nobody waits for it.
      options.chain.health().catch(() => undefined);
      people.keep(reply, kept);
    },
    page: (reply, status, words, wanted = '/') =>
      send(reply, { title: 'Sign in', body: signIn.body(words, wanted) }, null, status),
    show: (reply, shown) => send(reply, shown, null),
    isSecure: people.isSecure,
    isIn: async (request) => (await people.enteredOf(request)) !== null,
    assertOwnOrigin: own.assertOrigin,
    async lost(who) {
      await sessions.endAllOf(who);
      await tellNothingMore(who);
    },
    async leftOthers(who) {
      const tenants = await sessions.endElsewhere(who);
      await Promise.all(tenants.map((tenant) => tellNothingMore({ subject: who.subject, tenant })));
    },
  };
}
