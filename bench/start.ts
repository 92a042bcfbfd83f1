import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findTemporal } from '../stack/programs/find-program.js';
import { freePort } from '../stack/programs/free-port.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { startTemporal } from '../stack/programs/temporal-server.js';
import { FREE_PORTS } from '../stack/process-settings.js';
import type { DevelopmentFile } from '../stack/development-file.js';
import { createAgentClient } from '../test/support/agent.js';
import { cpuMsOf, describeMachine, type Machine } from './machine.js';
import { median, rounded } from './numbers.js';

export interface StartRow {
  readonly side: string;
  readonly starts: number;
  /** Medians, milliseconds; of a start again, over a state folder that is there. */
  readonly ready_ms: number;
  readonly node_cpu_to_ready_ms: number;
  readonly first_call_ms: number;
  readonly later_call_ms: number;
  readonly stop_ms: number;
  /** Median of the rounds' ratios over the engine alone: both halves of a round meet the same machine. */
  readonly ready_over_engine: number;
}

export interface StartBenchOptions {
  readonly rounds: number;
  /** Another built copy of Gate, measured in the same run. */
  readonly other?: string;
  readonly say: (line: string) => void;
}

const LATER_CALLS = 5;
const START_LIMIT_MS = 120_000;

interface Started {
  readonly readyMs: number;
  readonly cpuMs: number;
  readonly firstMs: number;
  readonly laterMs: number;
  readonly stopMs: number;
}

/** Starts of `gate start` over a folder that is there, in turns with starts of the engine alone, which no start can be faster than. */
export async function runStartBench({ rounds, other, say }: StartBenchOptions): Promise<{
  readonly machine: Machine;
  readonly rows: readonly StartRow[];
}> {
  const folder = mkdtempSync(join(process.env.GATE_BENCH_DIR ?? tmpdir(), 'gate-bench-start-'));
  const sides = [
    { name: 'gate', root: PROJECT_ROOT },
    ...(other === undefined ? [] : [{ name: 'other', root: other }]),
  ];
  const machine = describeMachine(folder);
  const binary = await findTemporal({ onProgress: say });
  const engineMs: number[] = [];
  const started = new Map<string, Started[]>(sides.map(({ name }) => [name, []]));
  try {
    // Once each, to have folders, certificates and a bundle: not counted.
    for (const { name, root } of sides) await startGate(root, join(folder, name), binary);
    await startEngine(binary, folder);
    for (let round = 1; round <= rounds; round += 1) {
      engineMs.push(await startEngine(binary, folder));
      for (const { name, root } of sides) started.get(name)?.push(await startGate(root, join(folder, name), binary));
      say(`round ${round} of ${rounds}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const rows = sides.map(({ name }): StartRow => {
    const all = started.get(name) ?? [];
    const middle = (of: (start: Started) => number) => rounded(median(all.map(of)));
    return {
      side: name,
      starts: all.length,
      ready_ms: middle(({ readyMs }) => readyMs),
      node_cpu_to_ready_ms: middle(({ cpuMs }) => cpuMs),
      first_call_ms: middle(({ firstMs }) => firstMs),
      later_call_ms: middle(({ laterMs }) => laterMs),
      stop_ms: middle(({ stopMs }) => stopMs),
      ready_over_engine: rounded(median(all.map(({ readyMs }, round) => readyMs / (engineMs[round] ?? Number.NaN)))),
    };
  });
  return {
    machine,
    rows: [
      {
        side: 'engine alone',
        starts: engineMs.length,
        ready_ms: rounded(median(engineMs)),
        node_cpu_to_ready_ms: 0,
        first_call_ms: 0,
        later_call_ms: 0,
        stop_ms: 0,
        ready_over_engine: 1,
      },
      ...rows,
    ],
  };
}

async function startEngine(binary: string, folder: string): Promise<number> {
  const begun = performance.now();
  const server = await startTemporal({
    binary,
    stateDir: join(folder, 'engine'),
    port: await freePort(),
    uiPort: null,
    namespace: 'gate',
  });
  const tookMs = performance.now() - begun;
  await server.stop();
  return tookMs;
}

async function startGate(root: string, stateDir: string, binary: string): Promise<Started> {
  const file = join(stateDir, 'dev.json');
  rmSync(file, { force: true });
  const begun = performance.now();
  const child = spawn(process.execPath, [join(root, 'bin', 'gate.mjs'), 'start', '--quiet'], {
    cwd: root,
    env: { ...process.env, ...FREE_PORTS, GATE_TEMPORAL_BIN: binary, GATE_STATE_DIR: stateDir },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  try {
    while (!existsSync(file)) {
      if (child.exitCode !== null || performance.now() - begun > START_LIMIT_MS)
        throw new Error(`gate start in ${root} did not become ready`);
      await sleep(5);
    }
    const readyMs = performance.now() - begun;
    const cpuMs = cpuMsOf(child.pid ?? 0);
    const { proxy } = JSON.parse(readFileSync(file, 'utf8')) as DevelopmentFile;
    const read = (path: string) => readFileSync(path, 'utf8');
    const agent = createAgentClient(proxy.url, { ca: read(proxy.ca), cert: read(proxy.cert), key: read(proxy.key) });
    const call = async (): Promise<number> => {
      const from = performance.now();
      const { status, text } = await agent.call('list_files');
      if (status !== 200) throw new Error(`list_files: ${status} ${text}`);
      return performance.now() - from;
    };
    const firstMs = await call();
    const later: number[] = [];
    for (let number = 0; number < LATER_CALLS; number += 1) later.push(await call());
    await agent.close();
    const stopping = performance.now();
    child.kill('SIGTERM');
    await gone;
    return { readyMs, cpuMs, firstMs, laterMs: median(later), stopMs: performance.now() - stopping };
  } finally {
    if (child.exitCode === null) child.kill('SIGTERM');
    await gone;
  }
}
