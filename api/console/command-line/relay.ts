import type { FastifyRequest } from 'fastify';
import type { OpenSession } from '../../../adapters/console/session-store.js';
import type { Role } from '../../../console/roles.js';
import { textSeenBy } from '../../../console/pages/queue/seen-by.js';
import type { Person } from '../../../console/visit.js';
import { GateError } from '../../../domain/errors.js';
import { within } from '../../../domain/within.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { Over } from '../../plugins/declaration.js';
import { addressAt } from '../address-at.js';
import { largeOf } from '../body-limits.js';
import { relay, reviewsSeenBy } from '../review-events.js';
import type { ReviewProof } from '../sign-in/mode.js';
import { RELAYED, type RelayedRoute } from './relayed.js';
import { tenantHeader } from '../tenant-scope.js';
import { isUuid } from '../../../domain/uuid.js';

interface Holder {
  readonly session: OpenSession;
  readonly person: Person;
  readonly proof: ReviewProof;
}

export interface CommandLineOptions {
  /** Who holds the token of the request; `null` without one that stands. Nobody's cookie is looked at. */
  readonly holder: (request: FastifyRequest) => Promise<Holder | null>;
  /** Throws `role_too_low`. */
  readonly assertRole: (person: Person, needed: Role) => void;
  readonly hil: Promise<Over>;
  readonly ledger: Promise<Over>;
}

const AT = '/command-line';
/** Written into the decisions that are made here. */
const CHANNEL = 'command-line';

/**
 * What the command line asks as the person who let it (docs/architecture/console.md#the-command-line). It is passed on as it stands, with what
 * proves the person and for the person's tenant, and answered as the service answers; to who only looks on, masked.
 */
export function relayCommandLine(app: ServiceApp, { holder, assertRole, hil, ledger }: CommandLineOptions): void {
  const services = { hil, ledger };
  const inside = async (request: FastifyRequest): Promise<Holder> => {
    const who = await holder(request);
    if (who === null)
      throw new GateError('unauthenticated', 'This sign-in has ended: `gate login` begins another one.');
    return who;
  };

  app.get(`${AT}/me`, async (request) => {
    const { person, session } = await inside(request);
    const { subject, tenant, role, mode } = person;
    return { subject, tenant, role, mode, ends_at: new Date(session.untilMs).toISOString() };
  });

  relay(app, `${AT}/hil/pending/stream`, {
    entered: inside,
    stands: async (request) => (await holder(request)) !== null,
    over: hil,
    proves: true,
    name: 'the review service',
    from: () => '/pending/stream',
    seenBy: reviewsSeenBy,
  });

  for (const route of RELAYED)
    app.route({
      method: route.method,
      url: `${AT}/${route.service}${route.path}`,
      ...largeOf(async (request) => (await holder(request)) !== null),
      async handler(request, reply) {
        const { person, proof } = await inside(request);
        assertRole(person, route.role);
        const question = questionOf(route, request, person);
        const away = (cause?: unknown) =>
          new GateError('console_neighbour_away', `${NAMES[route.service]} does not answer${UNKNOWN[route.method]}`, {
            cause,
          });
        try {
          const { url, fetch } = await within(route.timeoutMs, services[route.service], () => away());
          const answer = await fetch(addressAt(url, question.path), {
            method: route.method,
            headers: {
              ...(route.service === 'hil' && proof),
              ...tenantHeader(person.tenant),
              ...question.headers,
            },
            ...(question.body !== undefined && { body: question.body }),
            signal: AbortSignal.timeout(route.timeoutMs),
          });
          const text = await answer.text();
          const isShown = route.service === 'hil' && answer.status === 200;
          return await reply
            .code(answer.status)
            .type('application/json')
            .send(isShown ? textSeenBy(person.role, text, soughtIn(request)) : text);
        } catch (error) {
          throw error instanceof GateError ? error : away(error);
        }
      },
    });
}

const soughtIn = ({ query }: FastifyRequest): string | undefined => {
  const { q } = query as { readonly q?: unknown };
  return typeof q === 'string' ? q : undefined;
};

const NAMES = { hil: 'the review service', ledger: 'the ledger' } as const;
const UNKNOWN = {
  GET: '',
  POST: ', and may have taken the decision: look at the call before you decide again',
} as const;

/** What the service is asked. The tenant is the person's, whatever the request says. */
function questionOf({ service, path, query, method }: RelayedRoute, request: FastifyRequest, { tenant }: Person) {
  const params = request.params as Readonly<Record<string, string>>;
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query as Readonly<Record<string, unknown>>)) {
    if (!query.includes(name) || typeof value !== 'string')
      throw new GateError('invalid_request', `${name}: is not asked here, or stands there twice`);
    asked.set(name, value);
  }
  if (service === 'ledger' && tenant !== null) asked.set('tenant', tenant);
  const to = path.replaceAll(':id', () => {
    const value = params['id'] ?? '';
    if (!isUuid(value)) throw new GateError('not_found', 'There is no such call.');
    return value;
  });
  return { path: `${to}?${asked.toString()}`, ...(method === 'POST' ? decisionIn(request) : NOTHING_MORE) };
}

const NOTHING_MORE = { headers: {}, body: undefined } as const;

/** A decision is about a call as it was shown, and says that the command line was where. */
function decisionIn({ body, headers }: FastifyRequest): { headers: Record<string, string>; body: string } {
  const given = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof given['action_digest'] !== 'string')
    throw new GateError('invalid_request', 'action_digest: of the call as it was shown; nothing was decided');
  const id = headers['x-request-id'];
  return {
    headers: { 'content-type': 'application/json', ...(typeof id === 'string' && { 'x-request-id': id }) },
    body: JSON.stringify({ ...given, decided_via: CHANNEL }),
  };
}
