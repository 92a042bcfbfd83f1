import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createLedgerClient, type LedgerClient } from '../activities/clients/ledger-client.js';
import { createMtlsFetch } from '../activities/clients/mtls-fetch.js';
import { createLedgerService } from '../api/ledger/app.js';
import type { Ledger, NewLedgerRow } from '../contracts/ledger.js';
import { uuidFromDigest } from '../domain/crypto/digest.js';
import { canonicalEntry, CHAIN_VERSION } from '../domain/ledger/canonical-bytes.js';
import { chainRows, EMPTY_CHAIN } from '../domain/ledger/chain.js';
import { ENTRY_COLUMNS } from '../domain/ledger/chain-store.js';
import { prepareRow } from '../domain/ledger/entry.js';
import { type EvidencedLedger, openEvidencedLedger } from '../test/support/evidenced-ledger.js';
import { ensureTestPki } from '../test/support/service-certificates.js';
import type { StoreTarget } from '../adapters/store/database.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../test/support/ledger.js';

export interface LedgerBenchOptions {
  readonly stores?: readonly (typeof STORES)[number][];
  /** Callers that each wait for their row before they offer the next. */
  readonly callers?: readonly number[];
  readonly secondsPerCell?: number;
  readonly verifyRows?: number;
  /** Threads of the walk, beside one in the thread that answers requests. */
  readonly threads?: number;
  readonly say?: (line: string) => void;
}

/** One cell: rows per second, median of the rounds, and how they compare within the same run. */
export interface LedgerBenchCell {
  readonly store: (typeof STORES)[number];
  readonly what: string;
  readonly rowsPerSecond: number;
  readonly baseline: string;
  readonly baselineRowsPerSecond: number;
  readonly ratio: number;
}

const ROUNDS = 5;
const ROWS_PER_ROUND = 10_000;

/**
 * What the chain costs over what the store does anyway. Appends are compared with plain inserts of the same columns, in transactions of as
 * many rows as there are callers; the walk with SHA-256 over the same bytes. Both sides of a pair run in turns, on the same store with
 * the same durability, because a shared machine changes from second to second.
 */
export async function runLedgerBench({
  stores = STORES,
  callers = [1, 16, 256],
  secondsPerCell = 4,
  verifyRows = 20_000,
  threads = 2,
  say = () => undefined,
}: LedgerBenchOptions = {}): Promise<LedgerBenchCell[]> {
  const cells: LedgerBenchCell[] = [];
  for (const store of stores) {
    for (const count of callers) {
      await withPlace(store, async (place, ledger) => {
        const plain = await plainInserts(place);
        const share = (secondsPerCell * 1000) / ROUNDS / 2;
        const [rowsPerSecond, baselineRowsPerSecond] = await inTurns(
          () => appendFor(ledger, count, share),
          () => insertFor(plain, count, share),
        );
        await plain.close();
        cells.push(
          cell(
            store,
            `append, ${count} callers`,
            rowsPerSecond,
            `plain inserts, ${count} per transaction`,
            baselineRowsPerSecond,
          ),
        );
      });
    }
    await withPlace(store, async (place, ledger) => {
      say(`${store}: filling ${verifyRows} rows`);
      const texts = await fill(ledger, verifyRows);
      const hashAll = () => {
        for (let row = 0; row < verifyRows; row++) hash('sha256', texts[row % texts.length] as string, 'hex');
        return Promise.resolve();
      };
      const threaded = await openEvidencedLedger({
        target: place.target,
        sidecarKeys: place.keys,
        verifyThreads: { threads, rowsPerThread: 1 },
      });
      // A long chain is measured once: it is its own warming up.
      const rounds = verifyRows > 100_000 ? 1 : ROUNDS;
      for (const [what, walker] of [
        ["in the service's thread", ledger],
        [`in ${threads} threads`, threaded],
      ] as const) {
        const [rowsPerSecond, baselineRowsPerSecond] = await inTurns(
          () => rate(verifyRows, () => whole(walker, verifyRows)),
          () => rate(verifyRows, hashAll),
          rounds,
        );
        const name = `verify ${verifyRows} rows ${what}`;
        cells.push(cell(store, name, rowsPerSecond, 'SHA-256 of as many bytes, one thread', baselineRowsPerSecond));
        say(`${store}: ${name}: ${Math.round(rowsPerSecond)} rows/s`);
      }
      await threaded.close();
    });
    await withPlace(store, async (_, ledger) => {
      const share = (secondsPerCell * 1000) / ROUNDS / 2;
      await withService(ledger, async (client) => {
        for (const count of callers) {
          const [rowsPerSecond, baselineRowsPerSecond] = await inTurns(
            () => appendFor(client, count, share),
            () => appendFor(ledger, count, share),
          );
          const name = `append over HTTP, ${count} callers`;
          cells.push(cell(store, name, rowsPerSecond, "the same at the store's own port", baselineRowsPerSecond));
        }
      });
    });
  }
  return cells;
}

const cell = (
  store: (typeof STORES)[number],
  what: string,
  rowsPerSecond: number,
  baseline: string,
  baselineRowsPerSecond: number,
): LedgerBenchCell => ({
  store,
  what,
  rowsPerSecond: Math.round(rowsPerSecond),
  baseline,
  baselineRowsPerSecond: Math.round(baselineRowsPerSecond),
  ratio: Math.round((rowsPerSecond / baselineRowsPerSecond) * 100) / 100,
});

async function withPlace(
  store: (typeof STORES)[number],
  use: (place: TestLedgerPlace, ledger: EvidencedLedger) => Promise<void>,
): Promise<void> {
  const place = await ledgerPlace(store, { durable: true });
  const ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys });
  try {
    await use(place, ledger);
  } finally {
    await ledger.close();
    await place.remove();
  }
}

/** Medians of both sides; the first round warms up and does not count, unless there is only one. */
async function inTurns(
  one: () => Promise<number>,
  other: () => Promise<number>,
  rounds = ROUNDS,
): Promise<[number, number]> {
  const rates: [number[], number[]] = [[], []];
  for (let round = rounds > 1 ? 0 : 1; round <= rounds; round++) {
    const both = [await one(), await other()] as const;
    if (round === 0) continue;
    rates[0].push(both[0]);
    rates[1].push(both[1]);
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
  return [median(rates[0]), median(rates[1])];
}

/** A walk that came to anything else measured something else. */
async function whole(ledger: EvidencedLedger, rows: number): Promise<void> {
  const { valid, entries_checked: checked } = await ledger.verify();
  if (!valid || checked !== rows) throw new Error(`the walk found ${valid} over ${checked} of ${rows} rows`);
}

/** The ledger as the worker reaches it: its service over mutual TLS on loopback. */
async function withService(ledger: EvidencedLedger, use: (client: LedgerClient) => Promise<void>): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), 'gate-bench-ledger-'));
  const { services, trustDomain } = await ensureTestPki({ stateDir, trustDomain: 'gate.local' });
  const service = createLedgerService({
    ledger,
    evidence: ledger,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain,
    tls: services.ledger,
  });
  const { port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
  const fetch = createMtlsFetch({
    ...services.proxy,
    expectedServerSpiffe: services.ledger.spiffe,
    timeoutMs: 30_000,
  });
  try {
    await use(createLedgerClient({ url: `https://127.0.0.1:${port}`, fetch }));
  } finally {
    await fetch.close();
    await service.close();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function rate(rows: number, work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (rows * 1000) / (performance.now() - started);
}

let nextRow = 0;
const freshRow = () => {
  const index = nextRow++;
  return testRow({
    id: uuidFromDigest('bench', String(index)),
    correlation_id: uuidFromDigest('call', String(Math.floor(index / 3))),
    agent_id: `agent-${index % 20}`,
    tool_params_sha256: 'a'.repeat(64),
    credential_fingerprint: 'b'.repeat(64),
  });
};

/** Rows are made beforehand on both sides: an author makes its row anyway. Checking and rendering it is the ledger's part. */
async function appendFor(ledger: Ledger, callers: number, ms: number): Promise<number> {
  const offered = Array.from({ length: ROWS_PER_ROUND }, freshRow);
  const started = performance.now();
  let rows = 0;
  const caller = async (): Promise<void> => {
    while (offered.length > 0 && performance.now() - started < ms) {
      await ledger.append([offered.pop() as NewLedgerRow]);
      rows += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return (rows * 1000) / (performance.now() - started);
}

interface PlainInserts {
  /** One durable transaction. */
  insert(rows: readonly (readonly (string | number | null)[])[]): Promise<void>;
  close(): Promise<void>;
}

async function insertFor(plain: PlainInserts, perTransaction: number, ms: number): Promise<number> {
  const batches: (string | number | null)[][][] = [];
  while (batches.length * perTransaction < ROWS_PER_ROUND && batches.length < 2_000)
    batches.push(chainedCells(Array.from({ length: perTransaction }, freshRow)));
  const started = performance.now();
  let rows = 0;
  for (const batch of batches) {
    if (performance.now() - started > ms) break;
    await plain.insert(batch);
    rows += batch.length;
  }
  return (rows * 1000) / (performance.now() - started);
}

let nextSeq = 0;
const chainedCells = (rows: ReturnType<typeof testRow>[]): (string | number | null)[][] => {
  const head = { ...EMPTY_CHAIN, length: nextSeq };
  nextSeq += rows.length;
  return chainRows(head, rows.map(prepareRow), new Date().toISOString()).map((row) => [
    row.seq,
    CHAIN_VERSION,
    row.id,
    row.timestamp,
    row.prevHash,
    ...row.values,
    row.entryHash,
  ]);
};

/** A twin of the entries table with the same keys and indexes and nothing else: no chain, no head, no triggers, no look-up of ids. */
async function plainInserts(place: TestLedgerPlace): Promise<PlainInserts> {
  const { target } = place;
  const integers = ['seq', 'chain_version', 'authorized', 'cost_micros'];
  const sqlite = 'file' in target;
  const columns = ENTRY_COLUMNS.map(
    (column) =>
      `${column} ${integers.includes(column) ? (sqlite ? 'integer' : 'bigint') : sqlite ? 'text' : 'text collate "C"'}`,
  ).join(', ');
  await place.sql(`create table plain (${columns}, primary key (seq), unique (id))${sqlite ? ' strict' : ''}`);
  await place.sql('create index plain_correlation on plain (correlation_id, seq) where correlation_id is not null');
  await place.sql('create index plain_agent on plain (agent_id, seq)');
  return sqlite ? plainSqlite(target.file) : plainPostgres(target, integers);
}

function plainSqlite(file: string): PlainInserts {
  const connection = new DatabaseSync(file);
  connection.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL');
  const insert = connection.prepare(`insert into plain values (${ENTRY_COLUMNS.map(() => '?').join(', ')})`);
  return {
    async insert(rows) {
      connection.exec('begin immediate');
      for (const row of rows) insert.run(...row);
      connection.exec('commit');
    },
    close: () => Promise.resolve(connection.close()),
  };
}

async function plainPostgres(
  target: StoreTarget & { url: string },
  integers: readonly string[],
): Promise<PlainInserts> {
  const client = new pg.Client({ connectionString: target.url, options: '-c search_path=ledger' });
  await client.connect();
  const arrays = ENTRY_COLUMNS.map(
    (column, index) => `$${index + 1}::${integers.includes(column) ? 'bigint' : 'text'}[]`,
  );
  const text = `insert into plain select * from unnest(${arrays.join(', ')})`;
  return {
    async insert(rows) {
      await client.query({
        name: 'plain',
        text,
        values: ENTRY_COLUMNS.map((_, column) => rows.map((row) => row[column])),
      });
    },
    close: () => client.end(),
  };
}

/** More than fit into any cache. */
const DISTINCT_TEXTS = 20_000;

/** Fills a chain and returns texts like those that the walk will hash. */
async function fill(ledger: EvidencedLedger, rows: number): Promise<string[]> {
  for (let done = 0; done < rows; done += 500)
    await ledger.append(Array.from({ length: Math.min(500, rows - done) }, freshRow));
  const sample = prepareRow(freshRow());
  const position = {
    chainVersion: CHAIN_VERSION,
    id: sample.id,
    timestamp: new Date().toISOString(),
    seq: rows,
    prevHash: '0'.repeat(64),
  };
  const text = `${position.prevHash}|${canonicalEntry(position, sample.content)}`;
  return Array.from({ length: Math.min(rows, DISTINCT_TEXTS) }, (_, index) =>
    text.replace(sample.id, uuidFromDigest('hash', String(index))),
  );
}
