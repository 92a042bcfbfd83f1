import { createHmac } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Opened, SignedIn } from '../../../adapters/console/signed-in.js';
import { RegisterPasskey, SignInByPasskey } from '../../../console/ui/sign-in.js';
import {
  assertionJson,
  ceremonyOptions,
  namedPerson,
  PASSKEY_ROLES,
  registeredPasskey,
  registrationJson,
  startWithToken,
} from '../../../contracts/approval.js';
import { keyRing } from '../../../domain/crypto/key-ring.js';
import { GateError } from '../../../domain/errors.js';
import { countedAddress } from '../../../domain/limits/counted-address.js';
import { slidingBudget } from '../../../domain/limits/sliding-budget.js';
import { isPasskeyPerson } from '../../../domain/review/passkey-people.js';
import type { Over } from '../../plugins/declaration.js';
import { passesOn, takesOfBrowser } from '../../plugins/openapi.js';
import type { AskLimits } from '../ask-limits.js';
import type { Door, SignInMode } from './mode.js';
import { ownPath } from './own-path.js';
import { type CeremonyAnswer, HIL_SESSION, passkeyCeremonies } from './passkey-ceremonies.js';

const NAME = 'webauthn';
const COOKIE = 'gate_console_ceremony';
const CEREMONY = /^[0-9a-f-]{36}$/;
/**
 * Ceremonies that one address begins, each of which is a row in the review service's store for five minutes. The first ones are its own; those
 * after them are of what there is for everybody together, so that nobody uses up what others begin with.
 */
const BEGUN = { count: 20, windowMs: 60_000 };
const BEGUN_OWN = { count: 3, windowMs: 60_000 };
const BEGUN_BY_ALL = { count: 500, windowMs: 60_000 };
/** How long an answer about a session counts, and where the review service does not answer, the last one that it gave. */
const FRESH_MS = 1_000;
const STALE_MS = 300_000;
const REMEMBERED = 1_000;

/** Where somebody goes on who is signed in now. */
const wayOn = z.object({ ok: z.literal(true), to: z.string() });

const entered = z.object({
  name: z.string().refine(isPasskeyPerson),
  role: z.enum(PASSKEY_ROLES),
  expires_at: z.iso.datetime(),
});

/**
 * Sign-in by a passkey that the review service keeps, for people who have no other credential (docs/architecture/console.md#a-passkey). Who
 * somebody is, and what he may do, is the review service's to say, and is asked again while the session is used: the session here holds that
 * one's, sealed, and proves the person there with it.
 */
export function passkeyMode({
  tenant,
  hil,
  key,
  clock,
  limits,
}: {
  readonly tenant: string;
  readonly hil: Promise<Over>;
  readonly key: Uint8Array;
  readonly clock: () => number;
  readonly limits: Pick<AskLimits, 'readMs' | 'ceremonyMs'>;
}): SignInMode {
  const ceremonies = passkeyCeremonies({ hil, tenant, limits });
  // Whoever reads the console's store gets no session of the review service.
  const seals = keyRing(new Map([['console', createHmac('sha256', key).update('gate.console/passkey').digest()]]));
  const contextOf = ({ subject }: Pick<SignedIn, 'subject'>): string => JSON.stringify([NAME, tenant, subject]);
  const modeOf = (subject: string, session: string): string =>
    `${NAME} ${seals.seal(session, contextOf({ subject })).toString('base64url')}`;
  /** The review service's session in one of the console's; `null` where it was not put there, or for another tenant. */
  const heldIn = ({ mode, subject, tenant: of }: Pick<SignedIn, 'mode' | 'subject' | 'tenant'>): string | null => {
    const [name, sealed = ''] = mode.split(' ');
    if (name !== NAME || of !== tenant) return null;
    try {
      return seals.open(Buffer.from(sealed, 'base64url'), contextOf({ subject })).toString('utf8');
    } catch {
      return null;
    }
  };

  const known = new LRUCache<string, { readonly as: string | null; readonly atMs: number }>({ max: REMEMBERED });
  /** Whether the review service still says so of who opened a session. */
  async function stands(session: SignedIn): Promise<boolean> {
    const held = heldIn(session);
    if (held === null) return false;
    const wanted = `${session.subject} ${session.role}`;
    const last = known.get(held);
    if (last !== undefined && clock() - last.atMs < FRESH_MS) return last.as === wanted;
    try {
      const { status, body } = await ceremonies.me(held);
      const said = status === 200 ? entered.safeParse(body).data : undefined;
      const as = said ? `${said.name} ${said.role}` : null;
      known.set(held, { as, atMs: clock() });
      return as === wanted;
    } catch {
      // The pages say that the review service is away; nobody is signed out by that for a while.
      return last !== undefined && clock() - last.atMs < STALE_MS && last.as === wanted;
    }
  }

  const begins = slidingBudget(BEGUN.count, BEGUN.windowMs);
  const ownBegin = slidingBudget(BEGUN_OWN.count, BEGUN_OWN.windowMs);
  const allBegin = slidingBudget(BEGUN_BY_ALL.count, BEGUN_BY_ALL.windowMs);
  const limitBegun = (request: FastifyRequest): void => {
    const address = countedAddress(request.ip);
    const nowMs = clock();
    const isOwn = ownBegin.take(address, 1, nowMs) === 0;
    const wait = begins.take(address, 1, nowMs) || (isOwn ? 0 : allBegin.take('all', 1, nowMs));
    if (wait > 0) throw new GateError('rate_limited', undefined, { fields: { retry_after_secs: wait } });
  };

  return {
    name: NAME,
    beginsAt: ['/login', '/register'],
    body: (refused, wanted) => <SignInByPasskey refused={refused} wanted={wanted} />,
    personOf(session: Opened) {
      const held = heldIn(session);
      const role = PASSKEY_ROLES.find((one) => one === session.role);
      if (held === null || role === undefined) return null;
      const { subject } = session;
      return { person: { subject, tenant, mode: NAME, role }, proof: { cookie: `${HIL_SESSION}=${held}` } };
    },
    isProvedBy: (_request, session) => stands(session),
    entitles: stands,
    routes(app, door) {
      const cookie = { path: '/auth/passkey', httpOnly: true, sameSite: 'strict', secure: door.isSecure } as const;

      app.get('/login', takesOfBrowser({ query: ['return_to'] }), (request, reply) => {
        const { return_to: wanted } = request.query as Readonly<Record<string, unknown>>;
        return door.page(reply, 200, undefined, ownPath(wanted));
      });
      app.get('/register', takesOfBrowser({}), (_request, reply) =>
        door.show(reply, { title: 'Register a passkey', body: <RegisterPasskey /> }),
      );

      /** What the review service refused is told as it said it, and counts as an attempt. */
      const told = (request: FastifyRequest, reply: FastifyReply, { status, body }: CeremonyAnswer): FastifyReply => {
        if (status !== 200) door.failed(request);
        return reply.code(status).type('application/json').send(JSON.stringify(body));
      };
      const asked = async (ask: Promise<CeremonyAnswer>): Promise<CeremonyAnswer> => {
        try {
          return await ask;
        } catch (error) {
          door.providerAway();
          throw error;
        }
      };
      const ceremonyOf = (request: FastifyRequest): string => {
        const ceremony = request.cookies[COOKIE] ?? '';
        if (!CEREMONY.test(ceremony)) throw new GateError('ceremony_not_found');
        return ceremony;
      };
      const checked = (request: FastifyRequest): void => {
        door.throttle(request);
        door.assertOwnOrigin(request);
      };

      for (const what of ['login', 'register'] as const)
        app.post(
          `/auth/passkey/${what}/start`,
          passesOn(what === 'login' ? namedPerson : startWithToken, ceremonyOptions),
          async (request, reply) => {
            checked(request);
            limitBegun(request);
            const answer = await asked(ceremonies.begin(what, request.body ?? {}));
            if (answer.ceremony !== null) reply.setCookie(COOKIE, answer.ceremony, { ...cookie, maxAge: 300 });
            return told(request, reply, answer);
          },
        );
      app.post(
        '/auth/passkey/register/finish',
        passesOn(registrationJson, registeredPasskey),
        async (request, reply) => {
          checked(request);
          const answer = await asked(ceremonies.finish('register', ceremonyOf(request), request.body ?? {}));
          return told(request, reply, answer);
        },
      );
      app.post(
        '/auth/passkey/login/finish',
        passesOn(assertionJson.extend({ return_to: z.string().optional() }), wayOn),
        async (request, reply) => {
          checked(request);
          const { return_to: wanted, ...assertion } = (request.body ?? {}) as Readonly<Record<string, unknown>>;
          const answer = await asked(ceremonies.finish('login', ceremonyOf(request), assertion));
          const who = answer.status === 200 ? entered.safeParse(answer.body).data : undefined;
          if (answer.status !== 200) return told(request, reply, answer);
          // An operator has a token beside his passkey, and signs in with that.
          if (who === undefined || answer.session === null) {
            door.failed(request);
            throw new GateError('unauthenticated', 'An operator signs in with his token, not with this passkey.');
          }
          await accept(door, reply, who, answer.session);
          return { ok: true, to: ownPath(wanted) };
        },
      );
    },
  };

  async function accept(door: Door, reply: FastifyReply, who: z.infer<typeof entered>, session: string): Promise<void> {
    const { name: subject, role, expires_at } = who;
    known.set(session, { as: `${subject} ${role}`, atMs: clock() });
    await door.accept(reply, { subject, tenant, mode: modeOf(subject, session), role, endsMs: Date.parse(expires_at) });
  }
}
