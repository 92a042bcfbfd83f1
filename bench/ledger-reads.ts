import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type EvidencedLedger, openEvidencedLedger } from '../test/support/evidenced-ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../test/support/ledger.js';
import { describeMachine, type Machine } from './machine.js';
import { quantile, rounded } from './numbers.js';

/** Rows of one call, as the pipeline writes them. */
const ROWS_PER_CALL = 4;
const AGENTS = 200;
/** Beyond, only reads that an index answers are measured. */
const MAX_SCANNED = 2_000_000;
const ROWS_PER_LOAD = 500_000;
const DAYS = 90;
/** The ledger's clock stands here; the rows end just before. */
const NOW_MS = Date.UTC(2026, 10, 21);

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

/** The form of an id with the number of its call in it, so that SQL can make it as well. */
const correlation = (call: number): string => `${call.toString(16).padStart(8, '0')}-1111-4111-8111-111111111111`;

/** A statement for many rows; each is about as long as a real one. */
async function load(store: (typeof STORES)[number], place: TestLedgerPlace, rows: number): Promise<void> {
  const postgres = store === 'postgres';
  const hex = (number: string, digits: number) =>
    postgres ? `lpad(to_hex(${number}), ${digits}, '0')` : `printf('%0${digits}x', ${number})`;
  const time = postgres
    ? `to_char(timestamp '2026-11-21' - interval '1 millisecond' * (?::bigint - i) * ?::float8, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    : `strftime('%Y-%m-%dT%H:%M:%fZ', julianday('2026-11-21') - (? - i) * ? / 86400000.0)`;
  const kinds = ['proxy.verdict', 'brain.inspection', 'policy.evaluated', 'upstream.outcome'];
  const kind = `case i % 4 ${kinds.map((name, index) => `when ${(index + 1) % 4} then '${name}'`).join(' ')} end`;
  const call = `((i + 3) / 4)`;
  const decision = `case i % 4 when 1 then '{"approval_tier":"standard","contract":"gate.server-execution/v1","mode":"enforce","outcome":"allow","policy_bundle":{"hash_sha256":"${'0'.repeat(64)}","policy_count":12,"version":"2026-11-21.1"},"reasons":[],"review_reasons":[],"tier":"green"}' else '{"allow":true,"available":true,"stage":"completed"}' end`;
  const digest = `'${'a'.repeat(64)}'`;
  const columns: Readonly<Record<string, string>> = {
    seq: 'i',
    chain_version: '6',
    id: `${hex('i', 8)} || '-2222-4222-8222-222222222222'`,
    timestamp: time,
    prev_hash: digest,
    agent_id: `'agent-' || (${call} % ${AGENTS})`,
    method: kind,
    intent_category: `'Information Retrieval'`,
    authorized: '1',
    reasoning: `'read of a file the agent owns'`,
    policy_decision: decision,
    correlation_id: `${hex(call, 8)} || '-1111-4111-8111-111111111111'`,
    signal: `case when i % 5000 = 0 then 'decoy_tripped' end`,
    agent_spiffe: `'spiffe://gate.local/tenant/acme/agent/agent/instance/66666666-6666-4666-8666-666666666666'`,
    event_kind: kind,
    tenant: `case when ${call} % 2 = 0 then 'acme' else 'other' end`,
    cost_micros: `case when i % 4 = 2 then 120 end`,
    tool_params_sha256: digest,
    credential_fingerprint: digest,
    tool_name: `'tool-' || (${call} % 17)`,
    state_namespace: `'operator'`,
    entry_hash: digest,
  };
  const numbers = postgres
    ? 'generate_series(?::bigint, ?::bigint) as n(i)'
    : '(with recursive n(i) as (select ? union all select i + 1 from n where i < ?) select i from n)';
  // Checking each row for a replacement is the guard of a running ledger.
  await place.unlock();
  const insert = `insert into ledger_entries (${Object.keys(columns).join(', ')}) select ${Object.values(columns).join(', ')} from ${numbers}`;
  for (let first = 1; first <= rows; first += ROWS_PER_LOAD)
    await place.sql(insert, [rows, (DAYS * 86_400_000) / rows, first, Math.min(rows, first + ROWS_PER_LOAD - 1)]);
  if (postgres) await place.sql('analyze ledger_entries');
}
