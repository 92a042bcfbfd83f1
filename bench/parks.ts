import { type Pressed, unanswered } from './load.js';
import { describeMachine, type Machine } from './machine.js';
import { quantile, rounded } from './numbers.js';
import {
  allDueAtOnce,
  CALLERS,
  decideCalls,
  deniedCall,
  LONG_TTL_SECS,
  parkedCall,
  pressCalls,
  type Storm,
  startWaitingGate,
  weigh,
} from './parked.js';
import { writeReport } from './report.js';
import { openStage, type Stage } from './stage.js';

export interface ParksBenchOptions {
  readonly parks: number;
  readonly modes: readonly ParkMode[];
  readonly say: (line: string) => void;
}

/** `GATE_PARK`: in a run of its own, or in the run that judged it. */
export type ParkMode = 'continue' | 'stay';

const WARM_PARKS = 200;
const LIMIT_MS = 15 * 60_000;

interface Parking {
  readonly mode: ParkMode;
  readonly parks: number;
  readonly per_second: number;
  readonly node_cpu_per_park: number;
  readonly engine_cpu_per_park: number;
  readonly engine_memory_mib: number;
  readonly engine_file_mib: number;
  readonly node_memory_mib: number;
}

/** Latencies in milliseconds at concurrency 1. */
interface Moment {
  readonly mode: ParkMode;
  readonly when: string;
  readonly what: string;
  readonly calls: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
  /** Answers that were none: 503 where the call could not begin in time. */
  readonly unanswered: number;
}

/**
 * Thousands of parked calls: what each costs to park and to keep, what operators and new callers feel meanwhile, and what new callers feel
 * when all of them fall due in one moment, which is when the stack comes back after a stop. Each mode has an engine of its own.
 */
export async function runParksBench({ parks, modes, say }: ParksBenchOptions): Promise<void> {
  const parking: Parking[] = [];
  const moments: Moment[] = [];
  const storms: ({ readonly mode: ParkMode } & Storm)[] = [];
  for (const mode of modes) {
    const stage = await openStage(say);
    try {
      const machine = describeMachine(stage.folder);
      await measure(stage, mode);
      // After each mode: the run takes long, and half of it says something, too.
      report(machine);
    } finally {
      await stage.close();
    }
  }

  function report(machine: Machine): void {
    writeReport('parks', {
      title: `${parks} parked calls: waiting in a run of their own (continue) or in the run that judged them (stay)`,
      machine,
      notes: [
        `Parked by ${CALLERS} callers. Memory and file are growth over the same stack before; a decision is a denial through HIL.`,
        '"Due at once": the stack is stopped, every deadline passes, the stack starts again; fresh denies are asked at concurrency 1 from the first moment until the last parked call has expired.',
      ],
      tables: { parking, meanwhile: moments, 'due at once': storms },
    });
  }

  async function measure(stage: Stage, mode: ParkMode): Promise<void> {
    const start = (ttlSecs: number) => startWaitingGate(stage, ttlSecs, { GATE_PARK: mode });
    let gate = await start(LONG_TTL_SECS);
    await pressCalls(stage, deniedCall(gate), 1, 2_000);
    const warm = await pressCalls(stage, parkedCall(gate), CALLERS, LIMIT_MS, WARM_PARKS);
    await gate.child.stop();

    // Long enough for parking and for what is measured after it, so that nothing is due before the stop.
    const expectedSecs = (parks * warm.tookMs) / WARM_PARKS / 1000;
    const ttlSecs = Math.ceil(expectedSecs * 1.6 + 40);
    gate = await start(ttlSecs);
    await pressCalls(stage, deniedCall(gate), 1, 3_000);
    moment(mode, 'none parked', 'deny', await pressCalls(stage, deniedCall(gate), 1, 5_000));

    const before = await weigh(stage, gate);
    const parked = await pressCalls(stage, parkedCall(gate), CALLERS, LIMIT_MS, parks);
    const lastDueMs = Date.now() + ttlSecs * 1000;
    const after = await weigh(stage, gate);
    parking.push({
      mode,
      parks: parked.latencies.length,
      per_second: rounded((parked.latencies.length * 1000) / parked.tookMs),
      node_cpu_per_park: rounded((after.nodeCpuMs - before.nodeCpuMs) / parked.latencies.length),
      engine_cpu_per_park: rounded((after.engineCpuMs - before.engineCpuMs) / parked.latencies.length),
      engine_memory_mib: after.engineMib - before.engineMib,
      engine_file_mib: after.fileMib - before.fileMib,
      node_memory_mib: after.nodeMib - before.nodeMib,
    });
    say(`${mode}: ${parked.latencies.length} parked`);
    moment(mode, 'all parked', 'deny', await pressCalls(stage, deniedCall(gate), 1, 5_000));
    moment(mode, 'all parked', 'decide', await decideCalls(stage, gate, 5_000, 500));

    const { storm, denies, ...back } = await allDueAtOnce(stage, gate, {
      lastDueMs,
      start: () => start(LONG_TTL_SECS),
      say: (line) => say(`${mode}: ${line}`),
    });
    gate = back.gate;
    storms.push({ mode, ...storm });
    moment(mode, 'all due at once', 'deny', denies);
    await gate.child.stop();
  }

  function moment(mode: ParkMode, when: string, what: string, { latencies, answers }: Pressed): void {
    moments.push({
      mode,
      when,
      what,
      calls: latencies.length,
      p50: rounded(quantile(latencies, 0.5)),
      p95: rounded(quantile(latencies, 0.95)),
      max: rounded(quantile(latencies, 1)),
      unanswered: unanswered(answers),
    });
  }
}
