import type { FastifyRequest, FastifySchema } from 'fastify';
import { z } from 'zod';
import type { OpenSession } from '../../../adapters/console/session-store.js';
import { ledgerEntry } from '../../../contracts/ledger.js';
import {
  approvalStats,
  type DecisionSurface,
  decideRequest,
  pendingRequest,
  summariesPage,
} from '../../../contracts/review.js';
import { isAtLeast, type Role } from '../../../console/roles.js';
import type { Person } from '../../../console/visit.js';
import { GateError } from '../../../domain/errors.js';
import { maskedAnswer } from '../../../domain/review/masked-review.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { AskLimits } from '../ask-limits.js';
import { askedBy } from '../../plugins/openapi.js';
import { largeOf } from '../body-limits.js';
import { MAY_BE_DECIDED, neighbourOf, type NeighbourOver, type NeighbourQuestion } from '../neighbour.js';
import { COMMAND_LINE } from './address.js';
import { relay, reviewEvents, reviewsSeenBy } from '../review-events.js';
import type { ReviewProof } from '../sign-in/mode.js';
import { RELAYED, type RelayedRoute } from './relayed.js';
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
  readonly hil: NeighbourOver;
  readonly ledger: NeighbourOver;
  readonly limits: AskLimits;
}

/**
 * What the command line asks as the person who let it (docs/architecture/console.md#the-command-line). It is passed on as it stands, with what
 * proves the person and for the person's tenant, and answered as the service answers; to who only looks on, masked.
 */
export function relayCommandLine(
  app: ServiceApp,
  { holder, assertRole, hil, ledger, limits }: CommandLineOptions,
): void {
  const inside = async (request: FastifyRequest): Promise<Holder> => {
    const who = await holder(request);
    if (who === null)
      throw new GateError('unauthenticated', 'This sign-in has ended: `gate login` begins another one.');
    return who;
  };

  app.get(`${COMMAND_LINE}/me`, async (request) => {
    const { person, session } = await inside(request);
    const { subject, tenant, role, mode } = person;
    return { subject, tenant, role, mode, ends_at: new Date(session.untilMs).toISOString() };
  });

  relay(app, `${COMMAND_LINE}/hil/pending/stream`, {
    entered: inside,
    stands: async (request) => (await holder(request)) !== null,
    limits,
    from: reviewEvents(hil, limits),
    seenBy: reviewsSeenBy,
  });

  for (const route of RELAYED)
    app.route({
      method: route.method,
      url: `${COMMAND_LINE}/${route.service}${route.path}`,
      config: { described: describedAs(route) },
      ...largeOf(async (request) => (await holder(request)) !== null),
      async handler(request, reply) {
        const { person, proof } = await inside(request);
        assertRole(person, route.role);
        const { tenant } = person;
        const service =
          route.service === 'hil'
            ? neighbourOf('hil', hil, { tenant, proof, limits })
            : neighbourOf('ledger', ledger, { tenant, limits });
        const isMasked = route.service === 'hil' && !isAtLeast(person.role, 'approver');
        const question = questionOf(route, request);
        const searched = isMasked && route.answers === 'summaries' ? { masked: 'true' } : {};
        const { status, text } = await service.pass(
          { ...question, query: { ...question.query, ...searched } },
          limits[route.limit],
        );
        // A refusal tells of no call.
        return reply
          .code(status)
          .type('application/json')
          .send(isMasked && status < 400 ? maskedAnswer(route.answers, text) : text);
      },
    });
}

/** What each kind of answer is. */
const ANSWERS = {
  row: pendingRequest,
  rows: z.array(pendingRequest),
  summaries: summariesPage,
  counts: approvalStats,
  entries: z.array(ledgerEntry),
} as const satisfies Record<RelayedRoute['answers'], z.ZodType>;

/** A decision needs the digest of the call as it was shown. */
const decided = decideRequest.omit({ decided_via: true }).required({ action_digest: true });

const describedAs = ({ method, query, answers }: RelayedRoute): FastifySchema => ({
  ...askedBy(query),
  ...(method === 'POST' && { body: decided }),
  response: { 200: ANSWERS[answers] },
});

/** What the service is asked. */
function questionOf({ path, query, method }: RelayedRoute, request: FastifyRequest): NeighbourQuestion {
  const params = request.params as Readonly<Record<string, string>>;
  const asked: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.query as Readonly<Record<string, unknown>>)) {
    if (!query.includes(name) || typeof value !== 'string')
      throw new GateError('invalid_request', `${name}: is not asked here, or stands there twice`);
    asked[name] = value;
  }
  const to = path.replaceAll(':id', () => {
    const value = params['id'] ?? '';
    if (!isUuid(value)) throw new GateError('not_found', 'There is no such call.');
    return value;
  });
  return { method, path: to, query: asked, ...(method === 'POST' && decisionIn(request)) };
}

/** A decision is about a call as it was shown, and says that the command line was where. */
function decisionIn({ body, headers }: FastifyRequest): Pick<NeighbourQuestion, 'headers' | 'body' | 'doubt'> {
  const given = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof given['action_digest'] !== 'string')
    throw new GateError('invalid_request', 'action_digest: of the call as it was shown; nothing was decided');
  const id = headers['x-request-id'];
  return {
    headers: typeof id === 'string' ? { 'x-request-id': id } : {},
    body: { ...given, decided_via: 'command-line' satisfies DecisionSurface },
    doubt: MAY_BE_DECIDED,
  };
}
