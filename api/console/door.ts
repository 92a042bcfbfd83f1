import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { OpenSession, SessionStore } from '../../adapters/console/session-store.js';
import { errorText, GateError } from '../../domain/errors.js';
import { countedAddress } from '../../domain/limits/counted-address.js';
import { slidingBudget } from '../../domain/limits/sliding-budget.js';
import type { AskLimits } from './ask-limits.js';
import type { ChainWatch } from './chain-health.js';
import type { Send } from './documents.js';
import type { ConsoleMetrics } from './metrics.js';
import type { NeighbourOver } from './neighbour.js';
import type { OwnRequests } from './own-requests.js';
import type { People } from './people.js';
import { tellStanding } from './services-over-http.js';
import type { Door, ProvedBy, ReviewProof, SignInMode } from './sign-in/mode.js';
import { nothingMore } from './sign-in/vouching.js';

/** Failed attempts to sign in, of one address or one certificate. */
const ATTEMPTS = { count: 10, windowMs: 60_000 };

export interface DoorOptions {
  readonly sessions: SessionStore;
  readonly signIn: SignInMode;
  /** What proves to the review service that the console vouches for somebody. */
  readonly decideToken: string | undefined;
  readonly hil: NeighbourOver;
  readonly limits: Pick<AskLimits, 'readMs'>;
  readonly people: People;
  readonly own: OwnRequests;
  readonly chain: ChainWatch;
  readonly send: Send;
  readonly metrics: ConsoleMetrics;
  readonly logger: Logger;
  readonly clock: () => number;
}

interface HouseDoor extends Door {
  /** Whoever lost what he may do while the console was not there is told to the review service, and what he had open is ended. */
  readonly reopened: () => Promise<void>;
}

/** Through which people come in, whatever way they sign in by, and by which they leave. */
export function doorOf(options: DoorOptions): HouseDoor {
  const { sessions, signIn, people, own, send, metrics, clock } = options;
  const failures = slidingBudget(ATTEMPTS.count, ATTEMPTS.windowMs);

  /** Says to the review service what somebody may do now. Where it is away it goes by what it heard last, for as long as it keeps that. */
  const tell = async (proof: ReviewProof, tenant: string): Promise<void> => {
    if (proof['x-gate-decision-principal'] === undefined) return;
    try {
      await tellStanding(options.hil, { tenant, proof, limits: options.limits });
    } catch (error) {
      options.logger.warn({ reason: errorText(error) }, 'the review service was not told what somebody may do now');
    }
  };
  /** The console's word that somebody may do nothing any more; `null` for people for whom it never vouches. */
  const nothingFor = (who: { readonly subject: string; readonly tenant: string }, method = signIn.name) =>
    nothingMore(who, method, options.decideToken, clock());
  const tellNothingMore = async (who: { readonly subject: string; readonly tenant: string }): Promise<void> => {
    const proof = nothingFor(who);
    if (proof) await tell(proof, who.tenant);
  };
  /** For whom the console vouched and does so no more, because none of their sessions stands by what settings and registry say now. */
  const vouchedBefore = async () => {
    const found = new Map<string, { readonly by: OpenSession; readonly proof: ReviewProof; isSomebody: boolean }>();
    for (const session of await sessions.everything()) {
      // The way to sign in may be another one now.
      const proof = nothingFor(session, session.mode.split(' ')[0]);
      if (proof === null) continue;
      const key = JSON.stringify([session.tenant, session.subject]);
      const person = found.get(key) ?? { by: session, proof, isSomebody: false };
      person.isSomebody ||= (await people.entitledBy(session)) !== null;
      found.set(key, person);
    }
    return [...found.values()].filter(({ isSomebody }) => !isSomebody);
  };

  const assertOwnAttempt = ({ headers: { 'sec-fetch-site': site, 'sec-fetch-dest': dest } }: FastifyRequest): void => {
    // An image on any page, also of another port of this host, could fail in the name of everybody at its reader's address, or sign its
    // reader in as somebody else. A browser says what it asks for; of another site it may open a page.
    const isOwn = site === undefined || site === 'same-origin';
    if (!isOwn && dest !== 'document') throw new GateError('csrf_failed');
  };

  return {
    nowMs: clock,
    assertOwnAttempt,
    isFromElsewhere: ({ headers: { 'sec-fetch-site': site } }) => site === 'cross-site' || site === 'same-site',
    throttle(request, by = null) {
      assertOwnAttempt(request);
      const wait = failures.look(countedBy(request, by), clock());
      if (wait === 0) return;
      metrics.attempt('throttled');
      const from = by === null ? 'from this address' : 'with this certificate';
      throw new GateError('rate_limited', `Too many attempts to sign in failed ${from}.`, {
        fields: { retry_after_secs: wait },
      });
    },
    failed(request, by = null) {
      failures.take(countedBy(request, by), 1, clock());
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
    async reopened() {
      try {
        await options.hil;
        for (const { by, proof } of await vouchedBefore()) {
          await sessions.endAllOf(by);
          await tell(proof, by.tenant);
        }
      } catch (error) {
        options.logger.warn({ reason: errorText(error) }, 'sessions of before the start were not looked at');
      }
    },
    async leftOthers(who) {
      const tenants = await sessions.endElsewhere(who);
      await Promise.all(tenants.map((tenant) => tellNothingMore({ subject: who.subject, tenant })));
    },
  };
}

/** Whoever shares an address with others shares no certificate with them. */
const countedBy = (request: FastifyRequest, by: ProvedBy): string =>
  by === null ? countedAddress(request.ip) : `certificate ${by.certificate}`;
