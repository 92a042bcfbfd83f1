import type { Kysely } from 'kysely';
import type { DecidedCall, DecidedPage, DecidedQuery } from '../../../contracts/decided-calls.js';
import type { JsonObject } from '../../../contracts/json.js';
import { MOST_REPLAY_CHARACTERS } from '../../../contracts/replay-rows.js';
import { sidecarSha256 } from '../../../domain/ledger/sidecar-digest.js';
import { isObject, jsonOf } from '../../../domain/evidence/reports/call-rows.js';
import { peopleOf } from '../../../domain/evidence/reports/outcome.js';
import type { ReportRow } from '../../../domain/evidence/reports/report-rows.js';
import type { LedgerReader } from '../../../domain/ledger/ports.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { filtered } from '../../ledger/rows.js';
import { placesOfPage, reportPages } from './read-report-rows.js';

/** One page of calls that people decided, in the order of the decisions. */
export async function readDecidedPage(
  { db, reader }: { readonly db: Kysely<LedgerTables>; readonly reader: Pick<LedgerReader, 'sidecar'> },
  { after = 0, limit, ...window }: DecidedQuery,
): Promise<DecidedPage> {
  const filter = { ...window, eventKinds: ['hil.approved', 'hil.denied'], seqFrom: after + 1 };
  const { places, next } = await placesOfPage(db, filter, limit);
  for await (const read of reportPages(db, filter, { places })) {
    const page = read.slice(0, limit);
    const judged = await evaluationsOf(
      db,
      page.flatMap(({ correlationId: id }) => id ?? []),
    );
    const rows: DecidedCall[] = [];
    let characters = 0;
    for (const [at, row] of page.entries()) {
      if (characters > MOST_REPLAY_CHARACTERS) return { rows, next: (page[at - 1] as ReportRow).seq };
      const people = peopleOf(row.decision);
      if (people.length === 0) continue;
      const [input, length] = await inputOf(judged.get(row.correlationId ?? ''));
      characters += length;
      rows.push({
        seq: row.seq,
        at: row.at,
        correlation_id: row.correlationId,
        agent_id: row.agentId,
        tool: row.tool,
        decided:
          row.decision?.['decision'] === 'modify' ? 'changed' : row.kind === 'hil.denied' ? 'denied' : 'approved',
        people,
        input,
      });
    }
    return { rows, next: (page.at(-1) as ReportRow).seq };
  }
  return { rows: [], next };

  async function inputOf(row: Evaluation | undefined): Promise<readonly [JsonObject | null, number]> {
    if (row === undefined) return [null, 0];
    const sidecar = await reader.sidecar(row.id);
    const text = sidecar?.kind === 'payload' ? sidecar.text : null;
    // The chain covers the digest; what stands beside the row is what it commits to, or nothing.
    if (text === null || sidecarSha256(text) !== row.payload_sha256) return [null, text?.length ?? 0];
    const input = jsonOf(text);
    return [isObject(input) ? { current_time: row.timestamp, ...input } : null, text.length];
  }
}

interface Evaluation {
  readonly id: string;
  readonly timestamp: string;
  readonly payload_sha256: string | null;
}

/** The rows of what policy said of calls, by call. */
async function evaluationsOf(
  db: Kysely<LedgerTables>,
  calls: readonly string[],
): Promise<ReadonlyMap<string, Evaluation>> {
  if (calls.length === 0) return new Map();
  const rows = await filtered(
    db.selectFrom('ledger_entries').select(['correlation_id', 'id', 'timestamp', 'payload_sha256', 'seq']),
    { eventKinds: ['policy.evaluated'] },
  )
    .where('correlation_id', 'in', calls)
    .orderBy('seq', 'desc')
    .execute();
  return new Map(rows.map(({ correlation_id: call, ...row }) => [call ?? '', row]));
}
