import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { settingLines } from '../../config/setting-lines.js';
import type { DevelopmentFile, ServiceAddresses } from '../development-file.js';
import { APART_SETTINGS, defaultPort } from '../process-settings.js';
import { keyOf, SERVICES, workloadOf } from '../services.js';
import {
  DEVELOPMENT_AGENTS,
  type DevLeaf,
  type DevelopmentSecrets,
  type DevPki,
  ensureDevelopmentPki,
  ensureDevelopmentSecrets,
  ensureToken,
  issueBootstraps,
} from './dev-pki.js';
import { MADE_SETTINGS } from './made-secrets.js';
import type { Credential } from '../../adapters/identity/certificate-authority.js';
import { replaceFile } from '../../adapters/store/durable-file.js';

export interface DeploymentFilesOptions {
  /** Where the CA and all secrets stay; only this job sees all of them. */
  readonly stateDir: string;
  /** One folder per container is written here. */
  readonly into: string;
  readonly trustDomain: string;
  /** The names that the containers are reached by. */
  readonly hosts: readonly string[];
  /** `host:port/database` of Postgres. */
  readonly database: string;
  /** User and group that own the files; by default the user who runs this. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

/** Where a container finds its folder. */
export const MOUNTED_AT = '/run/gate';

/** The Postgres role that owns a store. */
const roleOf = (store: string): string => `gate_${store}`;

/** The Postgres roles, one per store (`gate prepare database`). The engine's role owns its two databases. */
const DATABASE_ROLES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(SERVICES.flatMap(({ stores }) => stores.map((store) => [roleOf(store), []]))),
  temporal: ['temporal', 'temporal_visibility'],
};

/** The clients of the engine, each with a certificate of the engine's CA; `temporal` is the engine itself. */
const ENGINE_WORKLOADS: readonly string[] = [
  'temporal',
  'temporal-ui',
  ...SERVICES.filter(({ engine }) => engine).map(({ name }) => name),
  'prepare',
];

/** The containers that get a folder, each with what it needs and nothing of another's. */
export const DEPLOYMENT_FOLDERS: readonly string[] = [
  ...SERVICES.map(({ name }) => name),
  'temporal',
  'temporal-ui',
  'postgres',
  'prepare',
  'operator',
];

/**
 * Development certificates and secrets for services in containers of their own: `<into>/<container>/<file>`, read-only for their owner.
 * What exists is kept and written again, so a second run changes nothing but certificates that are about to expire, and those with which
 * services get their first one of identity: these are new each time (docs/architecture/identity.md#services).
 */
export async function writeDeploymentFiles(options: DeploymentFilesOptions): Promise<void> {
  const stateDir = resolve(options.stateDir);
  const { trustDomain, hosts, database } = options;
  const pki = await ensureDevelopmentPki({ stateDir, trustDomain, hosts });
  // A CA of its own, so that a certificate of the data plane, above all an agent's, does not open the engine.
  const enginePki = await ensureDevelopmentPki({
    stateDir: join(stateDir, 'engine'),
    trustDomain: `engine.${trustDomain}`,
    hosts,
    also: ENGINE_WORKLOADS,
  });
  const secrets = await ensureDevelopmentSecrets({ stateDir });
  // New ones each time: whoever runs this is the operator who lets a service in whose certificate ended, and each is good for one alone.
  const bootstraps = await issueBootstraps(
    pki,
    SERVICES.map((service) => ({ name: service.name, service: workloadOf(service) })),
    { hosts },
  );
  const passwordOf = (role: string) => ensureToken(join(stateDir, 'secrets', `postgres-${role}`));
  const urlOf = (role: string) => `postgresql://${role}:${passwordOf(role)}@${database}`;
  const tls = ({ cert, key }: Credential) => ({ 'ca.crt': pki.ca, 'bootstrap.crt': cert, 'bootstrap.key': key });
  const engine = (workload: string) => {
    const { cert, key } = enginePki.also[workload] as DevLeaf;
    return { 'engine-ca.crt': enginePki.ca, 'engine.crt': cert, 'engine.key': key };
  };
  const { agents } = pki;
  /** The files that a service's settings name, and nothing else. */
  const filesOf = (service: (typeof SERVICES)[number]): Record<string, string> => {
    const read = new Set(settingLines(APART_SETTINGS[service.name]).map(({ variable }) => variable));
    const [store] = service.stores;
    return {
      ...tls(bootstraps[service.name]),
      ...(service.engine && engine(service.name)),
      ...Object.fromEntries(
        MADE_SETTINGS.filter(({ variable }) => read.has(variable)).map(({ file, text }) => [
          file,
          text({ ...secrets, ...pki }),
        ]),
      ),
      ...(store !== undefined && { 'database-url': urlOf(roleOf(store)) }),
    };
  };
  const folders: Readonly<Record<string, Record<string, string>>> = {
    ...Object.fromEntries(SERVICES.map((service) => [service.name, filesOf(service)])),
    temporal: { ...engine('temporal'), 'postgres-password': passwordOf('temporal') },
    'temporal-ui': engine('temporal-ui'),
    postgres: { 'admin-password': passwordOf('postgres') },
    prepare: {
      ...engine('prepare'),
      'admin-database-url': urlOf('postgres'),
      'database-roles': Object.entries(DATABASE_ROLES)
        .map(([role, owns]) => [role, passwordOf(role), ...(owns.length > 0 ? [owns.join('+')] : [])].join(':'))
        .join(','),
    },
    operator: {
      'ca.crt': pki.ca,
      'console.crt': pki.console.cert,
      'console.key': pki.console.key,
      'dev.json': `${JSON.stringify(operatorView(pki, secrets), null, 2)}\n`,
      ...Object.fromEntries(
        Object.entries(agents).flatMap(([name, leaf]) => [
          [`${name}.crt`, leaf.cert],
          [`${name}.key`, leaf.key],
        ]),
      ),
    },
  };
  for (const [folder, files] of Object.entries(folders))
    writeFolder(
      join(options.into, folder),
      files,
      FOREIGN_IMAGES.has(folder) ? { file: 0o444, folder: 0o755 } : { file: 0o400, folder: 0o700 },
      options.owner,
    );
}

/** Images that run under user ids of their own. Each folder is mounted only into its one container. */
const FOREIGN_IMAGES: ReadonlySet<string> = new Set(['temporal', 'temporal-ui', 'postgres']);

function writeFolder(
  folder: string,
  files: Record<string, string>,
  mode: { readonly file: number; readonly folder: number },
  owner: DeploymentFilesOptions['owner'],
): void {
  mkdirSync(folder, { recursive: true, mode: mode.folder });
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name);
    replaceFile(file, text.endsWith('\n') ? text : `${text}\n`, mode.file);
    // A strict umask of the user who runs this must not make the files unreadable for their reader.
    chmodSync(file, mode.file);
    if (owner) chownSync(file, owner.uid, owner.gid);
  }
  // A fresh volume belongs to root; without this its reader could not enter it.
  chmodSync(folder, mode.folder);
  if (owner) chownSync(folder, owner.uid, owner.gid);
}

/** What `gate pending`, `decide`, `audit` and `verify` read inside the containers' network. */
function operatorView({ agents }: DevPki, { operatorToken, secondOperatorToken }: DevelopmentSecrets): DevelopmentFile {
  const at = (file: string) => posix.join(MOUNTED_AT, file);
  const addresses = Object.fromEntries(
    SERVICES.flatMap((service) => {
      const port = defaultPort(service);
      return port === null ? [] : [[keyOf(service), { url: `https://${service.name}:${port}` }]];
    }),
  ) as ServiceAddresses;
  const agentOf = (name: keyof typeof agents) => ({ cert: at(`${name}.crt`), key: at(`${name}.key`) });
  return {
    ...addresses,
    proxy: {
      url: addresses.proxy.url,
      ca: at('ca.crt'),
      ...agentOf('support-bot'),
      agent_spiffe: agents['support-bot'].spiffe,
    },
    console_workload: { cert: at('console.crt'), key: at('console.key') },
    operator_token: operatorToken,
    other_operators: { second: secondOperatorToken },
    temporal: { address: 'temporal:7233', namespace: 'gate', ui_url: null, pages_url: null },
    upstream: { url: 'http://tools:9000/mcp', demonstration: true },
    health: {},
    agents: Object.fromEntries(
      DEVELOPMENT_AGENTS.map((name) => [name, { ...agentOf(name), spiffe: agents[name].spiffe }]),
    ),
  };
}
