import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '../domain/errors.js';
import { type Pressed, together, unanswered } from './load.js';
import { describeMachine } from './machine.js';
import { type Goal, goalMet, quantile, rounded } from './numbers.js';
import {
  allDueAtOnce,
  CALLERS,
  decideCalls,
  deniedCall,
  numberIn,
  parkedCall,
  pressCalls,
  readList,
  type Storm,
  startWaitingGate,
  weigh,
} from './parked.js';
import { writeReport } from './report.js';
import { type GateSide, openStage, type Stage } from './stage.js';

export interface ReviewBenchOptions {
  /** How many calls are to wait in the end. */
  readonly parks: number;
  /** Parking stops after this time, however many wait by then. */
  readonly minutes: number;
  readonly say: (line: string) => void;
}

/** Growth since nothing waited, and CPU per call of the last step, in milliseconds. */
interface Step {
  readonly parked: number;
  readonly per_second: number;
  readonly node_cpu_per_park: number;
  readonly engine_cpu_per_park: number;
  readonly engine_memory_mib: number;
  readonly engine_file_mib: number;
  readonly node_memory_mib: number;
  readonly stores_mib: number;
}

/** Latencies in milliseconds at concurrency 1. `p50_ratio`: over the same with hardly any parked; a list that is empty says nothing of it. */
interface Moment {
  readonly parked: number;
  readonly what: string;
  readonly calls: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
  readonly p50_ratio: number | null;
  readonly unanswered: number;
}

/** `latest_ms`: the longest that a row was seen to wait behind its deadline, looked at four times a second; `p50_ms` and `p95_ms` of those looks. */
interface Expiry {
  readonly waiting_beside: number;
  readonly due: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly latest_ms: number;
  readonly still_waiting: number;
}

const FEW = 64;
/** Each is about twice the one before, so that the curve says how cost grows. */
const STEPS = [500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];
const MOMENT_MS = 5_000;
const DUE_SECS = 60;
/** Falls due within the minute, as the goal says. Where parking is slower, several minutes of it are given the same minute of deadlines. */
const DUE_GOAL = 1_000;
const MOST_DUE_STARTS = 4;
/** Parking is spread over its minute in pieces of this length, so that deadlines of several minutes together pass evenly too. */
const DUE_SLICE_MS = 2_000;
/** What a stop and a start may take before a minute of parking: twice what one took, at least this and at most that. */
const START_SECS = 15;
const MOST_START_SECS = 40;
const DUE_LIMIT_MS = 120_000;
const LOOK_MS = 250;
/** Beyond parking itself: a step's moments, on a machine that is busy. */
const STEP_SECS = 30;
/** And what is measured before everything that is left may fall due. */
const MARGIN_SECS = 30;

const ALL_DUE = 'deny, while all are due at once';
const LISTS: readonly (readonly [what: string, path: string])[] = [
  ['summaries, newest 50', '/pending/summaries'],
  ['summaries, oldest 200', '/pending/summaries?sort=oldest&limit=200'],
  ['whole rows, newest 50', '/pending?limit=50'],
  ['stats of a day', '/approvals/stats'],
];

/**
 * More and more calls that wait: what each costs to keep, what people's lists, decisions and fresh calls cost beside them, how a stack comes
 * back with all of them parked, how late a minute's worth of deadlines is noticed, and what callers feel when all that is left is due at once. Reported after each step, because a run is long.
 */
export async function runReviewBench({ parks, minutes, say }: ReviewBenchOptions): Promise<void> {
  const steps: Step[] = [];
  const moments: Moment[] = [];
  const restarts: object[] = [];
  const expiries: Expiry[] = [];
  const storms: Storm[] = [];
  const first = new Map<string, number>();
  let ended = `all ${parks} were parked`;

  const stage = await openStage(say);
  const machine = describeMachine(stage.folder);
  try {
    const goals = [...STEPS.filter((step) => step < parks), parks];
    // Nothing of it is due before the minute of deadlines has passed, and all of it soon after.
    const ttlSecs =
      minutes * 60 +
      goals.length * STEP_SECS +
      (MOST_DUE_STARTS + 1) * (DUE_SECS + MOST_START_SECS) +
      DUE_LIMIT_MS / 1000 +
      MARGIN_SECS;
    // What is parked here is not escalated while others fall due beside it.
    let gate = await startWaitingGate(stage, ttlSecs, { GATE_HIL_SLA_ESCALATE_FRACTION: '0' });
    await warmUp(stage, gate);
    await feel(stage, gate, 0);
    const before = await weigh(stage, gate);
    let last = before;
    let parked = 0;
    const begun = performance.now();
    const leftMs = () => minutes * 60_000 - (performance.now() - begun);
    for (const goal of goals) {
      const pressed = await pressCalls(stage, parkedCall(gate), CALLERS, Math.max(0, leftMs()), goal - parked);
      const now = await weigh(stage, gate);
      const added = pressed.answers['202'] ?? 0;
      parked += added;
      if (added === 0) {
        ended = `parking ended after ${minutes} minutes`;
        break;
      }
      steps.push({
        parked,
        per_second: rounded((added * 1000) / pressed.tookMs),
        node_cpu_per_park: rounded((now.nodeCpuMs - last.nodeCpuMs) / added),
        engine_cpu_per_park: rounded((now.engineCpuMs - last.engineCpuMs) / added),
        engine_memory_mib: now.engineMib - before.engineMib,
        engine_file_mib: now.fileMib - before.fileMib,
        node_memory_mib: now.nodeMib - before.nodeMib,
        stores_mib: now.storesMib - before.storesMib,
      });
      say(`${parked} parked, ${JSON.stringify(pressed.answers)}`);
      await feel(stage, gate, parked);
      last = await weigh(stage, gate);
      report();
      if (leftMs() <= 0) {
        ended = `parking ended after ${minutes} minutes`;
        break;
      }
    }

    const lastDueMs = Date.now() + ttlSecs * 1000;
    const starts = Math.ceil(DUE_GOAL / ((steps.at(-1)?.per_second ?? DUE_GOAL) * DUE_SECS));
    const minutesOfParking = Math.min(starts, MOST_DUE_STARTS);
    const beside = waiting(gate);
    await gate.child.stop();
    const asked = performance.now();
    gate = await startWaitingGate(stage, ttlSecs);
    const readyMs = performance.now() - asked;
    await cameBack(gate, readyMs);
    const startSecs = Math.min(MOST_START_SECS, Math.max(START_SECS, Math.ceil((2 * readyMs) / 1000)));
    const dueFrom = Date.now() + minutesOfParking * (DUE_SECS + startSecs) * 1000;
    let due = 0;
    for (let minute = 0; minute < minutesOfParking; minute += 1) {
      const soonSecs = Math.floor((dueFrom - Date.now()) / 1000) - startSecs;
      // A machine that was too busy for its plan: what is parked by now falls due.
      if (soonSecs < DUE_SECS / 2) break;
      await gate.child.stop();
      gate = await startWaitingGate(stage, soonSecs);
      await sleep(Math.max(0, dueFrom - soonSecs * 1000 - Date.now()));
      due += await parkEvenly(stage, gate, DUE_GOAL / minutesOfParking);
    }
    say(`${due} fall due within a minute`);
    const denies: Pressed[] = [];
    const late: number[] = [];
    const limit = dueFrom + DUE_SECS * 1000 + DUE_LIMIT_MS;
    const over = () => dueIn(gate, dueFrom) === 0 || Date.now() > limit;
    await Promise.all([
      (async () => {
        for (; !over(); await sleep(LOOK_MS)) denies.push(await pressCalls(stage, deniedCall(gate), 1, 1_000, 1));
      })(),
      (async () => {
        for (; !over(); await sleep(LOOK_MS)) late.push(oldestDueMs(gate, dueFrom));
      })(),
    ]);
    expiries.push({
      waiting_beside: beside,
      due,
      p50_ms: rounded(quantile(late, 0.5)),
      p95_ms: rounded(quantile(late, 0.95)),
      latest_ms: rounded(Math.max(...late)),
      still_waiting: dueIn(gate, dueFrom),
    });
    const fresh = together(denies);
    if (fresh.latencies.length > 0) moment(beside, 'deny, while a minute of deadlines passes', fresh, 'deny');
    report();

    const {
      storm,
      denies: meanwhile,
      ...back
    } = await allDueAtOnce(stage, gate, {
      lastDueMs,
      start: () => startWaitingGate(stage, ttlSecs),
      say,
    });
    gate = back.gate;
    storms.push(storm);
    if (meanwhile.latencies.length > 0) moment(storm.due_at_once, ALL_DUE, meanwhile, 'deny');
    report();
    await gate.child.stop();
  } catch (error) {
    ended = `the run ended early: ${errorText(error)}`;
    report();
    throw error;
  } finally {
    await stage.close();
  }

  async function warmUp(on: Stage, gate: GateSide): Promise<void> {
    await pressCalls(on, deniedCall(gate), 1, 3_000);
    await pressCalls(on, parkedCall(gate), CALLERS, MOMENT_MS * 4, FEW * 2);
    await decideCalls(on, gate, MOMENT_MS, FEW);
    for (const [, path] of LISTS) await readList(on, gate, path, 500);
  }

  async function cameBack(gate: GateSide, readyMs: number): Promise<void> {
    const back = await pressCalls(stage, deniedCall(gate), 1, MOMENT_MS);
    restarts.push({
      parked: waiting(gate),
      ready_ms: rounded(readyMs),
      first_deny_ms: rounded(back.latencies[0] ?? Number.NaN),
      deny_p50: rounded(quantile(back.latencies, 0.5)),
      unanswered: unanswered(back.answers),
    });
    report();
  }

  /** What callers and people feel beside `parked` calls. */
  async function feel(on: Stage, gate: GateSide, parked: number): Promise<void> {
    moment(parked, 'deny', await pressCalls(on, deniedCall(gate), 1, MOMENT_MS));
    moment(parked, 'decide', await decideCalls(on, gate, MOMENT_MS, FEW / 2));
    for (const [what, path] of LISTS) moment(parked, what, await readList(on, gate, path, MOMENT_MS / 2), null);
  }

  function moment(parked: number, what: string, { latencies, answers }: Pressed, over: string | null = what): void {
    const p50 = quantile(latencies, 0.5);
    const none = over === null ? null : (first.get(over) ?? p50);
    if (over !== null && none !== null) first.set(over, none);
    moments.push({
      parked,
      what,
      calls: latencies.length,
      p50: rounded(p50),
      p95: rounded(quantile(latencies, 0.95)),
      max: rounded(quantile(latencies, 1)),
      p50_ratio: none === null ? null : rounded(p50 / none),
      unanswered: unanswered(answers),
    });
  }

  /** What was promised, and what came of it. */
  function goalsMet(): Goal[] {
    const lists = moments.filter(({ what }) => LISTS.some(([list]) => list === what));
    const ratios = moments.filter(({ parked, what }) => parked > 0 && ['deny', 'decide'].includes(what));
    const storm = moments.filter(({ what }) => what === ALL_DUE);
    return [
      goalMet(
        'lists at p95',
        50,
        lists.map(({ p95 }) => p95),
      ),
      goalMet(
        'decisions and fresh calls, p50 over none parked',
        2,
        ratios.flatMap(({ p50_ratio: ratio }) => ratio ?? []),
      ),
      goalMet(
        'expiry late, a minute of deadlines',
        2_000,
        expiries.map(({ latest_ms: late }) => late),
      ),
      goalMet(
        'fresh calls while all are due at once, the slowest',
        1_000,
        storm.map(({ max }) => max),
      ),
    ];
  }

  function report(): void {
    writeReport('review', {
      title: 'Calls that wait for people, more and more of them',
      machine,
      notes: [
        `Parked by ${CALLERS} callers; ${ended}. Memory and files are growth over the same stack before.`,
        'Lists, decisions (denials by one operator) and fresh denies at concurrency 1; "parked 0" is the same stack with 64 or fewer waiting.',
        'Restart: the stack is stopped and started with all of them parked. Expiry: calls whose deadlines fill one minute, beside them; a fresh call every quarter of a second meanwhile.',
        'Due at once: the stack is stopped, the deadline of everything that is left passes, the stack starts again; fresh denies at concurrency 1 from the first moment until the last has expired.',
        `The machine's load average when this was written: ${loadavg().map(rounded).join(', ')}.`,
      ],
      tables: {
        growth: steps,
        meanwhile: moments,
        restart: restarts,
        expiry: expiries,
        'due at once': storms,
        goals: goalsMet(),
      },
    });
  }
}

const waiting = (gate: GateSide): number =>
  numberIn(gate, 'calls.db', "select count(*) as n from call_records where state = 'parked'");

const DUE_ROWS = "from reviews where status = 'pending' and deadline_ms between ? and ?";
const dueMinute = (fromMs: number): [number, number] => [fromMs - 1_000, fromMs + (DUE_SECS + 5) * 1_000];

/** How many of the minute that begins then still wait. */
const dueIn = (gate: GateSide, fromMs: number): number =>
  numberIn(gate, 'hil.db', `select count(*) as n ${DUE_ROWS}`, ...dueMinute(fromMs));

/** How long the oldest of them has been due and still waits, milliseconds; 0 when none is. */
const oldestDueMs = (gate: GateSide, fromMs: number): number => {
  const oldest = numberIn(gate, 'hil.db', `select min(deadline_ms) as n ${DUE_ROWS}`, ...dueMinute(fromMs));
  return Number.isNaN(oldest) ? 0 : Math.max(0, Date.now() - oldest);
};

/** Parks about so many calls in one minute, at an even rate; how many were parked. */
async function parkEvenly(stage: Stage, gate: GateSide, goal: number): Promise<number> {
  const slices = (DUE_SECS * 1000) / DUE_SLICE_MS;
  const begun = performance.now();
  let parked = 0;
  for (let slice = 1; slice <= slices && performance.now() - begun < DUE_SECS * 1000; slice += 1) {
    const missing = Math.round((goal * slice) / slices) - parked;
    const pressed = await pressCalls(stage, parkedCall(gate), CALLERS, DUE_SLICE_MS, Math.max(1, missing));
    parked += pressed.answers['202'] ?? 0;
    await sleep(Math.max(0, begun + slice * DUE_SLICE_MS - performance.now()));
  }
  return parked;
}
