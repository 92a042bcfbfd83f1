import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { bundleWorkflowCode } from '@temporalio/worker';
import { createPayloadCodec } from '../../workers/codec.js';
import { findTemporal } from '../../stack/programs/find-program.js';
import { freePort } from '../../stack/programs/free-port.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { startTemporal, type TemporalServer } from '../../stack/programs/temporal-server.js';
import { endsWithThisProcess } from './ends-with-this-process.js';
import { TEST_PAYLOAD_KEYS } from './engine-keys.js';

export const TEST_NAMESPACE = 'gate';

/** A Temporal development server of a test's own, with its files in a temporary folder. */
export interface TestEngine {
  readonly address: string;
  readonly namespace: string;
  readonly folder: string;
  /** What every client of this engine's workflows speaks with. */
  readonly codecs: readonly [PayloadCodec];
  /** A client over a fresh connection; `spoken` are the payload codecs it has instead of those. Closed with the engine. */
  client(spoken?: PayloadCodec[]): Promise<Client>;
  /** Ends the server as a shutdown would; `restart` starts it again over the same files. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Keeps a copy of the server's database as it is; only while it is stopped. */
  keepCopy(): void;
  /** Puts the kept copy back in place; only while it is stopped. */
  putBack(): void;
  /** Stops everything and removes the files. */
  end(): Promise<void>;
}

/** The first run on a machine builds the server; give `beforeAll` this time. */
export const ENGINE_START_LIMIT_MS = 15 * 60_000;

export async function startTestEngine(): Promise<TestEngine> {
  const binary = await findTemporal({ onProgress: (line) => process.stderr.write(`${line}\n`) });
  const folder = mkdtempSync(join(tmpdir(), 'gate-engine-'));
  const port = await freePort();
  const dbFile = join(folder, 'temporal.db');
  const start = async () => {
    const started = await startTemporal({
      binary,
      stateDir: folder,
      port,
      uiPort: null,
      namespace: TEST_NAMESPACE,
      dbFile,
    });
    endsWithThisProcess(started.pid, started.exited);
    return started;
  };
  let server: TemporalServer = await start();
  const connections: Connection[] = [];
  const files = ['', '-wal', '-shm'].map((part) => dbFile + part);
  const copyOf = (file: string) => `${file}.kept`;
  const copyIfThere = (from: string, to: string) => {
    rmSync(to, { force: true });
    try {
      copyFileSync(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  };
  const closeClients = async () => {
    await Promise.allSettled(connections.splice(0).map((connection) => connection.close()));
  };
  const codecs = [createPayloadCodec(TEST_PAYLOAD_KEYS)] as const;
  return {
    codecs,
    address: server.address,
    namespace: TEST_NAMESPACE,
    folder,
    async client(spoken = [...codecs]) {
      const connection = await Connection.connect({ address: server.address, connectTimeout: '10s' });
      connections.push(connection);
      return new Client({ connection, namespace: TEST_NAMESPACE, dataConverter: { payloadCodecs: spoken } });
    },
    async stop() {
      await closeClients();
      await server.stop();
    },
    async restart() {
      server = await start();
    },
    keepCopy: () => files.forEach((file) => copyIfThere(file, copyOf(file))),
    putBack: () => files.forEach((file) => copyIfThere(copyOf(file), file)),
    async end() {
      await closeClients();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Bundles workflow code for every worker of a test and returns the file it is in, below `folder`. `workflows` is a path below the project's
 * root; the default is the product's own. Making it takes seconds, so it is kept under a digest of its sources for the next test file.
 */
export async function bundleToFile(folder: string, workflows = 'workflows/index.ts'): Promise<string> {
  const name = workflows.replaceAll(/\W/g, '-');
  const file = join(folder, `${name}.js`);
  const kept = join(KEPT_BUNDLES, `${name}-${sourcesDigest(workflows)}.js`);
  try {
    copyFileSync(kept, file);
    return file;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(PROJECT_ROOT, workflows),
    failureConverterPath: join(PROJECT_ROOT, 'workers/failure-converter.ts'),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} },
  });
  writeFileSync(file, code);
  mkdirSync(KEPT_BUNDLES, { recursive: true });
  copyFileSync(file, `${kept}.${process.pid}`);
  renameSync(`${kept}.${process.pid}`, kept);
  for (const old of readdirSync(KEPT_BUNDLES).map((one) => join(KEPT_BUNDLES, one)))
    if (old.startsWith(join(KEPT_BUNDLES, `${name}-`)) && old.endsWith('.js') && old !== kept)
      rmSync(old, { force: true });
  return file;
}

const KEPT_BUNDLES = join(PROJECT_ROOT, '.cache', 'test-workflows');

/** All that a bundle may be made of; more than it is made of only makes it anew too often. */
function sourcesDigest(workflows: string): string {
  const digest = createHash('sha256').update(`${PROJECT_ROOT}\0${process.version}\0`);
  const add = (name: string) => digest.update(`\0${name}\0`).update(readFileSync(join(PROJECT_ROOT, name)));
  ['package-lock.json', workflows].forEach(add);
  for (const folder of ['workflows', 'domain', 'contracts', 'activities', 'workers'])
    for (const name of readdirSync(join(PROJECT_ROOT, folder), { recursive: true, encoding: 'utf8' }).sort())
      if (/(?<!\.test)\.(?:ts|json)$/.test(name)) add(join(folder, name));
  return digest.digest('hex');
}
