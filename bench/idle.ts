import { setTimeout as sleep } from 'node:timers/promises';
import { startChildProcess } from './child.js';
import type { IdleQuestions } from './idle-process.js';
import { together, unanswered } from './load.js';
import { cpuMsOf, describeMachine } from './machine.js';
import { quantile, rounded } from './numbers.js';
import { type Doors, openDoors } from './proxy.js';
import type { Ask, Door } from './proxy-load-process.js';
import { writeReport } from './report.js';
import { CONCURRENT } from './sides.js';

export interface IdleOptions {
  readonly sessions: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly say: (line: string) => void;
}

/** A stream is one descriptor of whoever has an end of it; the rest is for calls, stores and the engine. */
const RESERVED_DESCRIPTORS = 512;
const MAX_CALLS_PER_ROUND = 5_000;
/** As long as two signs of life take, so that what idle streams cost is in it. */
const IDLE_MS = 30_000;
const CALL: Ask = { method: 'tools/call', params: { name: 'list_files', arguments: {} } };

interface Felt {
  readonly p50: number;
  readonly p95: number;
  readonly per_second_at_16: number;
}

/**
 * Sessions with an open stream that do nothing: what each costs in memory, all of them in CPU, and whether the calls of others are slower
 * beside them. One edition after the other.
 */
export async function runIdleBench({ sessions: asked, rounds, roundMs, say }: IdleOptions): Promise<void> {
  const limit = descriptorLimit();
  const sessions = Math.min(asked, limit - RESERVED_DESCRIPTORS);
  if (sessions < asked) say(`${sessions} sessions: the descriptor limit is ${limit}`);
  const doors = await openDoors(say, {
    gate: { GATE_PROXY_STREAM_LIMIT: '0' },
    lite: { GATE_LITE_STREAM_LIMIT: '0' },
  });
  try {
    const machine = describeMachine(doors.stage.folder);
    const rows: object[] = [];
    for (const [side, { door, pid, memory }] of [
      ['gate', doors.gate],
      ['lite', doors.lite],
    ] as const) {
      const feel = () => felt(doors, door, rounds, roundMs);
      await feel();
      const alone = await feel();
      const before = await memory();
      const idle = startChildProcess<IdleQuestions>('idle-process.js');
      try {
        const opening = performance.now();
        const { open, fault } = await idle.ask.open({ door, sessions });
        if (fault !== null) say(`${side}: ${open} sessions stand: ${fault}`);
        const openedMs = performance.now() - opening;
        const cpuBefore = cpuMsOf(pid);
        await sleep(IDLE_MS);
        const cpuMs = cpuMsOf(pid) - cpuBefore;
        const after = await memory();
        const beside = await feel();
        const standing = await idle.ask.standing();
        rows.push({
          side,
          sessions: open,
          still_open: standing,
          opened_per_second: rounded((open * 1000) / openedMs),
          live_kib_per_session: rounded((after.liveKib - before.liveKib) / Math.max(1, open)),
          resident_kib_per_session: rounded((after.residentKib - before.residentKib) / Math.max(1, open)),
          resident_mib: Math.round(after.residentKib / 1024),
          idle_cpu_percent: rounded((cpuMs * 100) / IDLE_MS),
          p50_alone: alone.p50,
          p50_beside: beside.p50,
          p95_alone: alone.p95,
          p95_beside: beside.p95,
          per_second_alone: alone.per_second_at_16,
          per_second_beside: beside.per_second_at_16,
        });
        if (standing < open) say(`${side}: ${open - standing} streams ended by themselves`);
      } finally {
        await idle.stop();
      }
    }
    writeReport(`proxy-idle-${sessions}`, {
      title: `${sessions} idle MCP sessions with open streams`,
      machine,
      notes: [
        `${asked} were asked for; the descriptor limit of a process is ${limit}, and a stream takes one at each end.`,
        'All are clients of one agent: revision 2025-11-25, a session and its stream each, over a connection of its own (gate: mutual TLS, lite: plain HTTP).',
        `live: heap and buffers of Gate's process after a collection of garbage; resident: its pages, with what TLS has outside of the heap and less what it had freed before. Both after ${IDLE_MS / 1000} s of idling over before the sessions were opened. idle_cpu_percent: of one core meanwhile.`,
        `alone, beside: the same allowed call by another client before the sessions were opened and while they stand; latencies in ms at concurrency 1, rates at ${CONCURRENT}.`,
      ],
      tables: { idle: rows },
    });
  } finally {
    await doors.close();
  }
}

async function felt({ load }: Doors, door: Door, rounds: number, roundMs: number): Promise<Felt> {
  const press = async (concurrency: number) => {
    const pressed = together(
      await Array.from({ length: rounds }).reduce<Promise<Awaited<ReturnType<typeof load.ask.press>>[]>>(
        async (done) => [
          ...(await done),
          await load.ask.press({ door, ask: CALL, concurrency, forMs: roundMs, maxCalls: MAX_CALLS_PER_ROUND }),
        ],
        Promise.resolve([]),
      ),
    );
    if (unanswered(pressed.answers) > 0) throw new Error(`calls were not answered: ${JSON.stringify(pressed.answers)}`);
    return pressed;
  };
  const alone = await press(1);
  const crowd = await press(CONCURRENT);
  return {
    p50: rounded(quantile(alone.latencies, 0.5)),
    p95: rounded(quantile(alone.latencies, 0.95)),
    per_second_at_16: rounded((crowd.latencies.length * 1000) / crowd.tookMs),
  };
}

/** How many descriptors a process of this user may have; Node raises the soft limit itself where it may. */
function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isFinite(soft) ? soft : Number.MAX_SAFE_INTEGER;
}
