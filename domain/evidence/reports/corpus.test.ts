import { describe, expect, it } from '@jest/globals';
import { chooseCorpus } from './corpus.js';
import type { ReportRow } from './report-rows.js';

const reportRowOf = (seq: number): ReportRow => ({
  seq,
  at: '2026-01-02T03:04:05.006Z',
  id: String(seq).padStart(6, '0'),
  agentId: 'agent-a',
  agentName: null,
  tenant: 'acme',
  kind: 'policy.evaluated',
  method: 'policy.evaluated',
  authorized: true,
  intent: 'Read',
  reasoning: '',
  decision: { allow: true },
  correlationId: String(seq),
  signal: null,
  tool: 'read_file',
  costMicros: null,
});

async function* pages(count: number): AsyncGenerator<ReportRow[]> {
  for (let seq = 1; seq <= count; seq += 10) yield Array.from({ length: 10 }, (_, index) => reportRowOf(seq + index));
}

describe('choosing the rows of a replay corpus', () => {
  it('keeps places only, and reads what was chosen again, some rows at a time', async () => {
    const read: number[][] = [];
    const { total, sampled, entries } = await chooseCorpus(
      pages(1_000),
      { limit: 120 },
      {
        rank: (id) => id.split('').toReversed().join(''),
        async read(seqs) {
          read.push([...seqs]);
          // This row was hidden after it was chosen.
          return seqs.filter((seq) => seq !== 100).map(reportRowOf);
        },
        input: async (reportRow) => ({ tool_type: reportRow.tool }),
      },
    );
    expect([total, sampled, read]).toEqual([1_000, true, []]);
    const found: string[] = [];
    for await (const entry of entries) found.push(entry.correlation_id);
    expect(read.map((seqs) => seqs.length)).toEqual([50, 50, 20]);
    expect(read.flat()).toEqual(read.flat().toSorted((a, b) => a - b));
    expect(found).toEqual(
      read
        .flat()
        .filter((seq) => seq !== 100)
        .map(String),
    );
    expect(found).toHaveLength(119);
  });
});
