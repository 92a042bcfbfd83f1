import { readFile } from 'node:fs/promises';
import { openSessionStore } from '../../adapters/console/session-store.js';
import type { ConsoleConfig } from '../../config/console.js';
import type { SignInConfig } from '../../config/console-sign-in.js';
import { StartError } from '../../config/start-error.js';
import { isLoopback } from '../../domain/outbound/loopback.js';
import { BRAIN } from '../brain/service.js';
import { HIL } from '../hil/service.js';
import { LEDGER } from '../ledger/service.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { POLICY_ENGINE } from '../policy/service.js';
import { SANDBOX } from '../sandbox/service.js';
import { createConsoleService } from './app.js';
import { readAssets } from './assets.js';
import { consoleMetrics } from './metrics.js';
import { chooseSignIn } from './sign-in/choose.js';

interface Settings {
  readonly own: ConsoleConfig;
  readonly signIn: SignInConfig;
}

export async function open({ config: { own, signIn }, ...parts }: Opening<Settings>): Promise<Opened<null>> {
  const sessions = await needed(
    'the sessions of the console',
    openSessionStore({
      target: parts.storeTarget('console'),
      key: own.sessionKey,
      idleMs: own.sessionSeconds * 1_000,
    }),
  );
  parts.onStop('stores', 'the sessions of the console', () => sessions.close());
  const way = await needed('GATE_CONSOLE_OIDC_ISSUER', chooseSignIn({ signIn, own, logger: parts.logger }));
  const assets = await needed('the files of the console', readAssets());
  const tls = await needed('the certificate of the console', certificate(own, parts));
  return {
    port: null,
    ready: () => sessions.ready(),
    listener: () =>
      listenerOf(
        createConsoleService({
          ...parts,
          tls,
          sessions,
          assets,
          signIn: way,
          decideToken: signIn.decideToken,
          url: own.url,
          sessionSeconds: own.sessionSeconds,
          trustedProxies: own.trustedProxies,
          passkeyRequired: own.passkeyRequired,
          metrics: consoleMetrics(parts.registry),
          neighbours: {
            hil: parts.over(HIL),
            ledger: parts.over(LEDGER),
            policy: parts.over(POLICY_ENGINE),
            readiness: {
              'human review': parts.readinessOf(HIL),
              ledger: parts.readinessOf(LEDGER),
              brain: parts.readinessOf(BRAIN),
              'policy engine': parts.readinessOf(POLICY_ENGINE),
              sandbox: parts.readinessOf(SANDBOX),
            },
          },
        }),
        own,
      ),
  };
}

/** What browsers see; `null` for HTTP on this machine alone. */
async function certificate(
  { certFile, keyFile, host }: Pick<ConsoleConfig, 'certFile' | 'keyFile' | 'host'>,
  { together, tls }: Pick<Opening<never>, 'together' | 'tls'>,
): Promise<{ readonly cert: string; readonly key: string } | null> {
  if (certFile !== undefined && keyFile !== undefined)
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  if (!together) return { cert: tls.cert, key: tls.key };
  if (!isLoopback(host))
    throw new StartError(
      `GATE_CONSOLE_HOST=${host} needs GATE_CONSOLE_CERT_FILE and GATE_CONSOLE_KEY_FILE: without them the console speaks HTTP, which is for this machine alone`,
    );
  return null;
}
