import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { within } from '../../domain/within.js';
import { whenLeft } from '../plugins/when-left.js';

/** How often an answer that is still being sent looks whether its session still stands, and whether anybody reads it. */
const LOOK_EVERY_MS = 2_000;
/** A file that was cut does not come back by itself, as a stream does: it waits for a store that is slow. */
const FILE_LOOK_MS = 10_000;
/** Why an answer is cut that nobody seems to read. */
export const UNREAD = new Error('nobody reads it');

/**
 * Ends an answer that is sent for long where its session does not stand any more, or cannot be looked at, and where its reader takes nothing for
 * `drainMs`. `taken` says that the reader took something of what is not looked at here. Looks until `ended`.
 */
export function watched(
  { raw }: Pick<FastifyReply, 'raw'>,
  ended: AbortController,
  {
    stands,
    drainMs,
    answerMs = LOOK_EVERY_MS,
  }: {
    readonly stands: () => Promise<boolean>;
    readonly drainMs: number;
    /** How long a look may take. */
    readonly answerMs?: number;
  },
): { readonly taken: () => void } {
  let takenAtMs = performance.now();
  const taken = (): void => {
    takenAtMs = performance.now();
  };
  let isLooking = false;
  const watch = setInterval(() => {
    if (raw.writableLength === 0) taken();
    else if (performance.now() - takenAtMs > drainMs) ended.abort(UNREAD);
    if (isLooking) return;
    isLooking = true;
    within(answerMs, stands(), () => new Error('the sessions do not answer'))
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
  }, LOOK_EVERY_MS);
  ended.signal.addEventListener('abort', () => clearInterval(watch));
  return { taken };
}

/** Whether the session of a request still stands, and how long a reader may take nothing. */
export interface Watching {
  readonly stands: (request: FastifyRequest) => Promise<boolean>;
  readonly drainMs: number;
}

/** A file that is sent as it is made, for as long as it may be: cut, so that the browser says that it is not whole. */
export function watchedFile(
  reply: FastifyReply,
  body: AsyncIterable<Uint8Array | string>,
  { stands, drainMs }: Watching,
): Readable {
  const ended = new AbortController();
  const { taken } = watched(reply, ended, {
    stands: () => stands(reply.request),
    drainMs,
    answerMs: FILE_LOOK_MS,
  });
  const file = Readable.from(noted(body, taken), { objectMode: false });
  ended.signal.addEventListener('abort', () => {
    reply.raw.destroy();
    file.destroy();
  });
  whenLeft(reply, () => ended.abort());
  return file;
}

/** Tells that the parts are read, failed or given up, also before the first one: a generator that was not begun does not hear of its end. */
export function untilRead<Part>(body: AsyncIterable<Part>, free: () => void): AsyncIterable<Part> {
  const parts = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Part> = {
    async next() {
      try {
        const part = await parts.next();
        if (part.done) free();
        return part;
      } catch (error) {
        free();
        throw error;
      }
    },
    async return() {
      free();
      await parts.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The next part is asked for when the reader took of those before. The end is told to the parts, whether they were begun or not. */
function noted<Part>(body: AsyncIterable<Part>, taken: () => void): AsyncIterable<Part> {
  const parts = body[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Part> = {
    next() {
      taken();
      return parts.next();
    },
    async return() {
      await parts.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
