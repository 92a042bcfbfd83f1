import { type ChildProcess, execFile, fork } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { bundleToFile, startTestEngine, type TestEngine } from './engine.js';
import {
  type CallState,
  type HostCommands,
  type HostScript,
  type KillHostConfig,
  type KillPoint,
  QUESTIONS,
  REACHED,
} from './kill-host.js';
import { startTestTools, type TestTools } from './kill-host-tools.js';
import { timePasses } from './waiting.js';

export type HostKind = 'temporal' | 'lite';

/** A host process and the ways to talk to it. A command rejects when the process ends before it answers. */
export type RunningHost = HostCommands & {
  readonly pid: number;
  /** Resolves when it has ended, with the signal or exit code. */
  readonly ended: Promise<NodeJS.Signals | number | null>;
  /** Kill -9. */
  kill(): Promise<void>;
  /** Its test is done with it. The process goes on, to be the next one that is given a point to die at. */
  release(): void;
};

export interface HostOptions {
  readonly kills?: readonly KillPoint[];
  readonly script?: Partial<HostScript>;
  readonly worker?: boolean;
  readonly bundleFile?: string;
  readonly reconcileEverySecs?: number;
}

/** One Gate of a test: its stores in a folder, its task queue; its process may be killed and started as often as the test wants. */
export interface TestGate {
  readonly folder: string;
  readonly taskQueue: string;
  start(options?: HostOptions): Promise<RunningHost>;
  /** The keys of the calls that were at their point when a process died. */
  reached(): readonly string[];
  /** How often Brain was asked, by all hosts of this gate. */
  questions(): number;
  /** Ends what runs and removes the files. */
  end(): Promise<void>;
}

/** What the cases of one test file share: tools, and for the Temporal host an engine and the workflow bundle. */
export interface FaultBench {
  readonly kind: HostKind;
  readonly tools: TestTools;
  /** The Temporal host's; asking for it on the in-process host is a mistake of the test. */
  readonly engine: TestEngine;
  gate(settings?: Partial<GateSettings>): TestGate;
  end(): Promise<void>;
}

export interface GateSettings {
  readonly ttlSecs: number;
  readonly escalateShares: readonly number[];
  readonly callDeadlineMs: number;
  readonly upstreamTimeoutMs: number;
  /** As where models judge; null where rules do. */
  readonly inspectionTimeoutMs: number | null;
  readonly decisionLifeMs: number;
  readonly reconcileGraceMs: number;
}

const DEFAULTS: GateSettings = {
  ttlSecs: 600,
  escalateShares: [],
  // Long: a busy machine must not turn a kill-point case into a case of lateness. Lateness has tests of its own.
  callDeadlineMs: 60_000,
  upstreamTimeoutMs: 10_000,
  inspectionTimeoutMs: null,
  decisionLifeMs: 60_000,
  reconcileGraceMs: 60_000,
};

/** `host` is the program that is killed: the host alone, or `lite-process`, the whole of lite behind its listener. */
export async function openBench(kind: HostKind, host: HostKind | 'lite-process' = kind): Promise<FaultBench> {
  const program = compiled(`kill-host-${host}`);
  if (!existsSync(program)) throw new Error(`${program} is missing: build first (npm run build)`);
  const tools = await startTestTools();
  const engine = kind === 'temporal' ? await startTestEngine() : null;
  const bundleFile = engine ? await bundleToFile(engine.folder) : '';
  const programs = mkdtempSync(join(tmpdir(), 'gate-kill-host-'));
  const processes = processesOf(await bundled(program, programs));
  const gates: TestGate[] = [];
  return {
    kind,
    tools,
    get engine(): TestEngine {
      if (!engine) throw new Error('the in-process host has no engine');
      return engine;
    },
    gate(settings = {}) {
      const gate = openGate({ processes, tools, engine, bundleFile, settings: { ...DEFAULTS, ...settings } });
      gates.push(gate);
      return gate;
    },
    async end() {
      for (const gate of gates) await gate.end();
      processes.end();
      rmSync(programs, { recursive: true, force: true });
      await engine?.end();
      await tools.close();
    },
  };
}

interface GateParts {
  readonly processes: HostProcesses;
  readonly tools: TestTools;
  readonly engine: TestEngine | null;
  readonly bundleFile: string;
  readonly settings: GateSettings;
}

function openGate({ processes, tools, engine, bundleFile, settings }: GateParts): TestGate {
  const folder = mkdtempSync(join(tmpdir(), 'gate-kill-'));
  const taskQueue = `test-${randomUUID()}`;
  const decisionKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const running = new Set<RunningHost>();
  let starts = 0;
  return {
    folder,
    taskQueue,
    async start({ kills = [], script, worker = true, reconcileEverySecs, ...options } = {}) {
      const config: KillHostConfig = {
        folder,
        kills,
        script: { tier: 'green', tiers: {}, ledger: 'up', policy: 'up', inspectMs: 0, ...script },
        toolsUrl: tools.url,
        ...settings,
        decisionKey,
        engine: engine && {
          address: engine.address,
          namespace: engine.namespace,
          taskQueue,
          bundleFile: options.bundleFile ?? bundleFile,
          worker,
          reconcileEverySecs: reconcileEverySecs ?? null,
        },
      };
      const configFile = join(folder, `host-${(starts += 1)}.json`);
      writeFileSync(configFile, JSON.stringify(config), { mode: 0o600 });
      // Who comes back after a kill is a process that never was another; who is going to be killed may have been one.
      const host = await processes.start(configFile, {
        anew: kills.length === 0,
        released: () => running.delete(host),
      });
      running.add(host);
      void host.ended.then(() => running.delete(host));
      return host;
    },
    reached() {
      const file = join(folder, REACHED);
      return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    },
    questions() {
      const file = join(folder, QUESTIONS);
      return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0;
    },
    async end() {
      for (const host of running) await host.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const compiled = (name: string): string => join(PROJECT_ROOT, 'dist', 'test', 'support', `${name}.js`);

/** The program in one file, made anew for each test file: a process loads it in a third of the time. */
async function bundled(program: string, folder: string): Promise<string> {
  const outfile = join(folder, 'host.cjs');
  await promisify(execFile)(process.execPath, [compiled('bundle-program'), program, outfile]);
  return outfile;
}

interface HostProcesses {
  start(configFile: string, how: { anew: boolean; released: () => void }): Promise<RunningHost>;
  end(): void;
}

/** Processes of one program. One that was released serves again, where that is as good as a new one. */
function processesOf(program: string): HostProcesses {
  const spare: HostProcess[] = [];
  return {
    async start(configFile, { anew, released }) {
      const host = (anew ? undefined : spare.pop()) ?? (await forkHost(program));
      const running = await host.open(configFile);
      return {
        ...running,
        release() {
          released();
          spare.push(host);
        },
      };
    },
    end() {
      for (const { child } of spare) child.kill('SIGKILL');
    },
  };
}

interface HostProcess {
  readonly child: ChildProcess;
  open(configFile: string): Promise<Omit<RunningHost, 'release'>>;
}

type Said = { loaded: true } | { ready: true } | { id: number; result: unknown } | { id: number; fault: string };

async function forkHost(program: string): Promise<HostProcess> {
  const child: ChildProcess = fork(compiled('start-bundled'), [program], {
    execArgv: ['--no-warnings'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4_000);
  });
  const asked = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let said: () => void = () => undefined;
  const ended = new Promise<NodeJS.Signals | number | null>((resolve) => {
    child.once('close', (code, signal) => {
      for (const { reject } of asked.values()) reject(new Error(`the host ended (${signal ?? code}) ${complaint}`));
      asked.clear();
      resolve(signal ?? code);
    });
  });
  child.on('message', (message: Said) => {
    if (!('id' in message)) return said();
    const waiting = asked.get(message.id);
    asked.delete(message.id);
    if ('fault' in message) waiting?.reject(new Error(message.fault));
    else waiting?.resolve(message.result);
  });
  /** That it is loaded, then that it is ready. */
  const next = async (): Promise<void> => {
    const heard = new Promise<void>((resolve) => {
      said = resolve;
    });
    const how = await Promise.race([heard, ended.then((end) => new Error(`the host ended (${end}): ${complaint}`))]);
    if (how instanceof Error) throw how;
  };
  await next();

  let asks = 0;
  const ask = (command: string, argument?: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = (asks += 1);
      asked.set(id, { resolve, reject });
      child.send({ id, command, argument: argument ?? null }, (error) => {
        if (error && asked.delete(id)) reject(error);
      });
    });
  const command = <Name extends keyof HostCommands>(name: Name): HostCommands[Name] =>
    ((argument?: unknown) => ask(name, argument)) as HostCommands[Name];
  return {
    child,
    async open(configFile) {
      const ready = next();
      child.send({ open: configFile });
      await ready;
      return {
        pid: child.pid ?? 0,
        ended,
        async kill() {
          child.kill('SIGKILL');
          await ended;
        },
        call: command('call'),
        ask: command('ask'),
        startAnew: command('startAnew'),
        decide: command('decide'),
        sign: command('sign'),
        state: command('state'),
        script: command('script'),
        reconcile: command('reconcile'),
        verify: command('verify'),
        rowsDue: command('rowsDue'),
      };
    },
  };
}

/** Looks until what comes back satisfies the condition; throws with the last look when it does not in time. */
export async function until<T>(
  what: string,
  look: () => Promise<T>,
  condition: (seen: T) => boolean,
  limitMs = 200_000,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, 100)) {
    const seen = await look();
    if (condition(seen)) return seen;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${limitMs} ms; last seen ${JSON.stringify(seen)}`);
    await timePasses(pauseMs, 'until the next look');
  }
}

const FINAL = new Set(['denied', 'completed', 'uncertain', 'not_run', 'expired', 'abandoned', 'aborted', 'tampered']);

/** The call has ended, its rows are in the ledger and its review row is closed. */
export const settled = (host: RunningHost, key: string, limitMs?: number): Promise<CallState> =>
  until(
    `call ${key} settles`,
    () => host.state({ key }),
    ({ state, due, review, asked }) =>
      state !== null && (FINAL.has(state) || (asked && state === 'approved')) && !due && review?.status !== 'pending',
    limitMs,
  );

/** Runs the jobs with at most `width` of them under way; each result is waited for where it is wanted. */
export function pooled<Key, Result>(
  keys: readonly Key[],
  width: number,
  job: (key: Key) => Promise<Result>,
): Map<Key, Promise<Result>> {
  const queue = [...keys];
  const starts = new Map<Key, () => void>();
  const results = new Map(
    keys.map((key) => {
      const begun = new Promise<void>((start) => starts.set(key, start));
      const result = begun.then(() => job(key));
      result.catch(() => undefined);
      return [key, result];
    }),
  );
  const lane = async (): Promise<void> => {
    for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
      starts.get(key)?.();
      await results.get(key)?.catch(() => undefined);
    }
  };
  for (let index = 0; index < width; index += 1) void lane();
  return results;
}
