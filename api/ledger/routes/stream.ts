import { Readable } from 'node:stream';
import { z } from 'zod';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { countCommits } from '../../../domain/commits.js';
import { follow, pageTurns } from '../../../domain/evidence/reports/follow.js';
import { createStreamPlaces } from '../../../domain/limits/stream-places.js';
import type { ChainRows } from '../../../adapters/ledger/ledger-store.js';
import type { ServiceApp } from '../../plugins/app.js';
import { scopeOf, scopeQuery } from '../query.js';
import { STREAM_HOLDER_HEADER } from '../../../contracts/ledger.js';
import { ANSWERS_EVENTS } from '../../plugins/openapi.js';
import { whenLeft } from '../../plugins/when-left.js';

const RECONNECT_MS = 2_000;
/** The same of a person's stream whose place a newer one of his has: he has more pages than places. */
const DISPLACED_AGAIN_MS = 30_000;
const DISPLACED = new Error('a newer stream of the person has its place');

/**
 * Rows as they are committed, as server-sent events (docs/architecture/ledger-reads.md#following): the event is `entry`, the id is the
 * place in the chain, the data is the row. `Last-Event-ID` continues after that place, with no row skipped or repeated. Without it the
 * stream starts with the next commit. An id beyond the chain, as after a restore, is answered by an event `reset` whose id is the newest
 * place.
 */
export function streamRoutes({
  app,
  writer,
  reader,
}: {
  readonly app: ServiceApp;
  /** Tells of each commit. */
  readonly writer: { observe(listener: () => void): void };
  readonly reader: Pick<ChainRows, 'pages' | 'head'>;
}): void {
  const commits = countCommits();
  const turn = pageTurns();
  writer.observe(commits.note);
  const takePlace = createStreamPlaces();
  const open = new Set<AbortController>();
  // An open stream would keep the service from closing. Its client reconnects with the id it has.
  app.addHook('preClose', (done) => {
    for (const stream of open) stream.abort();
    done();
  });

  app.get(
    '/stream/audit',
    {
      config: ANSWERS_EVENTS,
      schema: {
        querystring: z.object(scopeQuery),
        headers: z.object({
          // The digest of the person for whom the console asks, so that one person's pages take no places of the others.
          [STREAM_HOLDER_HEADER]: z
            .string()
            .regex(/^[0-9a-f]{64}$/)
            .optional(),
          'last-event-id': z
            .string()
            .regex(/^\d{1,15}$/)
            .optional(),
        }),
      },
    },
    async (request, reply) => {
      const { tenant } = request.query;
      const person = request.headers[STREAM_HOLDER_HEADER];
      const ended = new AbortController();
      const leave = takePlace(
        {
          tenants: tenant === undefined ? [] : [tenant],
          kind: person === undefined ? 'service' : 'person',
          name: person ?? request.caller?.callerId ?? 'nobody',
        },
        () => ended.abort(DISPLACED),
      );
      open.add(ended);
      ended.signal.addEventListener('abort', () => {
        open.delete(ended);
        leave();
      });
      whenLeft(reply, () => ended.abort());
      try {
        const { length } = await reader.head();
        const known = request.headers['last-event-id'];
        const reset = known !== undefined && Number(known) > length;
        const after = known === undefined || reset ? length : Number(known);
        const filter = scopeOf(request.query);
        const rows = follow({ ledger: reader, filter, after, commits, turn, signal: ended.signal });
        return await reply
          .header('content-type', 'text/event-stream')
          .header('cache-control', 'no-store')
          .header('x-accel-buffering', 'no')
          .send(Readable.from(events(rows, reset ? length : null, ended.signal), { objectMode: false }));
      } catch (error) {
        ended.abort();
        throw error;
      }
    },
  );
}

async function* events(
  rows: AsyncGenerator<LedgerEntry | null>,
  resetTo: number | null,
  ended: AbortSignal,
): AsyncGenerator<string> {
  // Sent at once, so that the client knows the stream is open.
  yield `retry: ${RECONNECT_MS}\n\n`;
  if (resetTo !== null) yield `event: reset\nid: ${resetTo}\ndata: {}\n\n`;
  for await (const row of rows)
    yield row === null ? ': keep-alive\n\n' : `event: entry\nid: ${row.seq}\ndata: ${JSON.stringify(row)}\n\n`;
  if (ended.reason === DISPLACED) yield `retry: ${DISPLACED_AGAIN_MS}\n\n`;
}
