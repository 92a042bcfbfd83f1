import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTemporal } from '../stack/programs/find-program.js';
import { freePort } from '../stack/programs/free-port.js';
import { startTemporal, type TemporalServer } from '../stack/programs/temporal-server.js';
import { FREE_PORTS } from '../stack/process-settings.js';
import type { DevelopmentFile } from '../stack/development-file.js';
import type { BareQuestions } from './bare-process.js';
import { type Child, profiled, startChildProcess } from './child.js';
import type { GateQuestions } from './gate-process.js';
import type { LoadQuestions, Target } from './load-process.js';
import type { UpstreamQuestions } from './upstream-process.js';

export interface GateSide {
  readonly child: Child<GateQuestions>;
  readonly development: DevelopmentFile;
  readonly target: Target;
  readonly stateDir: string;
}

/** Everything a benchmark needs, each part in a process of its own: one engine with its file, tools, load, and sides as they are asked for. */
export interface Stage {
  readonly folder: string;
  readonly engine: TemporalServer;
  readonly engineFile: string;
  readonly load: Child<LoadQuestions>;
  /** The tools behind every side. */
  readonly upstreamUrl: string;
  readonly upstreamPid: number;
  startBare(): Promise<Child<BareQuestions>>;
  /** `directory`: the root of another built copy of Gate, to compare two versions in one run. */
  startGate(name: string, options?: { env?: NodeJS.ProcessEnv; directory?: string }): Promise<GateSide>;
  close(): Promise<void>;
}

const NAMESPACE = 'gate';

/** `GATE_BENCH_DIR` names the file system that is measured; without it the system's folder for temporary files. */
export async function openStage(say: (line: string) => void): Promise<Stage> {
  const folder = mkdtempSync(join(process.env.GATE_BENCH_DIR ?? tmpdir(), 'gate-bench-'));
  const undo: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step().catch((error: unknown) => say(String(error)));
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const engine = await startTemporal({
      binary: await findTemporal({ onProgress: say }),
      stateDir: folder,
      port: await freePort(),
      uiPort: null,
      namespace: NAMESPACE,
      onProgress: say,
    });
    undo.push(() => engine.stop());
    const upstream = startChildProcess<UpstreamQuestions>('upstream-process.js');
    undo.push(() => upstream.stop());
    const upstreamUrl = await upstream.ask.start();
    const load = startChildProcess<LoadQuestions>('load-process.js');
    undo.push(() => load.stop());
    return {
      folder,
      engine,
      engineFile: join(folder, 'data', 'temporal.db'),
      load,
      upstreamUrl,
      upstreamPid: upstream.pid,
      close,
      async startBare() {
        const bare = startChildProcess<BareQuestions>('bare-process.js');
        undo.push(() => bare.stop());
        await bare.ask.start({ address: engine.address, namespace: NAMESPACE });
        return bare;
      },
      async startGate(name, { env = {}, directory } = {}) {
        const stateDir = join(folder, name);
        mkdirSync(stateDir, { recursive: true });
        const child = startChildProcess<GateQuestions>('gate-process.js', {
          env: {
            ...FREE_PORTS,
            GATE_STATE_DIR: stateDir,
            GATE_TEMPORAL_ADDRESS: engine.address,
            GATE_TASK_QUEUE: `gate-tool-call-${name}`,
            GATE_UPSTREAM_URL: upstreamUrl,
            GATE_VELOCITY_LIMIT: '0',
            GATE_REVIEW_MAX_PARKED_CALLS: '1000000',
            GATE_REVIEW_MAX_PARKED_BYTES: '10000000000',
            GATE_LOG_LEVEL: 'info',
            GATE_PROXY_MAX_IN_FLIGHT: '10000',
            ...env,
          },
          execArgv: profiled(),
          ...(directory !== undefined && { directory }),
        });
        undo.push(() => child.stop());
        const development = await child.ask.start();
        const { url, ca, cert, key } = development.proxy;
        return { child, development, target: { url, ca, cert, key }, stateDir };
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
