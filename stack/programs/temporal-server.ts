import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { tightenFile } from '../../adapters/store/durable-file.js';
import { errorText } from '../../domain/errors.js';
import { withFileLock } from '../file-lock.js';
import { adoptOrEnd, type ChildSpec, type ManagedChild, startChild, tailOf } from './managed-child.js';
import { SEARCH_ATTRIBUTES } from './search-attributes.js';

export interface TemporalOptions {
  readonly binary: string;
  readonly stateDir: string;
  readonly port: number;
  /** `null`: without its web UI. */
  readonly uiPort: number | null;
  readonly namespace: string;
  /** Default `<stateDir>/data/temporal.db`; `null`: in memory, gone when it stops. */
  readonly dbFile?: string | null;
  /** Default `<stateDir>/logs/temporal.log`. */
  readonly logFile?: string;
  readonly host?: string;
  readonly onProgress?: (line: string) => void;
  readonly startLimitMs?: number;
  /** Called when the server runs, or a running one was adopted: from then on the start waits for it and has time for other work. */
  readonly onLaunched?: () => void;
  /** Aborts the start: what was begun is ended, and it throws. */
  readonly signal?: AbortSignal;
}

export interface TemporalServer {
  /** `host:port` of its front end. */
  readonly address: string;
  readonly uiUrl: string | null;
  readonly pid: number;
  /** It was left running by an earlier start. */
  readonly adopted: boolean;
  /** Resolves when it has ended, whoever ended it. */
  readonly exited: Promise<string>;
  /** Asks it to end, and kills it after `limitMs`. Resolves when the process is gone. */
  stop(limitMs?: number): Promise<void>;
}

const START_LIMIT_MS = 60_000;
const PROGRESS_EVERY_MS = 3_000;

/** Each value with its reason (docs/architecture/engine-tuning.md). `deploy/temporal/dynamic-config.yaml` has the same. */
export const DYNAMIC_CONFIG: Readonly<Record<string, number | boolean>> = {
  // The one shard polls its queues 20 times a second by default: every hop would wait up to 50 ms.
  'history.transferProcessorMaxPollRPS': 5_000,
  'history.timerProcessorMaxPollRPS': 5_000,
  // With four partitions a task may arrive where no poller waits, and stalls until it is forwarded.
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // An activity on the worker's own queue starts with the answer to its workflow task: one hop less.
  'system.enableActivityEagerExecution': true,
  // By default a run that continues as new waits for the first second of its life, and so does the same id after a 503.
  'history.workflowIdReuseMinimalInterval': 0,
  // Waiting callers are long-running requests, whose default limit is 1,200.
  'frontend.namespaceCount': 20_000,
  // Rate limits of a shared cluster; here one stack has the server to itself, and the machine is the limit.
  'frontend.rps': 100_000,
  'frontend.namespaceRPS': 100_000,
  'frontend.namespaceRPS.visibility': 1_000,
  'history.rps': 100_000,
  'matching.rps': 100_000,
  'frontend.persistenceMaxQPS': 100_000,
  'history.persistenceMaxQPS': 100_000,
  'matching.persistenceMaxQPS': 100_000,
};

/**
 * Starts the Temporal development server, tuned for Gate, and resolves when it answers with the namespace, its retention and the search
 * attributes in place. A server left by an earlier start is adopted when it is the same, otherwise ended first. Safe to call again over the
 * same database file, and after a kill at any moment. Throws one line: a port in use, or what the server said when it ended.
 */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const stateDir = resolve(options.stateDir);
  const settled: Settled = {
    host: '127.0.0.1',
    dbFile: join(stateDir, 'data', 'temporal.db'),
    logFile: join(stateDir, 'logs', 'temporal.log'),
    onProgress: () => {},
    onLaunched: () => {},
    startLimitMs: START_LIMIT_MS,
    ...options,
  };
  const run = join(stateDir, 'run');
  return withFileLock(join(run, 'temporal.lock'), { timeoutMs: 2 * START_LIMIT_MS }, () => start(settled, run));
}

type Settled = Required<Omit<TemporalOptions, 'signal'>> & Pick<TemporalOptions, 'signal'>;

/** What the server prints when its own connections blocked each other while it created or opened its database. */
const LOCKED = /database is locked|SQLITE_BUSY/;
const TRIES_WHILE_LOCKED = 3;

async function start(options: Settled, run: string): Promise<TemporalServer> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await startOnce(options, run);
    } catch (error) {
      if (tried >= TRIES_WHILE_LOCKED || options.signal?.aborted || !LOCKED.test(errorText(error))) throw error;
      await sleep(500);
    }
  }
}

async function startOnce(options: Settled, run: string): Promise<TemporalServer> {
  const { host, onProgress: progress } = options;
  const spec: ChildSpec = {
    name: 'temporal',
    command: options.binary,
    args: argumentsOf(options),
    pidFile: join(run, 'temporal.pid'),
    logFile: options.logFile,
  };
  let child = await adoptOrEnd(spec);
  if (child) progress(`temporal: already running (pid ${child.pid})`);
  else {
    await assertFree(host, options.port);
    if (options.uiPort !== null) await assertFree(host, options.uiPort);
    if (options.dbFile !== null) prepareDatabase(options.dbFile, progress);
    child = await startChild(spec);
  }
  options.onLaunched();
  const address = `${host}:${options.port}`;
  try {
    await untilReady(child, address, options);
  } catch (error) {
    await child.stop();
    throw error;
  }
  const running = child;
  return {
    address,
    uiUrl: options.uiPort === null ? null : `http://${host}:${options.uiPort}`,
    pid: running.pid,
    adopted: running.adopted,
    exited: running.exited,
    stop: (limitMs) => running.stop(limitMs),
  };
}

function argumentsOf(options: Settled): string[] {
  const flags = (name: string, values: readonly string[]): string[] => values.flatMap((value) => [name, value]);
  return [
    'server',
    'start-dev',
    '--ip',
    options.host,
    '--port',
    String(options.port),
    '--namespace',
    options.namespace,
    ...(options.uiPort === null ? ['--headless'] : ['--ui-port', String(options.uiPort)]),
    ...(options.dbFile === null
      ? []
      : [
          '--db-filename',
          resolve(options.dbFile),
          ...flags('--sqlite-pragma', ['journal_mode=wal', 'synchronous=normal']),
        ]),
    ...flags(
      '--search-attribute',
      SEARCH_ATTRIBUTES.map((name) => `${name}=Keyword`),
    ),
    ...flags(
      '--dynamic-config-value',
      Object.entries(DYNAMIC_CONFIG).map(([key, value]) => `${key}=${value}`),
    ),
    '--log-level',
    'warn',
    '--log-format',
    'json',
    '--disable-config-file',
    '--disable-config-env',
  ];
}

/** Throws one line when another program listens there. */
async function assertFree(host: string, port: number): Promise<void> {
  const probe = createServer();
  await new Promise<void>((free, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(
              `temporal: port ${port} on ${host} is used by another program; stop that one or choose another port`,
            )
          : new Error(`temporal: port ${port} on ${host} cannot be used: ${error.message}`, { cause: error }),
      ),
    );
    probe.listen(port, host, () => probe.close(() => free()));
  });
}

/**
 * The server creates its tables only when the file does not exist. A kill at that moment would leave a file with which it never starts. A
 * file without a namespace was never used, and is set aside.
 */
function prepareDatabase(file: string, progress: (line: string) => void): void {
  mkdirSync(dirname(resolve(file)), { recursive: true, mode: 0o700 });
  // Files that a server of an earlier Gate created under its umask are closed to others here.
  for (const part of ['', '-wal', '-shm']) tightenFile(file + part);
  if (!existsSync(file) || hasNamespace(file)) return;
  const aside = `${file}.unfinished-${Date.now()}`;
  for (const part of ['', '-wal', '-shm']) if (existsSync(file + part)) renameSync(file + part, aside + part);
  progress(`temporal: ${file} was never finished by an earlier first start; put aside as ${aside}`);
}

function hasNamespace(file: string): boolean {
  const database = new DatabaseSync(file, { readOnly: false });
  try {
    const tables = database.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name = 'namespaces'").get();
    if ((tables as { n: number }).n === 0) return false;
    return (database.prepare('SELECT count(*) AS n FROM namespaces').get() as { n: number }).n > 0;
  } finally {
    database.close();
  }
}

async function untilReady(child: ManagedChild, address: string, options: Settled): Promise<void> {
  const started = Date.now();
  const { startLimitMs: limitMs, onProgress: progress } = options;
  const ended: string[] = [];
  void child.exited.then((how) => ended.push(how));
  let told = started;
  for (;;) {
    let fault: unknown;
    try {
      // A gRPC channel waits for a second after a refused connection; a bare connection does not.
      await assertListening(options.host, options.port);
      // Loading the client takes a third of a second, during which the server comes up.
      const { answersWithNamespace } = await import('./temporal-namespace.js');
      // A client waits for its deadline on a connection whose other end is gone.
      return await Promise.race([
        answersWithNamespace(address, options.namespace),
        child.exited.then((how) => Promise.reject(new Error(how))),
      ]);
    } catch (error) {
      fault = error;
    }
    if (ended.length > 0)
      throw new Error(`temporal ended while starting (${ended[0]}): ${complaintOf(options.logFile)}`);
    options.signal?.throwIfAborted();
    const waited = Date.now() - started;
    if (waited > limitMs)
      throw new Error(
        `temporal did not answer on ${address} within ${limitMs / 1_000} s: ${errorText(fault)}${options.logFile === undefined ? '' : `; a busy machine may need another start, and ${options.logFile} says what it was at`}`,
      );
    if (Date.now() - told >= PROGRESS_EVERY_MS) {
      told = Date.now();
      progress(`temporal: starting on ${address}, ${Math.round(waited / 1_000)} s`);
    }
    await sleep(100);
  }
}

const assertListening = (host: string, port: number): Promise<void> =>
  new Promise((listening, reject) => {
    const socket = connect({ host, port, timeout: 1_000 });
    socket.once('connect', () => listening(void socket.destroy()));
    socket.once('timeout', () => socket.destroy(new Error('no connection within a second')));
    socket.once('error', reject);
  });

const complaintOf = (logFile: string): string => {
  const lines = tailOf(logFile).trim().split('\n');
  return (lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1) ?? '').slice(0, 400);
};
