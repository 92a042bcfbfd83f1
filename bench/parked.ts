import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Pressed } from './load.js';
import type { CallKind, Target } from './load-process.js';
import { cpuMsOf, fileMib, residentMibOf } from './machine.js';
import type { GateSide, Stage } from './stage.js';

/** Who parks calls for the benchmarks of waiting, and how many at once. */
export const CALLERS = 16;

/** Longer than any run, in seconds. */
export const LONG_TTL_SECS = 6 * 3_600;

/** Gate with reviews that wait `ttlSecs` at every tier. */
export const startWaitingGate = (stage: Stage, ttlSecs: number, env: NodeJS.ProcessEnv = {}): Promise<GateSide> =>
  stage.startGate('gate', {
    env: {
      GATE_REVIEW_TTL_AUTO_SECS: String(ttlSecs),
      GATE_REVIEW_TTL_STANDARD_SECS: String(ttlSecs),
      GATE_REVIEW_TTL_STRICT_SECS: String(ttlSecs),
      // Reconciliation would close late calls itself; here the workflows are to do it.
      GATE_RECONCILE_GRACE_SECS: '86400',
      ...env,
    },
  });

/** A call that waits for a person. */
export const parkedCall = (gate: GateSide): CallKind => ({
  target: gate.target,
  contract: 'gate.server-execution/v1',
  tool: 'wire_transfer',
  arguments: { from: 'operating', to: 'vendor', amount: 25 },
});

/** A call that policy denies at once. */
export const deniedCall = (gate: GateSide): CallKind => ({
  target: gate.target,
  contract: 'gate.server-execution/v1',
  tool: 'delete_file',
  arguments: { path: 'notes.txt' },
});

export const pressCalls = (
  stage: Stage,
  kind: CallKind,
  concurrency: number,
  forMs: number,
  maxCalls = 100_000,
): Promise<Pressed> => stage.load.ask.press({ kind, concurrency, forMs, maxCalls });

/** The operator at the console. */
const operatorOf = ({ development, target }: GateSide): { readonly target: Target; readonly bearer: string } => ({
  target: { url: development.hil.url, ca: target.ca, ...development.console_workload },
  bearer: development.operator_token,
});

/** Denials of waiting calls by one operator. */
export const decideCalls = (stage: Stage, gate: GateSide, forMs: number, maxCalls: number): Promise<Pressed> =>
  stage.load.ask.decide({ ...operatorOf(gate), concurrency: 1, forMs, maxCalls });

/** One of HIL's lists, read by one operator again and again. */
export const readList = (stage: Stage, gate: GateSide, path: string, forMs: number): Promise<Pressed> =>
  stage.load.ask.read({ ...operatorOf(gate), path, concurrency: 1, forMs, maxCalls: 1_000 });

/** What the stack weighs now: memory and files in MiB, CPU in milliseconds since each process began. */
export const weigh = async (stage: Stage, gate: GateSide) => ({
  nodeCpuMs: await gate.child.ask.cpuMs(),
  engineCpuMs: cpuMsOf(stage.engine.pid),
  engineMib: residentMibOf(stage.engine.pid),
  nodeMib: residentMibOf(gate.child.pid),
  fileMib: fileMib(stage.engineFile),
  storesMib: ['calls.db', 'hil.db', 'ledger.db']
    .map((file) => fileMib(join(gate.stateDir, 'data', file)))
    .reduce((total, mib) => total + mib, 0),
});

/** One number of one of Gate's files, read beside the process that writes it. */
export function numberIn(gate: GateSide, file: string, query: string, ...values: number[]): number {
  const store = new DatabaseSync(join(gate.stateDir, 'data', file), { readOnly: true });
  try {
    const row = store.prepare(query).get(...values) as { n: number | null } | undefined;
    return row?.n ?? Number.NaN;
  } finally {
    store.close();
  }
}

/** Calls that wait although their deadline has passed by `atMs`, from the records themselves. */
export const stillParked = (gate: GateSide, atMs: number): number =>
  numberIn(
    gate,
    'calls.db',
    "select count(*) as n from call_records where state = 'parked' and deadline_ms <= ?",
    atMs + 1_000,
  );
