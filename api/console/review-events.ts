import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { linesIn } from '../../activities/clients/event-stream.js';
import { STREAM_HOLDER_HEADER } from '../../contracts/ledger.js';
import { isAtLeast, type Role } from '../../console/roles.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { STREAM_SHARES } from '../../domain/limits/stream-places.js';
import { maskedAnswer } from '../../domain/review/masked-review.js';
import type { ServiceApp } from '../plugins/app.js';
import { ANSWERS_EVENTS } from '../plugins/openapi.js';
import { whenLeft } from '../plugins/when-left.js';
import { assertEntered, type Entered } from './entered.js';
import { whoIs } from './people.js';
import type { AskLimits } from './ask-limits.js';
import { type Neighbour, neighbourOf, type NeighbourOver, unlessQuiet } from './neighbour.js';
import type { StoppedTenants } from './stopped-tenants.js';
import { UNREAD, watched } from './watched.js';

/** Who asks, by whatever session names him. */
type Asking = Pick<Entered, 'person' | 'proof'> & { readonly session: { readonly id: string } };

export interface RelayOptions {
  readonly entered: (request: FastifyRequest) => Promise<Asking | null>;
  /** Whether the session still stands. To look is no use of it. */
  readonly stands: (request: FastifyRequest) => Promise<boolean>;
  readonly limits: Pick<AskLimits, 'readMs' | 'quietMs' | 'drainMs'>;
  /** Whose stream it is, asked as this person, and how it is asked for. */
  readonly from: (who: Asking) => {
    readonly service: Neighbour;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** What a role sees of its stream; without it all. */
  readonly seenBy?: (role: Role, body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  /**
   * Where a page of a browser reads it: that is told of events alone, and has to know that its connection still carries something. It is told as
   * well whether all of its tenant is stopped, of which no service tells it.
   */
  readonly stopped?: Pick<StoppedTenants, 'hear' | 'isStopped'>;
}

/** Why a stream ends whose place a newer one has. */
const DISPLACED = new Error('a newer stream has its place');
/**
 * Open streams of one kind: of one session a few pages, and of a person fewer than the service that tells them gives him. The rest is for what
 * asks that service itself.
 */
const PLACES = { session: 8, person: STREAM_SHARES.person - 4 } as const;
/** When a page whose place another one took may come again. If it came at once, pages in excess would take places from each other all the time. */
const DISPLACED_AGAIN_MS = 30_000;

/** `GET /stream/hil`: changes of the person's reviews. */
export const relayReviewEvents = (
  app: ServiceApp,
  {
    entered,
    stands,
    stopped,
    hil,
    limits,
  }: Required<Pick<RelayOptions, 'entered' | 'stands' | 'stopped' | 'limits'>> & { readonly hil: NeighbourOver },
): void =>
  relay(app, '/stream/hil', {
    entered,
    stands,
    limits,
    from: reviewEvents(hil, limits),
    seenBy: reviewsSeenBy,
    stopped,
  });

/** The review service's stream for a person, whom it has to know. */
export const reviewEvents =
  (hil: NeighbourOver, limits: RelayOptions['limits']): RelayOptions['from'] =>
  ({ person: { tenant }, proof }) => ({
    service: neighbourOf('hil', hil, { tenant, proof, limits }),
    path: '/pending/stream',
  });

/** The ledger's, where whoever follows is only counted. */
export const ledgerEvents =
  (ledger: NeighbourOver, limits: RelayOptions['limits']): RelayOptions['from'] =>
  ({ person }) => ({
    service: neighbourOf('ledger', ledger, { tenant: person.tenant, limits }),
    path: '/stream/audit',
    headers: { [STREAM_HOLDER_HEADER]: sha256Hex(whoIs(person)) },
  });

const DATA = 'data:';
/** What one event may have, bytes. A call under review is told by its summary, which has far less. */
const EVENT_BYTES = 4 * 1_048_576;

/** The review service's events as a role may see them: of who looks on each is masked, as soon as it is whole. */
export async function* reviewsSeenBy(role: Role, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (isAtLeast(role, 'approver')) return yield* body;
  const seen = (line: string) =>
    line.startsWith(DATA) ? `${DATA} ${maskedAnswer('event', line.slice(DATA.length))}` : line;
  let event = '';
  for await (const { line } of linesIn(body, EVENT_BYTES)) {
    event += `${seen(line)}\n`;
    if (event.length > EVENT_BYTES) throw new Error(`an event has more than ${EVENT_BYTES} bytes`);
    if (line !== '') continue;
    yield Buffer.from(event);
    event = '';
  }
}

/**
 * Another service's server-sent events for the person, with resume by `Last-Event-ID`. A session that ends, or a role that is taken away,
 * ends the stream; so does a reader who takes nothing, once the connection holds no more for him. A network that is lost, or a browser that
 * stands still, closes nothing here for minutes: so a new stream takes the place of the oldest one of the session or the person, rather
 * than to be refused. A page that still reads is told to come again later.
 */
export function relay(
  app: ServiceApp,
  path: string,
  { entered, stands, from, seenBy = (_role, body) => body, stopped, limits }: RelayOptions,
): void {
  /** The streams of each session and each person, the oldest first. */
  const open = new Map<string, Set<AbortController>>();
  app.addHook('preClose', (done) => {
    for (const stream of [...open.values()].flatMap((streams) => [...streams])) stream.abort();
    done();
  });
  app.get(path, { config: ANSWERS_EVENTS }, async (request, reply) => {
    const who = await entered(request);
    assertEntered(who);
    const ended = new AbortController();
    const shares = [
      [`session ${who.session.id}`, PLACES.session],
      [`person ${whoIs(who.person)}`, PLACES.person],
    ] as const;
    for (const [whose, most] of shares) {
      const streams = open.get(whose) ?? new Set();
      open.set(whose, streams.add(ended));
      const [oldest] = streams;
      if (streams.size > most) oldest?.abort(DISPLACED);
    }
    watched(reply, ended, { stands: () => stands(request), drainMs: limits.drainMs });
    ended.signal.addEventListener('abort', () => {
      for (const [whose] of shares) {
        const streams = open.get(whose);
        streams?.delete(ended);
        if (streams?.size === 0) open.delete(whose);
      }
      const isLeft = ended.signal.reason === UNREAD || ended.signal.reason === DISPLACED;
      // What is left at any other end is still sent.
      if (isLeft && reply.raw.writableLength > 0) reply.raw.destroy();
    });
    whenLeft(reply, () => ended.abort());
    const since = request.headers['last-event-id'];
    try {
      const { service, path: of, headers } = from(who);
      const asked = {
        method: 'GET',
        path: of,
        headers: { ...headers, ...(typeof since === 'string' && since !== '' && { 'last-event-id': since }) },
      } as const;
      const alive =
        stopped &&
        (async () => {
          await stopped.hear(who);
          return aliveEvent(stopped.isStopped(who.person.tenant));
        });
      // A page that waits for ever would not say that it is not live.
      const answer = await service.stream(asked, { signal: ended.signal, answerMs: limits.readMs });
      if (answer.status !== 200) throw await service.refusal(answer);
      return await reply
        .header('content-type', 'text/event-stream')
        .header('x-accel-buffering', 'no')
        .send(
          Readable.from(untilEnded(seenBy(who.person.role, answer.body), ended, { quietMs: limits.quietMs, alive }), {
            objectMode: false,
          }),
        );
    } catch (error) {
      // Whoever asked has gone, or may ask no more: nobody hears why.
      if (ended.signal.aborted) return reply.hijack().raw.destroy();
      ended.abort();
      throw error;
    }
  });
}

const LINE_END = 10;
/** How a comment begins: what a service sends where nothing came. */
const COMMENT = 58;
/** What a page is told then (`console/browser/follow.ts`). */
const aliveEvent = (stopped: boolean): Uint8Array =>
  Buffer.from(`event: alive\ndata: ${JSON.stringify({ stopped })}\n\n`);

/** An end of the other side, or its silence, is an end of this one; the browser comes back with the number it has. */
async function* untilEnded(
  body: AsyncIterable<Uint8Array>,
  ended: AbortController,
  { quietMs, alive }: { readonly quietMs: number; readonly alive: (() => Promise<Uint8Array>) | undefined },
): AsyncGenerator<Uint8Array> {
  let isBetweenEvents = false;
  try {
    for await (const part of unlessQuiet(body, quietMs)) {
      isBetweenEvents = part.at(-1) === LINE_END && part.at(-2) === LINE_END;
      yield part;
      if (alive && part[0] === COMMENT && isBetweenEvents) yield await alive();
    }
  } catch {
    // The session ended, or the other service, or another page has the place.
    if (ended.signal.reason === DISPLACED && isBetweenEvents) yield Buffer.from(`retry: ${DISPLACED_AGAIN_MS}\n\n`);
  } finally {
    ended.abort();
  }
}
