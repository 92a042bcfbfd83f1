import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { openSamlMemory, type SamlMemory } from '../../adapters/console/saml-memory.js';
import { openSessionStore } from '../../adapters/console/session-store.js';
import type { ConsoleConfig } from '../../config/console.js';
import { isForOthers, type SignInConfig, signInMode } from '../../config/console-sign-in.js';
import { StartError } from '../../config/start-error.js';
import { isLoopback } from '../../domain/outbound/loopback.js';
import { HIL } from '../hil/service.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { aboutConsole, type ConsoleSettings } from './about.js';
import { type ConsoleOptions, createConsoleService } from './app.js';
import { ASK_LIMITS } from './ask-limits.js';
import { readAssets } from './assets.js';
import { instanceOf } from './instance.js';
import { consoleMetrics } from './metrics.js';
import { ASKED, NEEDED_BESIDE, SEEN } from './services-asked.js';
import { chooseSignIn } from './sign-in/choose.js';

export async function open({ config: { own, signIn }, ...parts }: Opening<ConsoleSettings>): Promise<Opened<null>> {
  const sessions = await needed(
    'the sessions of the console',
    openSessionStore({
      target: parts.storeTarget('console'),
      key: own.sessionKey,
      idleMs: own.sessionSeconds * 1_000,
    }),
  );
  parts.onStop('stores', 'the sessions of the console', () => sessions.close());
  const samlMemory = async (): Promise<SamlMemory> => {
    const memory = await needed(
      'the sign-ins of the console',
      openSamlMemory({ target: parts.storeTarget('console'), key: own.sessionKey }),
    );
    parts.onStop('stores', 'the sign-ins of the console', () => memory.close());
    return memory;
  };
  const metrics = consoleMetrics(parts.registry);
  const mode = signInMode(signIn);
  if (mode === 'operator-token' && isForOthers(own))
    parts.logger.warn(
      `GATE_CONSOLE_AUTH is operator-token, and this console ${isLoopback(own.host) ? `is opened at ${own.url}` : `listens at ${own.host}`}: whoever reaches it and has a token of GATE_HIL_OPERATORS may decide and change everything, without a second factor`,
    );
  const way = await needed(
    NEEDED[mode],
    chooseSignIn({
      signIn,
      own,
      samlMemory,
      trusted: metrics.operatorTrust,
      hil: parts.over(HIL),
      limits: ASK_LIMITS,
      logger: parts.logger,
    }),
  );
  const assets = await needed('the files of the console', readAssets());
  const tls = await needed('the certificate of the console', certificate(own, signIn, parts));
  return {
    port: null,
    ready: () => sessions.ready(),
    listener: () =>
      listenerOf(
        createConsoleService({
          ...parts,
          tls,
          sessions,
          searches: sessions.searches,
          assets,
          signIn: way,
          decideToken: signIn.decideToken,
          url: own.url,
          sessionSeconds: own.sessionSeconds,
          // A host of its own has one console; the names of this machine may have several.
          instance:
            own.url === undefined || isLoopback(new URL(own.url).hostname) ? instanceOf(own.sessionKey) : undefined,
          trustedProxies: own.trustedProxies,
          passkeyRequired: own.passkeyRequired,
          metrics,
          about: aboutConsole({ own, signIn }),
          neighbours: {
            over: ofEach({ ...ASKED, ...SEEN }, parts.over),
            readiness: ofEach({ ...ASKED, ...NEEDED_BESIDE }, parts.readinessOf),
            seen: ofEach(SEEN, parts.readinessOf),
            others: Object.fromEntries(
              parts.neighbours
                .filter(({ name }) => !KNOWN.some((each) => each.name === name))
                .map((service) => [service.title, parts.readinessOf(service)]),
            ),
            limits: ASK_LIMITS,
          },
        }),
        own,
      ),
  };
}

/** The services of which some page tells more than whether they answer. */
const KNOWN: readonly { readonly name: string }[] = Object.values({ ...ASKED, ...NEEDED_BESIDE, ...SEEN });

const ofEach = <Name extends string, Service, Value>(
  services: Readonly<Record<Name, Service>>,
  value: (service: Service) => Value,
): Record<Name, Value> =>
  Object.fromEntries(Object.entries<Service>(services).map(([name, service]) => [name, value(service)])) as Record<
    Name,
    Value
  >;

/** What cannot be used where a way to sign in does not open. */
const NEEDED: Readonly<Record<ReturnType<typeof signInMode>, string>> = {
  'operator-token': 'GATE_HIL_OPERATORS',
  'basic-admin': 'GATE_CONSOLE_ADMIN_PASS_BCRYPT',
  oidc: 'GATE_CONSOLE_OIDC_ISSUER',
  saml: 'GATE_CONSOLE_SAML_IDP_METADATA_URL',
  'operator-mtls': 'GATE_CONSOLE_OPERATORS_FILE',
  webauthn: 'GATE_CONSOLE_PASSKEY_TENANT',
};

/** What browsers see; `null` for HTTP on this machine alone. */
async function certificate(
  { certFile, keyFile, host }: Pick<ConsoleConfig, 'certFile' | 'keyFile' | 'host'>,
  { mode, operatorCaFile }: Pick<SignInConfig, 'mode' | 'operatorCaFile'>,
  { together, tls }: Pick<Opening<never>, 'together' | 'tls'>,
): Promise<ConsoleOptions['tls']> {
  const asks =
    mode === 'operator-mtls' && operatorCaFile !== undefined ? { operatorCa: await authority(operatorCaFile) } : {};
  if (certFile !== undefined && keyFile !== undefined)
    return { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8'), ...asks };
  if (!together) return { cert: tls.cert, key: tls.key, ...(tls.live && { live: tls.live }), ...asks };
  if (mode === 'operator-mtls')
    throw new StartError(
      'GATE_CONSOLE_AUTH=operator-mtls needs GATE_CONSOLE_CERT_FILE and GATE_CONSOLE_KEY_FILE: over HTTP nobody shows a certificate',
    );
  if (!isLoopback(host))
    throw new StartError(
      `GATE_CONSOLE_HOST=${host} needs GATE_CONSOLE_CERT_FILE and GATE_CONSOLE_KEY_FILE: without them the console speaks HTTP, which is for this machine alone`,
    );
  return null;
}

/** The operators' CA. A certificate that may sign none would make everybody a stranger. */
const authority = (file: string): Promise<string> =>
  needed(
    'GATE_CONSOLE_OPERATOR_CA_FILE',
    readFile(file, 'utf8').then((pem) => {
      if (!new X509Certificate(pem).ca) throw new Error(`${file} is no certificate of a CA`);
      return pem;
    }),
  );
