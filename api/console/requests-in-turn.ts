import type { FastifyReply, FastifyRequest } from 'fastify';
import { GateError } from '../../domain/errors.js';
import type { ServiceApp } from '../plugins/service.js';

/** Requests of one session: how many are answered at a time, how many wait behind them, and how long. */
export interface RequestLimits {
  readonly atOnce: number;
  readonly places: number;
  readonly waitMs: number;
}

/** A page with its script asks for three or four at once, and people have several open. What waits longer, nobody looks at any more. */
const REQUESTS: RequestLimits = { atOnce: 8, places: 100, waitMs: 20_000 };

/** How soon a session may ask again that was sent away. */
const AGAIN_SECS = 5;

interface Line {
  underWay: number;
  /** In the order in which they came. */
  readonly waiting: Set<() => void>;
}

/**
 * Answers a few requests of a session at a time, the others of it in the order in which they came: however many it sends, another
 * session waits for a few of them (docs/architecture/console.md#sessions). Nothing of one that waits is read. A request is answered once its
 * answer begins: what is sent as it comes, streams and files, has limits of its own. `keyOf`: which session; `null` for none.
 * Returns whether a request was sent away, by 429 `rate_limited`: nobody asks the store then whose it is.
 */
export function requestsInTurn(
  app: ServiceApp,
  keyOf: (request: FastifyRequest) => string | null,
  { atOnce, places, waitMs } = REQUESTS,
): (request: FastifyRequest) => boolean {
  const lines = new Map<string, Line>();
  const ends = new WeakMap<FastifyRequest, () => void>();
  const sentAway = new WeakSet<FastifyRequest>();

  const refused = (request: FastifyRequest): GateError => {
    sentAway.add(request);
    return new GateError(
      'rate_limited',
      `This session asks for more than is answered at a time: ${atOnce}, and ${places} behind them. Nothing was done; ask again in ${AGAIN_SECS} s.`,
      { fields: { retry_after_secs: AGAIN_SECS } },
    );
  };

  /** Its turn: at once, or when those before it are done. `false` for none in time, or for whoever has gone. */
  const turnIn = (line: Line, { raw }: FastifyReply): Promise<boolean> =>
    new Promise((resolve) => {
      const over = (isIn: boolean) => {
        clearTimeout(timer);
        raw.off('close', leave);
        line.waiting.delete(go);
        resolve(isIn);
      };
      const go = () => over(true);
      const leave = () => over(false);
      const timer = setTimeout(leave, waitMs);
      raw.once('close', leave);
      line.waiting.add(go);
    });

  app.addHook('onRequest', async (request, reply) => {
    const key = keyOf(request);
    if (key === null) return;
    const line = lines.get(key) ?? { underWay: 0, waiting: new Set() };
    lines.set(key, line);
    if (line.underWay >= atOnce) {
      if (line.waiting.size >= places) throw refused(request);
      if (!(await turnIn(line, reply))) throw refused(request);
    } else line.underWay += 1;
    const end = () => {
      if (!ends.delete(request)) return;
      reply.raw.off('close', end);
      // Whoever is next has this place, so that nobody who comes now overtakes those who wait.
      const [next] = line.waiting;
      if (next) return next();
      line.underWay -= 1;
      if (line.underWay === 0) lines.delete(key);
    };
    ends.set(request, end);
    reply.raw.once('close', end);
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    ends.get(request)?.();
    done(null, payload);
  });
  return (request) => sentAway.has(request);
}
