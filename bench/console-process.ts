import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createMtlsFetch } from '../activities/clients/mtls-fetch.js';
import { loadPersonas } from '../adapters/inspection/persona-files.js';
import { scanInThreads } from '../adapters/inspection/scan-threads.js';
import { openSessionStore } from '../adapters/console/session-store.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { createBrainService } from '../api/brain/app.js';
import { createConsoleService } from '../api/console/app.js';
import { readAssets } from '../api/console/assets.js';
import { operatorTokenMode } from '../api/console/sign-in/operator-token.js';
import { hilService } from '../test/support/hil-service.js';
import { createLedgerService } from '../api/ledger/app.js';
import type { Over } from '../api/plugins/declaration.js';
import type { Service } from '../api/plugins/service.js';
import { createPolicyService } from '../api/policy/app.js';
import { createInspector } from '../domain/inspection/inspector.js';
import { noModels } from '../domain/models/model-standing.js';
import { noNarrator } from '../domain/models/narrator.js';
import { createDecisionLinks } from '../domain/review/decision-link.js';
import { hilMigrations } from '../migrations/hil.js';
import { ensureTestPki, type TestPki } from '../test/support/service-certificates.js';
import { consoleOptions } from '../test/support/console-options.js';
import { openLikeProduct } from '../test/support/evidenced-ledger.js';
import { ledgerPlace } from '../test/support/ledger.js';
import { openReviewStore } from '../test/support/whole-reviews.js';
import { answerQuestions, ownCpuMs } from './child.js';
import { keptPolicies, openedCases, parkedCalls, recordedCopies } from './console-held.js';
import type { HeldThere } from './console-pages.js';
import { correlation, load, NOW_MS } from './long-ledger.js';

const TENANT = 'acme';
const OPERATOR = { name: 'dev', tenant: TENANT, token: 'operator-token-of-the-benchmark-0123456789', reviewer: true };
const LIFE_MS = 86_400_000;
const SESSION_KEY = Buffer.alloc(32, 7);
/** Browsers and command lines of the person. */
const OPEN_SESSIONS = 20;
const SAMPLED_EVERY_MS = 20;

export interface ConsoleSize {
  /** Calls that wait. */
  readonly pending: number;
  /** Rows of the ledger. */
  readonly rows: number;
  /** Policies of operators. */
  readonly policies: number;
  readonly cases: number;
  /** Copies of the ledger. */
  readonly copies: number;
}

/** The console and what it asks, over mutual TLS in one process, as `gate start` has them. */
const answers = {
  async open({ pending, rows, policies, cases, copies }: ConsoleSize) {
    const folder = mkdtempSync(join(tmpdir(), 'gate-bench-console-'));
    closing.push(() => Promise.resolve(rmSync(folder, { recursive: true, force: true })));
    const pki = await ensureTestPki({ stateDir: folder, trustDomain: 'gate.local' });
    const clock = () => NOW_MS;
    const shared = { logger: pino({ level: 'silent' }), trustDomain: 'gate.local' };

    const ledgerAt = await ledgerPlace('sqlite');
    closing.push(() => ledgerAt.remove());
    const { ledger } = await openLikeProduct({
      target: ledgerAt.target,
      sidecarKeys: ledgerAt.keys,
      clock,
      coldPlace: { at: { directory: folder }, retentionMs: LIFE_MS },
    });
    closing.push(() => ledger.close());
    await load('sqlite', ledgerAt, rows);
    await recordedCopies(ledgerAt, copies);
    const lastCase = await openedCases(ledger, { count: cases, tenant: TENANT });
    const hilAt = await ledgerPlace('sqlite', { migrated: hilMigrations });
    closing.push(() => hilAt.remove());
    const quorum = { strict: 2, risky: 1, destructive: 1 };
    const reviews = await openReviewStore({ target: hilAt.target, payloadKeys: hilAt.keys, clock, quorum });
    closing.push(() => reviews.close());
    const { waiting, decided } = await parkedCalls(reviews, { pending, tenant: TENANT, lifeMs: LIFE_MS });
    const floor = await loadPolicySet({ directory: shippedPolicyDirectory() });
    const kept = await keptPolicies({
      floor,
      file: join(folder, 'policies.db'),
      count: policies,
      tenant: TENANT,
      rows,
      // The walk of the chain is measured elsewhere.
      decisions: {
        decidedPage: (query) => ledger.reports.decidedPage(query),
        verify: async () => ({ valid: true, entries_checked: rows, first_invalid_seq: null }),
      },
    });
    closing.push(() => kept.close());
    const inspector = createInspector({ personas: await loadPersonas() });
    const scanner = scanInThreads();
    closing.push(() => scanner.close());

    const tls = (name: keyof TestPki['services']) => pki.services[name];
    const over = async (name: keyof TestPki['services'], service: Service) => {
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
        hilService({
          ...shared,
          reviews,
          sender: { decide: () => Promise.reject(new Error('nothing is decided here')) },
          starter: { start: () => Promise.reject(new Error('nothing is asked for here')) },
          decisionKey: generateKeyPairSync('ed25519').privateKey,
          sessionKey: SESSION_KEY,
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
          policies: floor,
          management: kept.management,
          registry: new Registry(),
          tls: tls('policy-engine'),
        }),
      ),
      brain: over(
        'brain',
        createBrainService({
          ...shared,
          inspector,
          scanner,
          narrator: noNarrator,
          standings: noModels,
          registry: new Registry(),
          tls: tls('brain'),
        }),
      ),
    };
    /** A request over the network of that service, as the product's own checks are. */
    const answering = (asked: Promise<Over>) => async (): Promise<void> => {
      const { url, fetch } = await asked;
      await fetch(new URL('/nothing', url).href, { method: 'GET', signal: AbortSignal.timeout(LIFE_MS) });
    };
    const readiness = Object.fromEntries(Object.entries(neighbours).map(([name, asked]) => [name, answering(asked)]));
    await Promise.all(Object.values(neighbours));
    const sessions = await openSessionStore({
      target: { file: join(folder, 'console.db') },
      key: Buffer.alloc(32, 9),
      idleMs: LIFE_MS,
      clock,
    });
    closing.push(() => sessions.close());
    const console = createConsoleService(
      consoleOptions({
        ...shared,
        sessions,
        searches: sessions.searches,
        assets: await readAssets(),
        signIn: operatorTokenMode({ operators: [OPERATOR], clock }),
        sessionSeconds: LIFE_MS / 1_000,
        neighbours: { over: neighbours, readiness },
        clock,
      }),
    );
    closing.push(() => console.close());
    const { port } = await console.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
    const who = {
      subject: `operator:${OPERATOR.name}`,
      tenant: TENANT,
      mode: 'operator-token',
      role: 'admin',
    } as const;
    for (let session = 1; session < OPEN_SESSIONS; session += 1) await sessions.open(who);
    const review = waiting.at(-1) ?? '';
    return {
      address: `http://localhost:${port}`,
      cookie: await sessions.open(who),
      held: {
        review,
        decided: decided.at(-1) ?? '',
        link: createDecisionLinks(SESSION_KEY).tokenOf({
          pending_id: review,
          action: 'approve',
          exp: Math.floor((NOW_MS + LIFE_MS) / 1_000),
        }),
        // Half of the calls are of the other tenant.
        call: correlation(2),
        agent: 'agent-18',
        case: lastCase,
        policy: kept.rules,
        document: kept.document,
        template: kept.rules,
        rows,
      } satisfies Omit<HeldThere, 'lastOfQueue'>,
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

answerQuestions(answers, async () => {
  for (const close of closing.toReversed()) await close();
});
