import type { Kysely } from 'kysely';
import { BATCH_METHOD } from '../../../contracts/call-methods.js';
import type { JsonObject } from '../../../contracts/json.js';
import {
  MOST_REPLAY_CHARACTERS,
  type ReplayPage,
  type ReplayQuery,
  type ReplayRow,
} from '../../../contracts/replay-rows.js';
import { isObject, jsonOf } from '../../../domain/evidence/reports/call-rows.js';
import { isRehearsal, reviewEndOf } from '../../../domain/evidence/reports/outcome.js';
import { LIGHT_COLUMNS, type ReportRow, toReportRow } from '../../../domain/evidence/reports/report-rows.js';
import type { LedgerReader } from '../../../domain/ledger/ports.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { textsIn } from '../../../domain/texts-in.js';
import { filtered } from '../../ledger/rows.js';
import { placesOfPage, reportPages } from './read-report-rows.js';

const ENDS = ['hil.approved', 'hil.denied', 'hil.expired'];

/** One page of recorded evaluations. Those that failed have no input and no decision, and are in none. */
export async function readReplayPage(
  { db, reader }: { readonly db: Kysely<LedgerTables>; readonly reader: Pick<LedgerReader, 'sidecar'> },
  { after = 0, limit, ...window }: ReplayQuery,
): Promise<ReplayPage> {
  const filter = { ...window, eventKinds: ['policy.evaluated'], seqFrom: after + 1 };
  const { places, next } = await placesOfPage(db, filter, limit);
  for await (const read of reportPages(db, filter, { places })) {
    const page = read.slice(0, limit);
    const calls = page.flatMap(({ correlationId: id }) => id ?? []);
    const [settled, requests] = [await settledBy(db, calls), await requestsOf(db, calls)];
    const rows: ReplayRow[] = [];
    let characters = 0;
    for (const [at, row] of page.entries()) {
      if (characters > MOST_REPLAY_CHARACTERS) return { rows, next: (page[at - 1] as ReportRow).seq };
      const [input, length] = await inputOf(row);
      characters += length;
      const batch = input?.['method'] === BATCH_METHOD ? requests.get(row.correlationId ?? '') : undefined;
      const [request, more] = batch === undefined ? [null, 0] : await payloadOf(batch);
      characters += more;
      if (row.decision?.['available'] !== false) rows.push(rowOf(row, input, request, settled));
    }
    return { rows, next: (page.at(-1) as ReportRow).seq };
  }
  return { rows: [], next };

  async function inputOf({ id, decision }: ReportRow): Promise<readonly [JsonObject | null, number]> {
    const inRow = decision?.['input_replay'];
    return isObject(inRow) ? [inRow, 0] : payloadOf(id);
  }
  async function payloadOf(id: string): Promise<readonly [JsonObject | null, number]> {
    const sidecar = await reader.sidecar(id);
    const payload = sidecar?.kind === 'payload' ? jsonOf(sidecar.text) : null;
    return [isObject(payload) ? payload : null, sidecar?.text?.length ?? 0];
  }
}

const rowOf = (
  { seq, at, correlationId, agentId, tool, decision }: ReportRow,
  input: JsonObject | null,
  request: JsonObject | null,
  settled: ReadonlyMap<string, ReplayRow['people']>,
): ReplayRow => ({
  seq,
  at,
  correlation_id: correlationId,
  agent_id: agentId,
  tool,
  // Rules that depend on the clock must see the time of the original evaluation, which older inputs do not say.
  input: input && { current_time: at, ...input },
  request,
  decision: {
    allow: decision?.['allow'] === true,
    reasons: textsIn(decision?.['reasons']),
    review_reasons: textsIn(decision?.['review_reasons']),
  },
  people: settled.get(correlationId ?? '') ?? null,
});

async function settledBy(
  db: Kysely<LedgerTables>,
  calls: readonly string[],
): Promise<ReadonlyMap<string, ReplayRow['people']>> {
  if (calls.length === 0) return new Map();
  const ends = await filtered(db.selectFrom('ledger_entries').select([...LIGHT_COLUMNS, 'source', 'policy_decision']), {
    eventKinds: ENDS,
  })
    .where('correlation_id', 'in', calls)
    .execute();
  return new Map(
    ends.flatMap((row) => {
      const end = isRehearsal(row) ? null : reviewEndOf(toReportRow(row));
      return end === 'approved' || end === 'denied' || end === 'expired' ? [[row.correlation_id ?? '', end]] : [];
    }),
  );
}

/** The rows that commit to the requests of calls, by call. A call that came again, too fast, has more verdicts; the first was judged. */
async function requestsOf(db: Kysely<LedgerTables>, calls: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (calls.length === 0) return new Map();
  const rows = await filtered(db.selectFrom('ledger_entries').select(['correlation_id', 'id', 'seq']), {
    eventKinds: ['proxy.verdict'],
  })
    .where('correlation_id', 'in', calls)
    .where('payload_sha256', 'is not', null)
    .orderBy('seq', 'desc')
    .execute();
  return new Map(rows.map(({ correlation_id: call, id }) => [call ?? '', id]));
}
