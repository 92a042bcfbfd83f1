import type { EgressSource } from '../../../contracts/ledger-egress.js';
import { postTo, ReceiverRefused } from '../../outbound/webhook.js';
import { errorText } from '../../../domain/errors.js';
import { isRouted, type Sink } from '../../../domain/evidence/egress/sinks.js';
import type { Sweep } from '../../../domain/evidence/egress/progress.js';

/** Most bytes of one body, unless a single row is larger. */
const BODY_BYTES = 1_000_000;
const TIME_LIMIT_MS = 10_000;
/** Client errors that do not depend on the rows; the same rows are retried. */
const PASSING = new Set([401, 403, 404, 408, 429]);

/**
 * Sends the rows after `after` to one sink in one request, at most `limit` of them. Delivery is at least once: after a lost answer the same
 * rows are sent again. Never throws; a fault of the ledger or the sink is part of the result.
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
  // Waiting until the chain has grown past the cursor would silently skip rows.
  if (page.head < after)
    return failed(
      `the ledger ends at ${page.head}, before this stream's cursor ${after}: it was restored from an older copy`,
      0,
      null,
      0,
    );
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
