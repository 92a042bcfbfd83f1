import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { type Pressed, together } from './load.js';
import type { CallKind, Target } from './load-process.js';
import { cpuMsOf, fileMib, residentMibOf } from './machine.js';
import { rounded } from './numbers.js';
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
const stillParked = (gate: GateSide, atMs: number): number =>
  numberIn(
    gate,
    'calls.db',
    "select count(*) as n from call_records where state = 'parked' and deadline_ms <= ?",
    atMs + 1_000,
  );

/** `first_deny_ms`: how long the first fresh call took after the start. */
export interface Storm {
  readonly due_at_once: number;
  readonly seconds: number;
  readonly per_second: number;
  readonly first_deny_ms: number;
}

const STORM_LIMIT_MS = 15 * 60_000;

/**
 * Stops the stack, lets every deadline up to `lastDueMs` pass and starts it again, as after a night: what fresh calls feel at concurrency 1 from
 * the first moment until the last of them has expired.
 */
export async function allDueAtOnce(
  stage: Stage,
  waiting: GateSide,
  { lastDueMs, start, say }: { lastDueMs: number; start: () => Promise<GateSide>; say: (line: string) => void },
): Promise<{ readonly gate: GateSide; readonly storm: Storm; readonly denies: Pressed }> {
  await waiting.child.stop();
  const due = stillParked(waiting, lastDueMs);
  say(`${due} wait for their deadline, ${Math.ceil((lastDueMs - Date.now()) / 1000)} s`);
  await sleep(Math.max(0, lastDueMs - Date.now()) + 1_000);
  const gate = await start();
  const begun = performance.now();
  const denies: Pressed[] = [];
  let left = due;
  while (left > 0 && performance.now() - begun < STORM_LIMIT_MS) {
    denies.push(await pressCalls(stage, deniedCall(gate), 1, 1_000));
    left = stillParked(gate, lastDueMs);
  }
  const tookMs = performance.now() - begun;
  return {
    gate,
    denies: together(denies),
    storm: {
      due_at_once: due,
      seconds: rounded(tookMs / 1000),
      per_second: rounded((due - left) / (tookMs / 1000)),
      first_deny_ms: rounded(denies[0]?.latencies[0] ?? Number.NaN),
    },
  };
}
