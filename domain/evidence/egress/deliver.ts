import type { EgressSource } from '../../../contracts/ledger-egress.js';
import { postTo, ReceiverRefused } from '../../egress/webhook.js';
import { errorText } from '../../errors.js';
import { isRouted, type Sink } from './sinks.js';

/** What one attempt came to. Only a 2xx moves the cursor. */
export type Sweep =
  | {
      readonly delivered: true;
      /** Behind the last row that was confirmed or is not for this sink. */
      readonly cursor: number;
      readonly rows: number;
      /** Entries behind the cursor. */
      readonly lag: number;
    }
  | {
      readonly delivered: false;
      /** The receiver looked at the rows and will not have them; fewer at a time show which. */
      readonly rejected: boolean;
      readonly rows: number;
      readonly first_seq: number | null;
      readonly error: string;
      readonly lag: number | null;
    };

/** A body has at most so many bytes, unless a single row has more. */
const BODY_BYTES = 1_000_000;
const TIME_LIMIT_MS = 10_000;
/** Not the rows' fault: sent again as they are. */
const PASSING = new Set([401, 403, 404, 408, 429]);

/**
 * Sends the rows behind `after` to one sink, at most `limit` of them, in one request. At least once: after a lost answer the same rows
 * are sent again. Throws nothing: what went wrong, at the ledger or at the sink, is in the result.
 */
export async function sweepOnce(
  sink: Sink,
  source: EgressSource,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<Sweep> {
  const failed = (error: unknown, rows: number, firstSeq: number | null, lag: number | null): Sweep => ({
    delivered: false,
    rejected:
      error instanceof ReceiverRefused && error.status >= 400 && error.status < 500 && !PASSING.has(error.status),
    rows,
    first_seq: firstSeq,
    error: errorText(error).slice(0, 500),
    lag,
  });
  let page: Awaited<ReturnType<EgressSource['egressPage']>>;
  try {
    page = await source.egressPage(after, limit, sink.kind);
  } catch (error) {
    return failed(error, 0, null, null);
  }
  // Waiting until the chain has grown past the cursor would leave rows out without a word.
  if (page.head < after)
    return failed(`the ledger ends at ${page.head}, before this stream's place ${after}: it was put back`, 0, null, 0);
  const bodies: string[] = [];
  let bytes = 0;
  let first: number | null = null;
  let cursor = page.through;
  for (const row of page.rows) {
    if (!isRouted(sink, row)) continue;
    const text = sink.renderRow(row);
    bytes += Buffer.byteLength(text) + 1;
    if (bodies.length > 0 && bytes > BODY_BYTES) {
      cursor = row.seq - 1;
      break;
    }
    bodies.push(text);
    first ??= row.seq;
  }
  if (bodies.length > 0) {
    try {
      const { url, headers } = sink;
      await postTo({ url, headers, timeoutMs: TIME_LIMIT_MS }, 'application/json', sink.joined(bodies));
    } catch (error) {
      return failed(error, bodies.length, first, page.head - after);
    }
  }
  return { delivered: true, cursor, rows: bodies.length, lag: page.head - cursor };
}
