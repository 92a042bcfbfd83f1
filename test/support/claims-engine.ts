import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { freePort } from '../../stack/programs/free-port.js';
import { endsWithThisProcess } from './ends-with-this-process.js';
import { goProgram } from './go-program.js';
import { eventually } from './waiting.js';

/** The first build of it takes five minutes on two cores that do nothing else. */
export const ENGINE_BUILD_LIMIT_MS = 40 * 60_000;

const at = (...names: string[]): string => join(PROJECT_ROOT, 'deploy', 'temporal', ...names);

export interface ClaimsEngine {
  /** `host:port` of its front end. */
  readonly address: string;
  stop(): Promise<void>;
}

interface EngineConfig {
  persistence: { datastores: Record<string, unknown> };
  services: Record<string, { rpc: { grpcPort: number; membershipPort: number; bindOnIP: string } }>;
  clusterMetadata: { clusterInformation: { active: { rpcAddress: string } } };
  publicClient: { hostPort: string };
  dynamicConfigClient: { filepath: string };
}

/**
 * The engine of docker-compose.yml with the configuration of deploy/temporal, but for ports, paths, and its state, which is in files of SQLite here.
 * `files` is the folder of its container: certificates of the engine's CA.
 */
export async function startClaimsEngine({
  folder,
  files,
  port,
}: {
  readonly folder: string;
  readonly files: string;
  readonly port: number;
}): Promise<ClaimsEngine> {
  const program = await goProgram('gate-engine', at('server'), ENGINE_BUILD_LIMIT_MS);
  mkdirSync(folder, { recursive: true });
  const config = parse(readFileSync(at('config.yaml'), 'utf8').replaceAll('/run/gate', files)) as EngineConfig;
  for (const name of Object.keys(config.persistence.datastores))
    config.persistence.datastores[name] = {
      sql: {
        pluginName: 'sqlite',
        databaseName: join(folder, `${name}.db`),
        connectAddr: 'localhost',
        connectProtocol: 'tcp',
        connectAttributes: { mode: 'rwc', setup: true, journal_mode: 'wal', synchronous: 1 },
        maxConns: 1,
        maxIdleConns: 1,
        maxConnLifetime: '1h',
      },
    };
  for (const [name, { rpc }] of Object.entries(config.services)) {
    rpc.grpcPort = name === 'frontend' ? port : await freePort();
    rpc.membershipPort = await freePort();
    rpc.bindOnIP = '127.0.0.1';
  }
  const address = `127.0.0.1:${port}`;
  config.clusterMetadata.clusterInformation.active.rpcAddress = address;
  config.publicClient.hostPort = address;
  config.dynamicConfigClient.filepath = at('dynamic-config.yaml');
  const file = join(folder, 'config.yaml');
  writeFileSync(file, stringify(config));
  const child = spawn(program, [], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], TEMPORAL_SERVER_CONFIG_FILE_PATH: file },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-20_000)));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  if (child.pid !== undefined) endsWithThisProcess(child.pid, ended);
  const engine = {
    address,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
  try {
    await eventually('the engine listens', async () => {
      if (child.exitCode !== null) throw new Error(`the engine ended: ${said}`);
      return new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket.destroy() !== undefined));
        socket.once('error', () => resolve(false));
      });
    });
  } catch (error) {
    await engine.stop();
    throw error;
  }
  return engine;
}
