import { Readable } from 'node:stream';
import { z } from 'zod';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { countCommits, follow, pageTurns } from '../../../domain/evidence/reports/follow.js';
import { createSharedPlaces } from '../../../domain/limits/shared-places.js';
import type { ChainRows } from '../../../adapters/ledger/ledger-store.js';
import type { ServiceApp } from '../../plugins/app.js';
import { scopeOf, scopeQuery } from '../query.js';
import { ANSWERS_EVENTS } from '../../plugins/openapi.js';

/** How many streams may be open: of a process, of a tenant, and of those that show every tenant's rows. Each holds a connection. */
const SHARES = { process: 256, tenant: 32, everybody: 64 } as const;
const RECONNECT_MS = 2_000;

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
  const takePlace = createSharedPlaces();
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
          'last-event-id': z
            .string()
            .regex(/^\d{1,15}$/)
            .optional(),
        }),
      },
    },
    async (request, reply) => {
      const { tenant } = request.query;
      // Nobody takes the places of the other tenants.
      const leave = takePlace([
        tenant === undefined ? ['every tenant', SHARES.everybody] : [`tenant ${tenant}`, SHARES.tenant],
        ['this process', SHARES.process],
      ]);
      const ended = new AbortController();
      open.add(ended);
      ended.signal.addEventListener('abort', () => {
        open.delete(ended);
        leave();
      });
      reply.raw.on('close', () => ended.abort());
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
          .send(Readable.from(events(rows, reset ? length : null), { objectMode: false }));
      } catch (error) {
        ended.abort();
        throw error;
      }
    },
  );
}

async function* events(rows: AsyncGenerator<LedgerEntry | null>, resetTo: number | null): AsyncGenerator<string> {
  // Sent at once, so that the client knows the stream is open.
  yield `retry: ${RECONNECT_MS}\n\n`;
  if (resetTo !== null) yield `event: reset\nid: ${resetTo}\ndata: {}\n\n`;
  for await (const row of rows)
    yield row === null ? ': keep-alive\n\n' : `event: entry\nid: ${row.seq}\ndata: ${JSON.stringify(row)}\n\n`;
}
