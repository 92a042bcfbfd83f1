import type { FastifyRequest } from 'fastify';
import { LARGEST_CLICK_BYTES } from '../../contracts/chat-link.js';
import { GateError } from '../../domain/errors.js';
import { countedAddress } from '../../domain/limits/counted-address.js';
import { slidingBudget } from '../../domain/limits/sliding-budget.js';
import type { ServiceApp } from '../plugins/app.js';
import { utf8Of } from '../plugins/utf8.js';
import type { AskLimits } from './ask-limits.js';
import { neighbourOf, type NeighbourOver } from './neighbour.js';

export interface ChatClicksOptions {
  readonly hil: NeighbourOver;
  readonly limits: Pick<AskLimits, 'readMs' | 'decideMs'>;
  readonly clock: () => number;
}

/** Clicks that one address may send. The chats send those of everybody from a few addresses. */
const CLICKS = { count: 120, windowMs: 60_000 };

/** Where the chats send clicks, and the headers under which they sign them. */
const CHATS = {
  '/webhook/slack': { signature: 'x-slack-signature', headers: ['x-slack-request-timestamp'], answers: {} },
  // Without it Teams does not replace the card by the one that is the answer.
  '/webhook/teams': { signature: 'authorization', headers: [], answers: { 'CARD-UPDATE-IN-BODY': 'true' } },
} as const;

/**
 * Clicks in chats, passed on to the review service byte for byte and answered as it answers (docs/architecture/notifications.md#clicks). Nobody
 * is signed in and nothing is believed here: the chat's signature, which the review service checks, is all that counts.
 */
export function relayChatClicks(app: ServiceApp, { hil, limits, clock }: ChatClicksOptions): void {
  const reviews = neighbourOf('hil', hil, { tenant: null, limits });
  const clicks = slidingBudget(CLICKS.count, CLICKS.windowMs);
  const throttle = (request: FastifyRequest): void => {
    const wait = clicks.take(countedAddress(request.ip), 1, clock());
    if (wait > 0) throw new GateError('rate_limited', undefined, { fields: { retry_after_secs: wait } });
  };
  void app.register((child, _options, done) => {
    const scope = child as unknown as ServiceApp;
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: LARGEST_CLICK_BYTES }, (_request, body, parsed) =>
      parsed(null, body),
    );
    for (const [path, { signature, headers, answers }] of Object.entries(CHATS))
      scope.post(
        path,
        {
          bodyLimit: LARGEST_CLICK_BYTES,
          // Before the body is read.
          onRequest: (request, _reply, next) => {
            throttle(request);
            if (request.headers[signature] === undefined) throw new GateError('chat_signature_invalid');
            next();
          },
        },
        async (request, reply) => {
          const shown = ['content-type', signature, ...headers].flatMap((name) => {
            const value = request.headers[name];
            return typeof value === 'string' ? [[name, value] as const] : [];
          });
          const click = {
            method: 'POST',
            path,
            headers: Object.fromEntries(shown),
            body: textOf(request.body),
          } as const;
          const answer = await reviews.pass(click, limits.decideMs);
          return reply
            .code(answer.status)
            .headers(answer.status === 200 ? answers : {})
            .type('application/json')
            .send(answer.text);
        },
      );
    done();
  });
}

/** The same bytes as a text; what no chat writes would be other bytes at the review service, and its signature could not hold there. */
function textOf(body: unknown): string {
  try {
    return utf8Of(Buffer.isBuffer(body) ? body : Buffer.alloc(0));
  } catch (cause) {
    throw new GateError('chat_signature_invalid', undefined, { cause });
  }
}
