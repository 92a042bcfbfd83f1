import { generateKeyPairSync } from 'node:crypto';
import { tmpdir } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { hilService } from '../test/support/hil-service.js';
import { sealReviews } from '../adapters/review/seal-reviews.js';
import type { ReviewTables } from '../adapters/review/tables.js';
import { openStore } from '../adapters/store/database.js';
import { hilMigrations } from '../migrations/hil.js';
import { ledgerPlace, STORES } from '../test/support/ledger.js';
import { describeMachine, type Machine } from './machine.js';
import { inBatches, transferToReview } from './many-reviews.js';
import { quantile, rounded } from './numbers.js';
import { reviewStoreOver, type WholeReviews } from '../test/support/whole-reviews.js';

const NOW_MS = Date.UTC(2026, 10, 21);
const SPACING_MS = 10;

interface ListFigure {
  readonly store: (typeof STORES)[number];
  readonly rows: string;
  readonly read: string;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly max_ms: number;
  /** The longest time during which nothing else ran in the process. */
  readonly longest_block_ms: number;
  /** Of this process, for one read. A file store answers in it, Postgres does not. */
  readonly node_cpu_ms: number;
}

/**
 * What people's lists cost beside many rows: first all of them wait, then all but a hundredth are decided. Asked through the routes of HIL,
 * without a network between.
 */
export async function runReviewListsBench(options: {
  readonly rows: number;
  readonly say: (line: string) => void;
}): Promise<{ readonly machine: Machine; readonly figures: readonly ListFigure[] }> {
  const { rows, say } = options;
  const machine = describeMachine(tmpdir());
  const figures: ListFigure[] = [];
  for (const kind of STORES) {
    const place = await ledgerPlace(kind, { migrated: hilMigrations });
    const store = await openStore<ReviewTables>(place.target, hilMigrations);
    // What is measured only reads; to make the rows, no commit need wait for the disk.
    store.sqlite?.exec('pragma synchronous = off');
    await sealReviews(store, place.keys);
    const reviews = reviewStoreOver(store, { payloadKeys: place.keys, clock: () => NOW_MS });
    const { app } = hilService({
      reviews,
      sender: { decide: () => Promise.reject(new Error('nothing is decided here')) },
      starter: { start: () => Promise.reject(new Error('nothing is asked for here')) },
      decisionKey: generateKeyPairSync('ed25519').privateKey,
      sessionKey: Buffer.alloc(32, 7),
      operators: [],
      logger: pino({ level: 'silent' }),
      registry: new Registry(),
      trustDomain: 'gate.local',
      clock: () => NOW_MS,
      resolveCaller: () => ({
        kind: 'service',
        callerId: 'service-console',
        spiffe: 'spiffe://gate.local/service/console',
        fingerprint: 'ab'.repeat(32),
      }),
    });
    const measure = async (what: string) => {
      for (const [read, url] of READS) {
        const figure = { store: kind, rows: what, read, ...(await measured(() => asked(url))) };
        say(`${kind}, ${what}: ${read}: p50 ${figure.p50_ms} ms, p95 ${figure.p95_ms} ms`);
        figures.push(figure);
      }
    };
    const asked = async (url: string): Promise<{ readonly next_cursor?: string | null }> => {
      const answer = await app.inject({ url, headers: { 'x-gate-tenant-scope': 'acme' } });
      if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${answer.body}`);
      return answer.json();
    };
    try {
      say(`${kind}: parking ${rows} calls`);
      await inBatches(rows, (n) => park(reviews, n));
      await measure(`${rows} wait`);
      say(`${kind}: deciding all but ${rows / 100}`);
      await inBatches(rows, (n) => (n % 100 === 0 ? Promise.resolve() : settle(reviews, n)));
      await measure(`${rows / 100} of ${rows} wait`);
    } finally {
      await app.close();
      await reviews.close();
      await place.remove();
    }
  }
  return { machine, figures };
}

const READS: readonly (readonly [read: string, url: string])[] = [
  ['summaries, newest 50', '/pending/summaries'],
  ['summaries, oldest 200', '/pending/summaries?sort=oldest&limit=200'],
  ['summaries, a text in every row', '/pending/summaries?q=MONEY'],
  ['summaries, a text in one agent’s rows', '/pending/summaries?q=agent-17'],
  ['summaries, a text in every prediction', '/pending/summaries?q=DE02'],
  ['summaries, a text in no row', '/pending/summaries?q=nothing+has+this'],
  ['summaries, a text in no row, for who looks on', '/pending/summaries?q=nothing+has+this&masked=true'],
  ['summaries, a severity of no row', '/pending/summaries?risk_tier=destructive'],
  ['summaries, what was denied', '/pending/summaries?status=denied'],
  ['GET /pending, newest 200', '/pending'],
  ['stats of a day', '/approvals/stats'],
];

const correlation = (n: number): string => `${n.toString(16).padStart(8, '0')}-1111-4111-8111-111111111111`;
const idOf = new Map<number, string>();

async function park(reviews: WholeReviews, n: number): Promise<void> {
  const { row } = await reviews.createOnce({
    ...transferToReview(n),
    correlation_id: correlation(n),
    ttl_seconds: 86_400,
    created_at: new Date(NOW_MS - n * SPACING_MS).toISOString(),
    sandbox_report: {
      contract: 'gate.sandbox-report/v1',
      analyzer_version: '10',
      analyzed: true,
      operation_class: 'write',
      severity: 'risky',
      reversible: 'unknown',
      summary: `move ${n} to \`DE02 1203 0000 0000 2020 51\``,
      reasons: ['Money leaves, and nobody of this agent has sent any to this account before.'],
      targets: ['DE02 1203 0000 0000 2020 51'],
      predicted_changes: [],
      scope: { targets: 1, wildcards: false, recursive: false },
      money: null,
    },
    tenant: 'acme',
  });
  idOf.set(n, row.id);
}

async function settle(reviews: WholeReviews, n: number): Promise<void> {
  const denied = n % 50 === 1;
  await reviews.settle({
    pending_id: idOf.get(n) ?? '',
    status: denied ? 'denied' : 'approved',
    decided_at: new Date(NOW_MS - (n * SPACING_MS) / 2).toISOString(),
    decided_by: `operator:${n % 20}`,
    decision_reason: null,
    decided_via: 'console',
    principal: null,
  });
}

async function measured(
  run: () => Promise<unknown>,
): Promise<Pick<ListFigure, 'p50_ms' | 'p95_ms' | 'max_ms' | 'longest_block_ms' | 'node_cpu_ms'>> {
  await run();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const sample: number[] = [];
  const before = process.cpuUsage();
  for (let index = 0; index < 100; index++) {
    const started = performance.now();
    await run();
    sample.push(performance.now() - started);
    await new Promise((resolve) => setImmediate(resolve));
  }
  delay.disable();
  const { user, system } = process.cpuUsage(before);
  return {
    p50_ms: rounded(quantile(sample, 0.5)),
    p95_ms: rounded(quantile(sample, 0.95)),
    max_ms: rounded(Math.max(...sample)),
    longest_block_ms: rounded(delay.max / 1e6),
    node_cpu_ms: rounded((user + system) / 1000 / sample.length),
  };
}
