import type { JsonObject } from '../../../contracts/json.js';
import type { ReplayCorpus } from '../../../contracts/ledger-reports.js';
import { textsIn } from '../../texts-in.js';
import type { ReportRow } from './report-rows.js';

export interface CorpusQuery {
  readonly limit: number;
  readonly toolType?: string | undefined;
  readonly tenantPrefix?: string | undefined;
}

/** A chosen row, without its content: a policy input may be as large as a request, so rows are read again later. */
interface Candidate {
  readonly rank: string;
  readonly seq: number;
}

/** Rows read per query. */
const BATCH = 50;

/** The result of choosing. Entries are produced one by one, because each may be as large as a request. */
export interface ChosenCorpus {
  readonly total: number;
  readonly sampled: boolean;
  readonly entries: AsyncGenerator<ReplayCorpus['corpus'][number]>;
}

/**
 * Recorded policy inputs with their verdicts, in chain order. When there are more than `limit`, those with the lowest rank are taken.
 * `rank` must spread rows evenly and be deterministic, so that the same query gives the same answer. `read` returns the still readable rows
 * at these places, in chain order. `input` opens what a row committed to; `null` when it was purged meanwhile.
 */
export async function chooseCorpus(
  reportRows: AsyncIterable<readonly ReportRow[]>,
  { limit, toolType, tenantPrefix }: CorpusQuery,
  {
    rank,
    read,
    input,
  }: {
    rank(id: string): string;
    read(seqs: readonly number[]): Promise<readonly ReportRow[]>;
    input(reportRow: ReportRow): Promise<JsonObject | null>;
  },
): Promise<ChosenCorpus> {
  let kept: Candidate[] = [];
  let total = 0;
  const lowest = () => kept.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).slice(0, limit);
  for await (const page of reportRows) {
    for (const reportRow of page) {
      if (toolType !== undefined && reportRow.tool !== toolType) continue;
      if (tenantPrefix !== undefined && !reportRow.tenant?.startsWith(tenantPrefix)) continue;
      total += 1;
      kept.push({ rank: rank(reportRow.id), seq: reportRow.seq });
    }
    if (kept.length > 2 * limit) kept = lowest();
  }
  const chosen = lowest()
    .map(({ seq }) => seq)
    .toSorted((a, b) => a - b);
  async function* entries(): ChosenCorpus['entries'] {
    for (let from = 0; from < chosen.length; from += BATCH)
      for (const reportRow of await read(chosen.slice(from, from + BATCH))) {
        const recorded = await input(reportRow);
        if (recorded !== null) yield corpusEntry(reportRow, recorded);
      }
  }
  return { total, sampled: total > limit, entries: entries() };
}

const corpusEntry = (reportRow: ReportRow, recorded: JsonObject): ReplayCorpus['corpus'][number] => ({
  correlation_id: reportRow.correlationId ?? '',
  captured_at: reportRow.at,
  agent_id: reportRow.agentId,
  method: reportRow.method,
  // Rules that depend on the clock must see the time of the original evaluation.
  input: { ...recorded, current_time: reportRow.at },
  historical_verdict: {
    allow: reportRow.decision?.['allow'] === true,
    reasons: textsIn(reportRow.decision?.['reasons']),
    review_reasons: textsIn(reportRow.decision?.['review_reasons']),
  },
});
