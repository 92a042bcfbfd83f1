import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createMtlsFetch } from '../activities/clients/mtls-fetch.js';
import { openSessionStore } from '../adapters/console/session-store.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { createConsoleService } from '../api/console/app.js';
import { readAssets } from '../api/console/assets.js';
import { consoleMetrics } from '../api/console/metrics.js';
import { operatorTokenMode } from '../api/console/sign-in/operator-token.js';
import { createHilService } from '../api/hil/app.js';
import { createLedgerService } from '../api/ledger/app.js';
import type { Service } from '../api/plugins/service.js';
import { createPolicyService } from '../api/policy/app.js';
import { hilMigrations } from '../migrations/hil.js';
import { type DevelopmentService, ensureDevelopmentPki } from '../stack/certificates/dev-pki.js';
import { openLikeProduct } from '../test/support/evidenced-ledger.js';
import { ledgerPlace } from '../test/support/ledger.js';
import { openReviewStore } from '../test/support/whole-reviews.js';
import { answerQuestions, ownCpuMs } from './child.js';
import { AGENTS, correlation, load, NOW_MS } from './long-ledger.js';

const TENANT = 'acme';
const OPERATOR = { name: 'dev', tenant: TENANT, token: 'operator-token-of-the-benchmark-0123456789', reviewer: true };
const LIFE_MS = 86_400_000;
/** Calls that are parked together: commits are shared. */
const AT_ONCE = 200;
const SAMPLED_EVERY_MS = 20;

interface Size {
  /** Calls that wait. */
  readonly pending: number;
  /** Rows of the ledger. */
  readonly rows: number;
}

/** The console and what it asks, over mutual TLS in one process, as `gate start` has them. */
const answers = {
  async open({ pending, rows }: Size) {
    const folder = mkdtempSync(join(tmpdir(), 'gate-bench-console-'));
    closing.push(() => Promise.resolve(rmSync(folder, { recursive: true, force: true })));
    const pki = await ensureDevelopmentPki({ stateDir: folder, trustDomain: 'gate.local' });
    const clock = () => NOW_MS;
    const shared = { logger: pino({ level: 'silent' }), trustDomain: 'gate.local' };

    const ledgerAt = await ledgerPlace('sqlite');
    closing.push(() => ledgerAt.remove());
    const { ledger } = await openLikeProduct({ target: ledgerAt.target, sidecarKeys: ledgerAt.keys, clock });
    closing.push(() => ledger.close());
    await load('sqlite', ledgerAt, rows);
    const hilAt = await ledgerPlace('sqlite', { migrated: hilMigrations });
    closing.push(() => hilAt.remove());
    const quorum = { strict: 2, risky: 1, destructive: 1 };
    const reviews = await openReviewStore({ target: hilAt.target, payloadKeys: hilAt.keys, clock, quorum });
    closing.push(() => reviews.close());
    const ids: string[] = [];
    for (let from = 0; from < pending; from += AT_ONCE)
      ids.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(AT_ONCE, pending - from) }, (_, at) => park(reviews, from + at)),
        )),
      );

    const tls = (name: DevelopmentService) => pki.services[name];
    const over = async (name: DevelopmentService, service: Service) => {
      closing.push(() => service.close());
      const { port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
      const fetch = createMtlsFetch({
        ...pki.services.console,
        expectedServerSpiffe: `spiffe://gate.local/service/${name}`,
        timeoutMs: 60_000,
      });
      closing.push(() => fetch.close());
      return { url: `https://127.0.0.1:${port}`, fetch };
    };
    const neighbours = {
      hil: over(
        'hil',
        createHilService({
          ...shared,
          reviews,
          sender: { decide: () => Promise.reject(new Error('nothing is decided here')) },
          starter: { start: () => Promise.reject(new Error('nothing is asked for here')) },
          decisionKey: generateKeyPairSync('ed25519').privateKey,
          sessionKey: Buffer.alloc(32, 7),
          operators: [OPERATOR],
          registry: new Registry(),
          tls: tls('hil'),
          clock,
        }),
      ),
      ledger: over(
        'ledger',
        createLedgerService({ ...shared, ledger, evidence: ledger, registry: new Registry(), tls: tls('ledger') }),
      ),
      policy: over(
        'policy-engine',
        createPolicyService({
          ...shared,
          policies: await loadPolicySet({ directory: shippedPolicyDirectory() }),
          registry: new Registry(),
          tls: tls('policy-engine'),
        }),
      ),
      readiness: {},
    };
    await Promise.all([neighbours.hil, neighbours.ledger, neighbours.policy]);
    const sessions = await openSessionStore({
      target: { file: join(folder, 'console.db') },
      key: Buffer.alloc(32, 9),
      idleMs: LIFE_MS,
      clock,
    });
    closing.push(() => sessions.close());
    const registry = new Registry();
    const console = createConsoleService({
      ...shared,
      registry,
      tls: null,
      sessions,
      searches: sessions.searches,
      about: {
        version: '',
        node: process.version,
        startedAt: new Date(clock()).toISOString(),
        workflowPages: null,
        settings: [],
      },
      assets: await readAssets(),
      signIn: operatorTokenMode({ operators: [OPERATOR], clock }),
      url: undefined,
      sessionSeconds: LIFE_MS / 1_000,
      passkeyRequired: 'none',
      metrics: consoleMetrics(registry),
      neighbours,
      clock,
    });
    closing.push(() => console.close());
    const { port } = await console.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
    const subject = `operator:${OPERATOR.name}`;
    const cookie = await sessions.open({ subject, tenant: TENANT, mode: 'operator-token', role: 'admin' });
    // Half of the calls are of the other tenant.
    return {
      address: `http://localhost:${port}`,
      cookie,
      review: ids.at(-1) ?? '',
      call: correlation(2),
      agent: 'agent-18',
    };
  },

  cpuMs: async (): Promise<number> => ownCpuMs(),

  /** What is held when nothing is asked, MiB. */
  async held(): Promise<{ readonly heap: number; readonly resident: number }> {
    globalThis.gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    return { heap: mib(heapUsed + external), resident: mib(rss) };
  },

  /** The most that was held since it was asked last, MiB. */
  async most(): Promise<number> {
    const found = mib(most);
    most = 0;
    return found;
  },
};
export type ConsoleQuestions = typeof answers;

const closing: (() => Promise<unknown>)[] = [];
const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
let most = 0;
setInterval(() => {
  const { heapUsed, external } = process.memoryUsage();
  most = Math.max(most, heapUsed + external);
}, SAMPLED_EVERY_MS).unref();

async function park(reviews: Awaited<ReturnType<typeof openReviewStore>>, n: number): Promise<string> {
  const { row } = await reviews.createOnce({
    agent_id: `agent-${n % AGENTS}`,
    correlation_id: correlation(2 * n + 2),
    method: 'tools/call',
    request_payload: {
      jsonrpc: '2.0',
      id: n,
      method: 'tools/call',
      params: {
        name: 'wire_transfer',
        arguments: { amount: n, to: 'DE02 1203 0000 0000 2020 51', note: 'x'.repeat(400) },
      },
    },
    risk_summary: 'The tool moves money, and nobody of this agent has sent any to this account before.',
    state_namespace: 'operator',
    ttl_seconds: LIFE_MS / 1_000,
    created_at: new Date(NOW_MS - n * 10).toISOString(),
    review_reasons: ['money movement', 'new recipient'],
    brain_scores: { drift: 0.2, injection: 0.01 },
    projected_cost_micros: 1_200,
    approval_tier: 'standard',
    agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/payments-agent',
    tenant: TENANT,
  });
  return row.id;
}

answerQuestions(answers, async () => {
  for (const close of closing.toReversed()) await close();
});
