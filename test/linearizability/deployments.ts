import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VerifyResult } from '../../contracts/ledger.js';
import type { DevelopmentFile } from '../../stack/development-file.js';
import { type AgentClient, createAgentClient } from '../support/agent.js';
import type { RunningProcess, SeparateStack } from '../support/separate-stack.js';
import { startStack, type TestStack } from '../support/stack.js';
import { timePasses } from '../support/waiting.js';

/** Gate as a round has it, with what it loses in the middle. */
export interface Deployment {
  /** Starts Gate, or starts it again, with these settings. */
  up(env: Readonly<Record<string, string>>): Promise<Up>;
  /** Whether people reach it again at the same addresses after what it loses. */
  readonly outlives: boolean;
}

export interface Up {
  readonly development: DevelopmentFile;
  agent(): Promise<AgentClient>;
  output(): string;
  /** kill -9; what is killed alone comes back by itself. */
  lose(): Promise<void>;
  verify(): Promise<VerifyResult>;
  down(): Promise<void>;
}

/** Of a Gate whose services share a process: that process, the engine, or both. */
export type Killed = 'host' | 'engine';
export const KILLS: readonly (readonly Killed[])[] = [['host', 'engine'], ['host'], ['engine']];

export interface WholeOptions {
  /** A folder that outlives the kills. */
  readonly stateDir: string;
  /** The demonstration tools, which outlive them too. */
  readonly toolsUrl: string;
  readonly kill: readonly Killed[];
}

/** Every service in one process. */
export const wholeGate = ({ stateDir, toolsUrl, kill }: WholeOptions): Deployment => ({
  outlives: !kill.includes('host'),
  async up(env) {
    const gate = await startStack({
      stateDir,
      env: { GATE_UPSTREAM_URL: toolsUrl, GATE_UPSTREAM_NAME: 'demo', ...env },
    });
    const { development } = gate;
    return {
      development,
      agent: () => gate.agent(),
      output: () => gate.output(),
      lose: () => killed(kill, gate),
      verify: () => gate.verify(),
      down: () => gate.stop(),
    };
  },
});

async function killed(what: readonly Killed[], gate: TestStack): Promise<void> {
  const file = readFileSync(join(gate.stateDir, 'run', 'temporal.pid'), 'utf8');
  const engine = file.startsWith('{') ? (JSON.parse(file) as { pid: number }).pid : Number(file);
  const ended = new Promise((resolve) => gate.process.once('exit', resolve));
  if (what.includes('engine')) process.kill(engine, 'SIGKILL');
  if (!what.includes('host')) return;
  gate.process.kill('SIGKILL');
  await ended;
}

/** Of a Gate whose services are processes apart: each of these alone. */
export const PROCESSES = ['hil', 'proxy', 'worker', 'console', 'ledger'] as const;
export type Process = (typeof PROCESSES)[number];
/** Those that read what a round sets. */
const READERS: readonly Process[] = ['hil', 'worker', 'proxy', 'console'];
const AWAY_MS = 1_500;

export interface SeparateOptions {
  readonly stack: SeparateStack;
  /** One after the other, each alone. */
  readonly kill: readonly Process[];
  readonly random: { next(): number };
}

/** Every service in a process of its own. */
export const separateGate = ({ stack, kill, random }: SeparateOptions): Deployment => ({
  outlives: true,
  async up(env) {
    // Browsers find the console under the name that it has here.
    const settings = { ...env, GATE_CONSOLE_URL: `https://localhost:${stack.port('console:8085')}` };
    for (const name of READERS) await stack.killed(name);
    for (const name of READERS) stack.running.set(name, stack.start(name, settings));
    await Promise.all(READERS.map((name) => stack.ready(name)));
    const agent = createAgentClient(`https://localhost:${stack.port('proxy:8443')}`, {
      ca: stack.file('operator', 'ca.crt'),
      cert: stack.file('operator', 'support-bot.crt'),
      key: stack.file('operator', 'support-bot.key'),
    });
    return {
      development: stack.development,
      agent: () => Promise.resolve(agent),
      output: () => READERS.map((name) => (stack.running.get(name) as RunningProcess).output()).join('\n'),
      async lose() {
        for (const name of kill) {
          await stack.killed(name);
          await timePasses(random.next() * AWAY_MS, 'a process is away for some time');
          await stack.back(name, settings);
        }
      },
      verify: () => stack.operator<VerifyResult>('verify'),
      down: () => agent.close(),
    };
  },
});
