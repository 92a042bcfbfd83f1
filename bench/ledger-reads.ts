import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type EvidencedLedger, openEvidencedLedger } from '../test/support/evidenced-ledger.js';
import { ledgerPlace, STORES } from '../test/support/ledger.js';
import { AGENTS, correlation, load, NOW_MS, ROWS_PER_CALL } from './long-ledger.js';
import { describeMachine, type Machine } from './machine.js';
import { quantile, rounded } from './numbers.js';

/** Beyond, only reads that an index answers are measured. */
const MAX_SCANNED = 2_000_000;

interface ReadFigure {
  readonly store: (typeof STORES)[number];
  readonly rows: number;
  readonly read: string;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** The longest time during which nothing else ran in the process: a read must not keep appends waiting. */
  readonly longest_block_ms: number;
}

export interface ReadBenchResult {
  readonly machine: Machine;
  readonly figures: readonly ReadFigure[];
}

/** What reads cost in a long ledger. Rows are loaded in bulk, past the chain: their hashes are of no matter to a read. */
export async function runLedgerReadsBench(options: {
  readonly rows: number;
  readonly say: (line: string) => void;
}): Promise<ReadBenchResult> {
  const { rows, say } = options;
  const measuredOn = describeMachine(tmpdir());
  const figures: ReadFigure[] = [];
  for (const store of STORES) {
    const place = await ledgerPlace(store);
    const ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => NOW_MS });
    try {
      say(`${store}: loading ${rows} rows`);
      await load(store, place, rows);
      for (const [read, times, run, scans] of reads(ledger, rows)) {
        if (scans && rows > MAX_SCANNED) continue;
        const figure = { store, rows, read, ...(await measured(times, run)) };
        say(`${store}: ${read}: p50 ${figure.p50_ms} ms, longest block ${figure.longest_block_ms} ms`);
        figures.push(figure);
      }
    } finally {
      await ledger.close();
      await place.remove();
    }
  }
  return { machine: measuredOn, figures };
}

/** `scans`: what the read looks at grows with the chain; the others must not feel how long it is. */
type Read = readonly [name: string, times: number, run: (index: number) => Promise<unknown>, scans?: 'scans'];

function reads(ledger: EvidencedLedger, rows: number): Read[] {
  const calls = Math.floor(rows / ROWS_PER_CALL);
  const call = (index: number) => correlation(1 + ((index * 7_919) % calls));
  const agent = (index: number) => `agent-${index % AGENTS}`;
  const from = new Date(NOW_MS - 86_400_000).toISOString();
  const month = new Date(NOW_MS - 30 * 86_400_000).toISOString();
  const denied = { tenant: 'acme', limit: 100, detail: { verdict: 'deny' }, seqFrom: Math.max(1, rows - 200_000) };
  return [
    ['the rows of one call', 400, (index) => ledger.byCorrelation(call(index))],
    [
      'the rows of one call, as the route pages them',
      400,
      (index) => drained(ledger.pages({ correlationId: call(index) })),
    ],
    ['the newest 50 rows of an agent', 100, (index) => ledger.byAgent(agent(index), { limit: 50 })],
    [
      'an agent in a tenant, 50 rows of a day',
      100,
      (index) => ledger.byAgent(agent(index), { limit: 50, from, tenant: 'acme' }),
    ],
    ['the number of rows of an agent', 20, (index) => ledger.count({ agentId: agent(index) })],
    ['the agents', 20, () => ledger.agents()],
    ['a narrative, 7d', 20, (index) => ledger.reports.narrative({ agentId: agent(index), window: '7d' })],
    ['a narrative, 90d', 5, (index) => ledger.reports.narrative({ agentId: agent(index), window: '90d' })],
    ['a hunt in a tenant, 30 days', 20, () => ledger.reports.hunt({ tenant: 'acme', from: month }, 100)],
    ['denied calls of a tenant, 200,000 rows', 20, () => ledger.byAgent('*', denied)],
    ['silent agents of a tenant', 20, () => ledger.reports.silentAgents({ sinceHours: 24, tenant: 'acme' })],
    ['a hunt by signal, one day', 5, () => ledger.reports.hunt({ signal: 'decoy_tripped', from }, 100)],
    ['a hunt by signal, all time', 2, () => ledger.reports.hunt({ signal: 'decoy_tripped' }, 100), 'scans'],
    [
      'the fleet, 21 days',
      2,
      () => ledger.reports.fleetBehavioralDiff({ baselineDays: 14, recentDays: 7, limit: 100 }),
      'scans',
    ],
    ['spend of a month', 2, () => ledger.reports.spend({ month: '2026-10', limit: 100 }), 'scans'],
  ];
}

async function drained(pages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of pages);
}

async function measured(
  times: number,
  run: (index: number) => Promise<unknown>,
): Promise<Pick<ReadFigure, 'p50_ms' | 'p99_ms' | 'longest_block_ms'>> {
  // Statements are prepared and pages of the store are in memory, as in a ledger that is in use.
  await run(0);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const sample: number[] = [];
  for (let index = 1; index <= times; index++) {
    const started = performance.now();
    await run(index);
    sample.push(performance.now() - started);
    await new Promise((resolve) => setImmediate(resolve));
  }
  delay.disable();
  return {
    p50_ms: rounded(quantile(sample, 0.5)),
    p99_ms: rounded(quantile(sample, 0.99)),
    longest_block_ms: rounded(delay.max / 1e6),
  };
}
