import type { LocalFile } from '../adapters/store/local-file.js';
import { createConsoleService } from '../api/console/app.js';
import { readAssets } from '../api/console/assets.js';
import { instanceOf } from '../api/console/instance.js';
import { consoleMetrics } from '../api/console/metrics.js';
import { operatorTokenMode, type TokenHolder } from '../api/console/sign-in/operator-token.js';
import type { AddressRules } from '../api/pages/allowed-address.js';
import type { SignInLinks } from '../api/pages/sign-in-links.js';
import { overInProcess } from '../api/plugins/over-in-process.js';
import type { ServiceChecks } from '../api/console/services-over-http.js';
import { createService, type ServiceApp } from '../api/plugins/service.js';
import { policyRoutes } from '../api/policy/routes/policies.js';
import { PARTS } from '../console/visit.js';
import type { Mode } from '../contracts/call.js';
import { SESSION_SECONDS } from '../contracts/console.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import { ownConsole } from './console-caller.js';
import { sessionsIn } from './console-sessions.js';
import { createReviewService, type ReviewServiceOptions } from './review-service.js';

export interface ConsoleServiceOptions extends ReviewServiceOptions {
  readonly file: LocalFile;
  readonly links: SignInLinks<TokenHolder>;
  readonly mode: Mode;
  readonly policies: PolicySet;
  /** 32 bytes; sessions are bound to it. */
  readonly sessionKey: Uint8Array;
  /** The ledger as the console asks it. */
  readonly ledger: () => Promise<ServiceApp>;
  /** How the listener is known. */
  readonly address: AddressRules;
  readonly readiness: ServiceChecks;
  readonly seen: ServiceChecks;
  readonly now: () => number;
}

export interface LiteConsole {
  readonly app: ServiceApp;
  /** Ends streams and what it asks. */
  close(): Promise<void>;
}

/**
 * The console over the services of this process. What it asks goes through the same routes, checks and tables of callers as between
 * processes; only the connections are missing.
 */
export async function openLiteConsole({
  file,
  links,
  mode,
  policies,
  sessionKey,
  ledger,
  address,
  readiness,
  seen,
  now,
  ...reviewing
}: ConsoleServiceOptions): Promise<LiteConsole> {
  const { access, logger, registry } = reviewing;
  const reviews = createReviewService({ ...reviewing, file });
  const trustDomain = 'gate.local';
  const rules = createService({
    name: 'policy-engine',
    governed: 'policy-engine',
    logger,
    registry,
    trustDomain,
    resolveCaller: () => ownConsole,
  });
  policyRoutes(rules.app, policies);
  const over = async (app: Promise<ServiceApp>) => overInProcess(await app);
  const sessions = sessionsIn(file, sessionKey, now);
  const service = createConsoleService({
    logger,
    registry,
    trustDomain,
    tls: null,
    url: undefined,
    address,
    sessions,
    searches: sessions.searches,
    sessionSeconds: SESSION_SECONDS,
    instance: instanceOf(sessionKey),
    assets: await readAssets(),
    signIn: operatorTokenMode({
      operators: access.people,
      clock: now,
      links,
      command: 'gate lite link',
      where: "lite's ledger",
    }),
    without: PARTS,
    about: {
      version: '',
      node: process.version,
      startedAt: new Date(now()).toISOString(),
      workflowPages: null,
      settings: [],
    },
    standing: standing(mode, access.agents === 'open'),
    passkeyRequired: 'none',
    metrics: consoleMetrics(registry),
    neighbours: {
      over: {
        hil: over(Promise.resolve(reviews.app)),
        ledger: over(ledger()),
        policy: over(Promise.resolve(rules.app)),
      },
      readiness,
      seen,
      hasEngine: false,
    },
    clock: now,
  });
  await service.app.ready();
  return {
    app: service.app,
    async close() {
      await service.close();
      await reviews.close();
      await rules.close();
    },
  };
}

function standing(mode: Mode, openAgents: boolean): readonly string[] {
  return [
    ...(mode === 'observe'
      ? [
          'Observe mode: every call runs, and nothing waits for you. What would have been denied or parked is recorded (npx gate report).',
        ]
      : []),
    ...(openAgents ? ['Anonymous agents: whoever reaches this port can call. Set GATE_LITE_TOKEN.'] : []),
  ];
}
