import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { GateError } from '../../domain/errors.js';
import { within } from '../../domain/within.js';
import type { ServiceApp } from '../plugins/app.js';
import type { Over } from '../plugins/declaration.js';
import { tenantHeader } from './tenant-scope.js';
import type { Entered } from './entered.js';
import { ASK_LIMITS, type AskLimits } from './services-over-http.js';

/** Who asks, by whatever session names him. */
type Asking = Pick<Entered, 'person' | 'proof'> & { readonly session: { readonly id: string } };

export interface RelayOptions {
  readonly entered: (request: FastifyRequest) => Promise<Asking | null>;
  /** Whether the session still stands. To look is no use of it. */
  readonly stands: (request: FastifyRequest) => Promise<boolean>;
  readonly over: Promise<Over>;
  /** Whether the service gets what proves the person: the review service alone. */
  readonly proves: boolean;
  /** The service, as people call it. */
  readonly name: string;
  readonly limits?: Pick<AskLimits, 'readMs' | 'quietMs' | 'drainMs'> | undefined;
  /** Where its stream is, for somebody of this tenant, or of all. */
  readonly from: (tenant: string | null) => string;
}

/** Why a stream is cut that nobody seems to read. */
const UNREAD = new Error('nobody reads it');
/** Open streams of one kind of one session: a few pages. */
const PLACES = 8;
/** How often an open stream looks whether its session still stands, and whether anybody reads it. */
const SESSION_EVERY_MS = 2_000;

/** `GET /stream/hil`: changes of the person's reviews. */
export const relayReviewEvents = (
  app: ServiceApp,
  {
    entered,
    stands,
    hil,
    limits,
  }: Pick<RelayOptions, 'entered' | 'stands' | 'limits'> & { readonly hil: Promise<Over> },
): void =>
  relay(app, '/stream/hil', {
    entered,
    stands,
    limits,
    over: hil,
    proves: true,
    name: 'the review service',
    from: () => '/pending/stream',
  });

/**
 * Another service's server-sent events for the person, with resume by `Last-Event-ID`. A session that ends, or a role that is taken away,
 * ends the stream; so does a reader who takes nothing. A network that is lost closes nothing here for minutes: so a new stream takes the place
 * of the session's oldest one, rather than to be refused.
 */
export function relay(
  app: ServiceApp,
  path: string,
  { entered, stands, over, proves, name, from, limits = ASK_LIMITS }: RelayOptions,
): void {
  /** The streams of each session, the oldest first. */
  const open = new Map<string, Set<AbortController>>();
  app.addHook('preClose', (done) => {
    for (const stream of [...open.values()].flatMap((streams) => [...streams])) stream.abort();
    done();
  });
  app.get(path, async (request, reply) => {
    const who = await entered(request);
    if (who === null) throw new GateError('unauthenticated', 'You are not signed in any more: load the page.');
    const { id } = who.session;
    const streams = open.get(id) ?? new Set();
    open.set(id, streams);
    const ended = new AbortController();
    streams.add(ended);
    const [oldest] = streams;
    if (streams.size > PLACES) oldest?.abort(UNREAD);
    let readAtMs = performance.now();
    let isLooking = false;
    const watch = setInterval(() => {
      if (reply.raw.writableLength === 0) readAtMs = performance.now();
      else if (performance.now() - readAtMs > limits.drainMs) ended.abort(UNREAD);
      if (isLooking) return;
      isLooking = true;
      within(SESSION_EVERY_MS, stands(request), () => new Error('the sessions do not answer'))
        .then(
          (still) => {
            if (!still) ended.abort();
          },
          () => ended.abort(),
        )
        .finally(() => {
          isLooking = false;
        })
        .catch(() => undefined);
    }, SESSION_EVERY_MS);
    ended.signal.addEventListener('abort', () => {
      streams.delete(ended);
      if (streams.size === 0) open.delete(id);
      clearInterval(watch);
      // What is left at any other end is still sent.
      if (ended.signal.reason === UNREAD && reply.raw.writableLength > 0) reply.raw.destroy();
    });
    reply.raw.on('close', () => ended.abort());
    const since = request.headers['last-event-id'];
    try {
      const late = () => new Error(`no answer within ${limits.readMs} ms`);
      const { url, fetch } = await within(limits.readMs, over, late);
      const asked = fetch.stream(new URL(from(who.person.tenant), url).href, {
        headers: {
          ...(proves && who.proof),
          ...tenantHeader(who.person.tenant),
          ...(typeof since === 'string' && since !== '' && { 'last-event-id': since }),
        },
        signal: ended.signal,
      });
      // A page that waits for ever would not say that it is not live.
      const answer = await within(limits.readMs, asked, late);
      if (answer.status !== 200) {
        const text = await answer.text();
        throw new GateError('console_neighbour_away', `${name} answered ${answer.status}: ${text.slice(0, 200)}`);
      }
      return await reply
        .header('content-type', 'text/event-stream')
        .header('x-accel-buffering', 'no')
        .send(Readable.from(untilEnded(answer.body, ended, limits.quietMs), { objectMode: false }));
    } catch (error) {
      // Whoever asked has gone, or may ask no more: nobody hears why.
      if (ended.signal.aborted) return reply.hijack().raw.destroy();
      ended.abort();
      throw error instanceof GateError
        ? error
        : new GateError('console_neighbour_away', `${name} does not answer`, { cause: error });
    }
  });
}

/** An end of the other side, or its silence, is an end of this one; the browser comes back with the number it has. */
async function* untilEnded(
  body: AsyncIterable<Uint8Array>,
  ended: AbortController,
  quietMs: number,
): AsyncGenerator<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const part = await within(quietMs, parts.next(), () => new Error('nothing came'));
      if (part.done) return;
      yield part.value;
    }
  } catch {
    // The session ended, or the other service.
  } finally {
    ended.abort();
  }
}
