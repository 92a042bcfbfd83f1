import type { JsonObject } from '../../../contracts/json.js';
import type { ReplayCorpus } from '../../../contracts/ledger-reports.js';
import type { Fact } from './facts.js';

export interface CorpusQuery {
  readonly limit: number;
  readonly toolType?: string | undefined;
  readonly tenantPrefix?: string | undefined;
}

/** A row of the corpus before it is read again: what decided about it may be as large as a request. */
interface Candidate {
  readonly rank: string;
  readonly seq: number;
}

/** Rows read again at a time. */
const BATCH = 50;

/** What was chosen, and the entries themselves one by one: each may be as large as a request. */
export interface ChosenCorpus {
  readonly total: number;
  readonly sampled: boolean;
  readonly entries: AsyncGenerator<ReplayCorpus['corpus'][number]>;
}

/**
 * Recorded policy inputs with the verdict they got, in chain order. Where there are more than `limit`, those whose rank is lowest are
 * taken: `rank` spreads rows evenly and always the same way, so that the same question has the same answer. `read` gives the rows of
 * these places that can still be read, in chain order; `input` opens what a row committed to, `null` when it was purged in between.
 */
export async function chooseCorpus(
  facts: AsyncIterable<readonly Fact[]>,
  { limit, toolType, tenantPrefix }: CorpusQuery,
  {
    rank,
    read,
    input,
  }: {
    rank(id: string): string;
    read(seqs: readonly number[]): Promise<readonly Fact[]>;
    input(fact: Fact): Promise<JsonObject | null>;
  },
): Promise<ChosenCorpus> {
  let kept: Candidate[] = [];
  let total = 0;
  const lowest = () => kept.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).slice(0, limit);
  for await (const page of facts) {
    for (const fact of page) {
      if (toolType !== undefined && fact.tool !== toolType) continue;
      if (tenantPrefix !== undefined && !fact.tenant?.startsWith(tenantPrefix)) continue;
      total += 1;
      kept.push({ rank: rank(fact.id), seq: fact.seq });
    }
    if (kept.length > 2 * limit) kept = lowest();
  }
  const chosen = lowest()
    .map(({ seq }) => seq)
    .toSorted((a, b) => a - b);
  async function* entries(): ChosenCorpus['entries'] {
    for (let from = 0; from < chosen.length; from += BATCH)
      for (const fact of await read(chosen.slice(from, from + BATCH))) {
        const recorded = await input(fact);
        if (recorded !== null) yield corpusEntry(fact, recorded);
      }
  }
  return { total, sampled: total > limit, entries: entries() };
}

const corpusEntry = (fact: Fact, recorded: JsonObject): ReplayCorpus['corpus'][number] => ({
  correlation_id: fact.correlationId ?? '',
  captured_at: fact.at,
  agent_id: fact.agentId,
  method: fact.method,
  // Rules that look at the clock see the time at which the row was judged.
  input: { ...recorded, current_time: fact.at },
  historical_verdict: {
    allow: fact.decision?.['allow'] === true,
    reasons: texts(fact.decision?.['reasons']),
    review_reasons: texts(fact.decision?.['review_reasons']),
  },
});

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
