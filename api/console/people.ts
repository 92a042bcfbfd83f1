import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenSession, SessionStore } from '../../adapters/console/session-store.js';
import { SESSION_COOKIE } from '../../contracts/console.js';
import { connectionIsOf } from '../plugins/held-connections.js';
import type { Person } from '../../console/visit.js';
import type { ServiceApp } from '../plugins/service.js';
import type { Entered, EnteredOf } from './entered.js';
import type { SignInMode } from './sign-in/mode.js';
import { COMMAND_LINE } from './command-line/address.js';

/** Where a token that is offered counts alone, and a cookie without one. */
const BY_EITHER = '/api/audit/correlation/:cid';

export interface People {
  /** What names the session of a request, also of one that stands no more; `null` for a request of none. Nobody was asked. */
  readonly keyOf: (request: FastifyRequest) => string | null;
  /** Whom the session of a request names, by what the way to sign in says of him now. */
  readonly enteredOf: EnteredOf;
  /** The same by what a cookie holds. */
  readonly enteredBy: (kept: string, request: FastifyRequest) => Promise<Entered | null>;
  /** Whether the session of a request still stands; to look does not renew it. */
  readonly standsFor: (request: FastifyRequest) => Promise<boolean>;
  /** Whom a session that is no browser's names now. */
  readonly entitledBy: (session: OpenSession) => Promise<Pick<Entered, 'person' | 'proof'> | null>;
  /** Hands a session to the browser. */
  readonly keep: (reply: FastifyReply, kept: string) => void;
  readonly forget: (reply: FastifyReply) => FastifyReply;
  readonly isSecure: boolean;
}

/** One name for one person, in whichever browsers and command lines he is signed in. */
export const whoIs = ({ subject, tenant }: Pick<Person, 'subject' | 'tenant'>): string =>
  `${subject} of ${tenant ?? 'all tenants'}`;

/** Who is signed in, by the cookie of a request. */
export function peopleOf(
  app: ServiceApp,
  {
    sessions,
    signIn,
    instance,
    isSecure,
    sessionSeconds,
  }: {
    readonly sessions: SessionStore;
    readonly signIn: SignInMode;
    /** Tells the cookie from that of another console of the same host. */
    readonly instance: string | undefined;
    readonly isSecure: boolean;
    readonly sessionSeconds: number;
  },
): People {
  const name = instance === undefined ? SESSION_COOKIE : `${SESSION_COOKIE}_${instance}`;
  const cookie = { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure } as const;
  const kept = { ...cookie, maxAge: sessionSeconds };
  const cookieOf = (request: FastifyRequest): string => request.cookies[name] ?? '';

  const enteredBy = async (
    value: string,
    request: FastifyRequest,
    how?: { readonly renews: boolean },
  ): Promise<Entered | null> => {
    const session = await sessions.of(value, how);
    const found = session === null ? null : signIn.personOf(session);
    if (session === null || found === null) return null;
    const isProved = signIn.isProvedBy === undefined || (await signIn.isProvedBy(request, session));
    if (!isProved) return null;
    connectionIsOf(request, whoIs(found.person));
    return { session, ...found };
  };
  // What the browser keeps lives as long as the session.
  const renewed = new WeakMap<FastifyRequest, string>();
  // A store that hangs is waited for once: the page that says so asks who it is for.
  const unanswered = new WeakMap<FastifyRequest, unknown>();
  app.addHook('onSend', (request, reply, payload, done) => {
    const value = renewed.get(request);
    if (value !== undefined && reply.getHeader('set-cookie') === undefined)
      void reply.header('set-cookie', app.serializeCookie(name, value, kept));
    done(null, payload);
  });
  return {
    enteredBy,
    isSecure,
    // By the route that was found, however its path is written. What a route does not look at makes no other key.
    keyOf({ routeOptions: { url: route = '' }, headers: { cookie: sent, authorization } }) {
      const isByToken = route.startsWith(COMMAND_LINE) || (route === BY_EITHER && authorization !== undefined);
      return (isByToken ? authorization : sent && app.parseCookie(sent)[name]) || null;
    },
    async enteredOf(request) {
      if (unanswered.has(request)) throw unanswered.get(request);
      const value = cookieOf(request);
      const entered = await enteredBy(value, request).catch((error: unknown) => {
        unanswered.set(request, error);
        throw error;
      });
      if (entered?.session.isRenewed) renewed.set(request, value);
      return entered;
    },
    standsFor: async (request) => (await enteredBy(cookieOf(request), request, { renews: false })) !== null,
    async entitledBy(session) {
      const found = signIn.personOf(session);
      return found !== null && ((await signIn.entitles?.(session)) ?? true) ? found : null;
    },
    keep: (reply, value) => void reply.setCookie(name, value, kept),
    forget: (reply) => reply.clearCookie(name, cookie),
  };
}
