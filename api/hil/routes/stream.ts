import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { createReviewFeed, type FeedEvent, type FeedOptions, type FeedReset } from '../../../domain/review/feed.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import { createStreamPlaces, type StreamHolder } from '../../../domain/limits/stream-places.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type ReviewScope, scopeFirst } from '../scope.js';
import { ANSWERS_EVENTS } from '../../plugins/openapi.js';
import { whenLeft } from '../../plugins/when-left.js';

const RECONNECT_MS = 3_000;
/** The same of a person's stream whose place a newer one of his has: he has more pages than places. */
const DISPLACED_AGAIN_MS = 30_000;
const DISPLACED = new Error('a newer stream of the person has its place');
/** How long a stream whose reader does not read may keep the service from closing. */
const LAST_WORDS_MS = 1_000;

export interface StreamRoutes {
  readonly reviews: Pick<OpenedReviews, 'feed'>;
  readonly scopeOf: (request: FastifyRequest) => ReviewScope;
  /** Where what was read may still be undone. */
  readonly standsFromHere?: FeedOptions['standsFromHere'];
}

/** Changes of the scope's rows as server-sent events (docs/architecture/reviews.md#events). */
export function streamRoutes(app: ServiceApp, { reviews, scopeOf, standsFromHere }: StreamRoutes): void {
  const feed = createReviewFeed({ source: reviews.feed, now: Date.now, ...(standsFromHere && { standsFromHere }) });
  const open = new Set<{ destroy(): void }>();
  const takePlace = createStreamPlaces();
  // An open stream would keep the service from closing. Its client comes back with the number it has.
  app.addHook('preClose', (done) => {
    feed.close();
    const last = setTimeout(() => {
      for (const stream of open) stream.destroy();
    }, LAST_WORDS_MS);
    last.unref();
    done();
  });

  app.get(
    '/pending/stream',
    {
      config: ANSWERS_EVENTS,
      schema: {
        querystring: z.strictObject({}),
        headers: z.object({
          'last-event-id': z
            .string()
            .regex(/^\d{1,16}$/)
            .optional(),
        }),
      },
      onRequest: scopeFirst(scopeOf),
    },
    async (request, reply) => {
      const ended = new AbortController();
      const displaced = () => ended.signal.reason === DISPLACED;
      const leave = takePlace(holderOf(request, scopeOf(request)), () => ended.abort(DISPLACED));
      let stream: Readable | null = null;
      const place = { destroy: () => stream?.destroy() };
      open.add(place);
      ended.signal.addEventListener('abort', () => {
        open.delete(place);
        leave();
      });
      whenLeft(reply, () => ended.abort());
      try {
        const known = request.headers['last-event-id'];
        const { from, events } = await feed.follow({
          tenants: scopeOf(request).tenants,
          lastEventId: known === undefined ? null : Number(known),
          signal: ended.signal,
          // Nobody reads on: the end could not be sent either.
          onDropped: () => stream?.destroy(),
        });
        stream = Readable.from(eventStream(from, events, displaced), { objectMode: false });
        return await reply
          .header('content-type', 'text/event-stream')
          .header('cache-control', 'no-store')
          .header('x-accel-buffering', 'no')
          .send(stream);
      } catch (error) {
        ended.abort();
        throw error;
      }
    },
  );
}

/** Who opens a stream: the person by token, passkey or the console's word, also where he only reads; or the service that names nobody. */
function holderOf({ caller }: FastifyRequest, { tenants, decides, vouched, holder }: ReviewScope): StreamHolder {
  const name = (vouched ?? holder)?.subject ?? decides?.(tenants[0] ?? '').subject;
  return name === undefined
    ? { tenants, kind: 'service', name: caller?.callerId ?? 'nobody' }
    : { tenants, kind: 'person', name };
}

async function* eventStream(
  from: number,
  events: AsyncGenerator<FeedEvent | FeedReset | null>,
  isDisplaced: () => boolean,
): AsyncGenerator<string> {
  // Sent at once, so that the client knows that the stream is open, and where.
  yield `retry: ${RECONNECT_MS}\nid: ${from}\n\n`;
  for await (const item of events)
    yield item === null
      ? ': keep-alive\n\n'
      : `id: ${item.id}\nevent: ${item.event}\ndata: ${item.event === 'reset' ? '{}' : item.data()}\n\n`;
  if (isDisplaced()) yield `retry: ${DISPLACED_AGAIN_MS}\n\n`;
}
