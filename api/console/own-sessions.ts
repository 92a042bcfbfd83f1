import type { FastifyRequest } from 'fastify';
import type { Session, SessionStore } from '../../adapters/console/session-store.js';
import type { OwnSessions } from '../../console/visit.js';
import { GateError } from '../../domain/errors.js';
import { slidingBudget } from '../../domain/limits/sliding-budget.js';
import type { ConsoleMetrics } from './metrics.js';
import type { SignInMode } from './sign-in/mode.js';

export interface OwnSessionsOptions {
  readonly sessions: SessionStore;
  readonly signIn: Pick<SignInMode, 'entitles' | 'personOf'>;
  readonly metrics: Pick<ConsoleMetrics, 'device'>;
  readonly clock: () => number;
}

/** Codes under which nobody waits, of one person: all of them together are nothing of the 25,600,000,000 that there are. */
const WRONG_CODES = { count: 10, windowMs: 600_000 };

/** What somebody has open, and the command lines that ask for more: for the person of a session alone. */
export function ownSessions({
  sessions,
  signIn,
  metrics,
  clock,
}: OwnSessionsOptions): (of: Session, request: Pick<FastifyRequest, 'headers'>) => OwnSessions {
  const wrong = slidingBudget(WRONG_CODES.count, WRONG_CODES.windowMs);
  return (session, { headers }) => {
    const person = JSON.stringify([session.tenant, session.subject]);
    const guessed = async <Found>(look: () => Promise<Found>): Promise<Found> => {
      const wait = wrong.look(person, clock());
      if (wait > 0)
        throw new GateError('rate_limited', 'Too many codes were typed under which nobody waits.', {
          fields: { retry_after_secs: wait },
        });
      const found = await look();
      if (found === null || found === false) wrong.take(person, 1, clock());
      return found;
    };
    return {
      async open() {
        const all = await sessions.openOf(session);
        const stand = await Promise.all(
          all.map(async (one) => signIn.personOf(one) !== null && ((await signIn.entitles?.(one)) ?? true)),
        );
        const standing = all.filter((_one, place) => stand[place]);
        return standing.map(({ id, kind, openedMs, seenMs, untilMs, endsMs, askedFrom }) => ({
          id,
          kind,
          openedMs,
          seenMs,
          untilMs: Math.min(untilMs, endsMs ?? untilMs),
          askedFrom,
          isThis: id === session.id,
        }));
      },
      end: (id) => sessions.endOf(session, id),
      async asking(code) {
        // An image on a page of another port of this host comes with the cookie, and would use up what its reader may type.
        const dest = headers['sec-fetch-dest'];
        if (dest !== undefined && dest !== 'document') throw new GateError('csrf_failed');
        return guessed(() => sessions.grants.asking(code));
      },
      answer: (code, answer) =>
        guessed(async () => {
          const by = answer === 'allowed' ? { session: session.id } : 'refused';
          const isDone = await sessions.grants.answer(code, by);
          if (isDone) metrics.device(answer);
          return isDone;
        }),
    };
  };
}
