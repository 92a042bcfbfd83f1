import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { NAMES, placeAsked, ROWS_ALSO, rowsAsked } from '../../console/pages/audit/asked.js';
import { pagesOf } from '../../console/pages/audit/search.js';
import type { Services } from '../../console/services.js';
import { type LedgerEntry, ledgerEntry } from '../../contracts/ledger.js';
import { GateError } from '../../domain/errors.js';
import { makeProofBundle } from '../../domain/ledger/tlog/proof-bundle.js';
import { isUuid } from '../../domain/uuid.js';
import type { ServiceApp } from '../plugins/app.js';
import { answersAs, askedBy } from '../plugins/openapi.js';
import { whenLeft } from '../plugins/when-left.js';
import { assertEntered, type Entered } from './entered.js';
import type { NeighbourOver } from './neighbour.js';
import { ledgerEvents, relay, type RelayOptions } from './review-events.js';
import { placesFor } from './one-at-a-time.js';
import { whoIs } from './people.js';
import { untilRead, watchedFile } from './watched.js';
import { assertAskedOnce } from './asked-once.js';
import { CSV, type ExportFormat, JSON_LINES } from './export-formats.js';

/** Somebody who is signed in, or whose operator's token a program has. */
type Who = Pick<Entered, 'person' | 'proof'>;

export interface LedgerAnswersOptions {
  readonly entered: RelayOptions['entered'];
  readonly stands: RelayOptions['stands'];
  readonly stopped: NonNullable<RelayOptions['stopped']>;
  /** Whose operator's token the request has. */
  readonly bearerOf: (request: FastifyRequest) => Who | null;
  readonly services: (who: Who) => Services;
  readonly ledger: NeighbourOver;
  readonly limits: RelayOptions['limits'];
  readonly clock: () => number;
}

/** Rows of one export; a larger window is exported in parts. */
const EXPORT_ROWS = 50_000;
const EXPORT_PAGE = 500;
/** A walk reads some ten thousand rows in a second. */
const WALK_AGAIN_SECS = 5;
/** Files of one person that are being written. Each reads page after page, for as long as it is taken. */
const EXPORTS_EACH = 2;

/** What an export and a proof are asked by. */
const EXPORT_ASKED = [...NAMES, ...ROWS_ALSO, 'as'] as const;
const PROOF_ASKED = ['seq'] as const;
const EXPORT = {
  described: { ...answersAs(JSON_LINES.type, CSV.type).described, ...askedBy(EXPORT_ASKED) },
};
const PROOF = {
  described: {
    ...askedBy(PROOF_ASKED, PROOF_ASKED),
    response: { 200: z.unknown().describe('What `gate prove` writes.') },
  },
};

/** What the ledger says, for programs: everything here is JSON, and everything is of the person's tenant. */
export function answerLedger(app: ServiceApp, options: LedgerAnswersOptions): void {
  const { entered, services, clock } = options;
  const placeOf = placesFor(
    EXPORTS_EACH,
    `${EXPORTS_EACH} exports of yours are being written already: ask again when one is done.`,
  );
  const watching = { stands: options.stands, drainMs: options.limits.drainMs };
  const inside = async (request: FastifyRequest): Promise<Who> => {
    const who = await entered(request);
    assertEntered(who);
    return who;
  };

  relay(app, '/stream/audit', {
    entered,
    stands: options.stands,
    limits: options.limits,
    from: ledgerEvents(options.ledger, options.limits),
    stopped: options.stopped,
  });

  /** All rows of a call, in order. What nobody has heard of, or somebody else's, is `[]`. */
  app.get(
    '/api/audit/correlation/:cid',
    { config: { described: { response: { 200: z.array(ledgerEntry) } } } },
    async (request) => {
      // A token that is offered counts alone, so that a wrong one is never answered by a session that happens to stand.
      const who = request.headers.authorization === undefined ? await entered(request) : options.bearerOf(request);
      assertEntered(who);
      const { cid } = request.params as { cid: string };
      return isUuid(cid) ? services(who).ledger.call(cid) : [];
    },
  );

  app.get('/api/chain-status', async (request) => {
    const chain = await services(await inside(request)).ledger.chain();
    if (chain === 'walking')
      throw new GateError('chain_walk_under_way', undefined, { fields: { retry_after_secs: WALK_AGAIN_SECS } });
    return chain;
  });

  /** What `gate prove` writes, for one row of the call. */
  app.get('/audit/correlation/:cid/proof', { config: PROOF }, async (request, reply) => {
    const who = await inside(request);
    assertAskedOnce(request, PROOF_ASKED);
    const { seq } = request.query as { seq?: unknown };
    const place = typeof seq === 'string' && /^[1-9]\d{0,14}$/.test(seq) ? Number(seq) : null;
    const proof = place === null ? null : await services(who).ledger.inclusion(place);
    if (proof?.entry?.correlation_id !== (request.params as { cid: string }).cid)
      throw new GateError('not_found', 'The call has no such row.');
    return reply
      .type('application/json')
      .header('content-disposition', `attachment; filename="gate-proof-${proof.seq}.json"`)
      .send(`${JSON.stringify(makeProofBundle(proof), null, 2)}\n`);
  });

  /** The rows that the audit page shows with the same address, as JSON lines or (`as=csv`) CSV, newest first. The last line says whether they are all. */
  app.get('/audit/export', { config: EXPORT }, async (request, reply) => {
    const who = await inside(request);
    assertAskedOnce(request, EXPORT_ASKED);
    const address = request.query as Readonly<Record<string, unknown>>;
    // The newest rows would be taken for those before a place.
    if (placeAsked(address) === null)
      throw new GateError('invalid_cursor', 'before is no number of a row: leave it out for the newest.');
    const format = formatAsked(address['as']);
    const query = rowsAsked(address, clock());
    // Nobody reads what the ledger would be asked for.
    if (reply.raw.destroyed) return reply.send('');
    const free = placeOf(whoIs(who.person));
    whenLeft(reply, free);
    const pages = pagesOf(services(who).ledger, { ...query, limit: EXPORT_PAGE });
    // A refusal, or a ledger that is away, is answered before anything is sent.
    const first = await pages.next().catch((error: unknown) => {
      free();
      throw error;
    });
    return reply
      .type(format.type)
      .header('content-disposition', `attachment; filename="${format.filename}"`)
      .send(watchedFile(reply, untilRead(lines(first, pages, format), free), watching));
  });
}

/** The format of the file. Throws for another one: its reader would take JSON lines for that. */
function formatAsked(as: unknown): ExportFormat {
  if (as === undefined || as === '') return JSON_LINES;
  if (as !== 'csv') throw new GateError('invalid_request', 'as: is csv, or left out for JSON lines.');
  return CSV;
}

/** One page is in memory at a time. A fault after the first cuts the connection, and the last line is missing. */
async function* lines(
  first: IteratorResult<readonly LedgerEntry[]>,
  pages: AsyncGenerator<readonly LedgerEntry[]>,
  format: ExportFormat,
): AsyncGenerator<string> {
  if (format.head !== '') yield format.head;
  let sent = 0;
  let next: LedgerEntry | undefined;
  for (let page = first; !page.done && next === undefined; page = await pages.next()) {
    const taken = page.value.slice(0, EXPORT_ROWS - sent);
    sent += taken.length;
    if (taken.length > 0) yield taken.map(format.row).join('');
    next = page.value[taken.length];
  }
  await pages.return(undefined);
  yield format.end(
    next === undefined ? { export: 'complete', rows: sent } : { export: 'cut', rows: sent, before: next.seq + 1 },
  );
}
