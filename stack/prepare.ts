import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { readConfig, type Env } from '../config/env.js';
import { PREPARE_SETTINGS, type DatabaseRole } from '../config/prepare.js';
import { errorText } from '../domain/errors.js';
import { bundleWorkflows } from '../workers/bundle.js';
import { connectEngine } from '../workers/client.js';
import { prepareNamespace } from './programs/temporal-namespace.js';
import { engineAddress } from './engine-address.js';
import { StartError } from '../config/start-error.js';

export interface PrepareOptions {
  readonly env: Env;
  readonly progress: (line: string) => void;
  /** How long to wait for a server that is still starting. */
  readonly limitMs?: number;
}

const LIMIT_MS = 120_000;
const RETRY_MS = 1_000;

/**
 * One Postgres role per authority, so that none can read another's rows, and the engine's role with its databases. Changes only what
 * differs, passwords included, so it may run at every start. Throws StartError when Postgres does not answer in time.
 */
export async function prepareDatabase({ env, progress, limitMs = LIMIT_MS }: PrepareOptions): Promise<void> {
  const { adminUrl, roles } = readConfig('gate prepare database', PREPARE_SETTINGS.database, env);
  const client = await answering('Postgres (GATE_ADMIN_DATABASE_URL)', limitMs, progress, async () => {
    const attempt = new pg.Client({ connectionString: adminUrl, connectionTimeoutMillis: 5_000 });
    await attempt.connect();
    return attempt;
  });
  try {
    const { rows } = await client.query<{ name: string }>('select current_database() as name');
    const own = pg.escapeIdentifier(rows[0]?.name ?? '');
    await client.query(`revoke all on database ${own} from public`);
    for (const role of roles) {
      await prepareRole(client, own, role);
      progress(`database: role ${role.name}${role.owns.length > 0 ? ` with ${role.owns.join(', ')}` : ''}`);
    }
  } finally {
    await client.end();
  }
}

async function prepareRole(client: pg.Client, own: string, { name, password, owns }: DatabaseRole): Promise<void> {
  const role = pg.escapeIdentifier(name);
  const known = await client.query('select 1 from pg_roles where rolname = $1', [name]);
  // Utility statements take no parameters; both parts are quoted by the driver.
  await client.query(
    `${known.rowCount === 0 ? 'create' : 'alter'} role ${role} login password ${pg.escapeLiteral(password)}`,
  );
  if (owns.length === 0) await client.query(`grant connect, create on database ${own} to ${role}`);
  for (const database of owns) {
    const there = await client.query('select 1 from pg_database where datname = $1', [database]);
    if (there.rowCount === 0) await client.query(`create database ${pg.escapeIdentifier(database)} owner ${role}`);
    await client.query(`revoke all on database ${pg.escapeIdentifier(database)} from public`);
  }
}

/** The engine's namespace with its retention and search attributes, once the engine answers. May run at every start. */
export async function prepareEngine({ env, progress, limitMs = LIMIT_MS }: PrepareOptions): Promise<void> {
  const config = readConfig('gate prepare engine', PREPARE_SETTINGS.engine, env);
  const address = engineAddress(config, config.address);
  await answering(`the workflow engine at ${config.address}`, limitMs, progress, async () => {
    const connection = await connectEngine(address);
    try {
      await prepareNamespace(connection, config.namespace);
    } finally {
      await connection.close();
    }
  });
  progress(`engine: namespace ${config.namespace} is ready`);
}

/** Makes the bundle of the workflows, so that no starting process has to. Throws StartError when it cannot be stored. */
export async function prepareWorkflows({ progress }: Pick<PrepareOptions, 'progress'>): Promise<void> {
  const { code, kept } = await bundleWorkflows();
  if (!kept)
    throw new StartError('the workflow bundle cannot be kept: .cache/workflows beside package.json cannot be written');
  progress(`workflows: a bundle of ${Math.round(code.length / 1_000)} kB is kept`);
}

async function answering<T>(
  what: string,
  limitMs: number,
  progress: (line: string) => void,
  attempt: () => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() >= deadline) throw new StartError(`${what}: ${errorText(error)}`, { cause: error });
      if (tried % 5 === 1) progress(`waiting for ${what}: ${errorText(error)}`);
      await sleep(RETRY_MS);
    }
  }
}
