import { unanswered } from './load.js';
import { describeMachine, fileMib, residentMibOf } from './machine.js';
import { quantile, rounded, sum } from './numbers.js';
import { type Doors, openDoors } from './proxy.js';
import type { Ask, Door } from './proxy-load-process.js';
import { writeReport } from './report.js';
import { CONCURRENT } from './sides.js';

export const SOAK_SIDES = ['gate', 'lite'] as const;

export interface SoakOptions {
  readonly minutes: number;
  readonly sides: readonly (typeof SOAK_SIDES)[number][];
  readonly say: (line: string) => void;
}

const CALL = (name: string, given: Readonly<Record<string, unknown>>): Ask => ({
  method: 'tools/call',
  params: { name, arguments: given },
});
/** What an agent does all day: mostly what is allowed. Parked calls would wait, and what waits is kept. */
const MIX: readonly Ask[] = [
  CALL('list_files', {}),
  CALL('read_file', { path: 'notes.txt' }),
  CALL('list_files', {}),
  CALL('delete_file', { path: 'notes.txt' }),
  { method: 'tools/list', params: {} },
];
const SHARE = 0.7;
const MEASURED_MS = 10_000;
const WINDOW_MS = 15_000;
const CONNECTIONS = 64;

interface Window {
  readonly side: string;
  readonly minute: number;
  readonly calls: number;
  readonly per_second: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly errors: number;
  readonly node_mib: number;
  readonly engine_mib: number | null;
}

/**
 * The editions under 70 % of the load that they take, one after the other, each for as long as was asked: memory over time, latencies and
 * errors. Ends with an error where an answer was none.
 */
export async function runSoak({ minutes, sides, say }: SoakOptions): Promise<void> {
  const doors = await openDoors(say);
  try {
    const machine = describeMachine(doors.stage.folder);
    const windows: Window[] = [];
    for (const side of sides) windows.push(...(await soak(doors, side, doors[side], minutes, say)));
    const soaked = sides.map((side) =>
      told(
        side,
        windows.filter((one) => one.side === side),
      ),
    );
    writeReport(`proxy-soak${sides.length === SOAK_SIDES.length ? '' : `-${sides.join('-')}`}`, {
      title: `${minutes} minutes at ${SHARE * 100} % of the load that each edition takes`,
      machine,
      notes: [
        `The rate that ${CONCURRENT} callers reach together in ${MEASURED_MS / 1000} s is measured first; calls then begin at ${SHARE * 100} % of it, whether or not earlier ones were answered, and a late begin counts as latency.`,
        'The mix: three allowed calls, one denied, one list of tools. Errors: answers that are neither 2xx nor 4xx, and 429.',
        'mib_per_minute: the slope of the resident memory over the second half, by least squares. Caches fill and V8 takes its heap in the first minutes (docs/architecture/lite-speed.md#memory), so less than ten minutes say nothing about a leak.',
        'The stores grow with every call, by design: a record, and rows that cannot be taken back.',
        `Files at the end: engine ${fileMib(doors.stage.engineFile)} MiB.`,
      ],
      tables: { soak: soaked, windows },
    });
    const errors = sum(windows.map((one) => one.errors));
    if (errors > 0) throw new Error(`${errors} requests were not answered as they must be`);
  } finally {
    await doors.close();
  }
}

async function soak(
  { stage, load }: Doors,
  side: string,
  { door, pid }: { readonly door: Door; readonly pid: number },
  minutes: number,
  say: (line: string) => void,
): Promise<Window[]> {
  // Together, in turns, as they come later: each request of the mix alone, and the time they take on the average.
  const took: number[] = [];
  for (const ask of MIX) {
    const pressed = await load.ask.press({
      door,
      ask,
      concurrency: CONCURRENT,
      forMs: MEASURED_MS / MIX.length,
      maxCalls: 100_000,
    });
    took.push(pressed.tookMs / pressed.latencies.length);
  }
  const perSecond = (SHARE * 1000 * MIX.length) / sum(took);
  say(`${side}: ${rounded(perSecond)} per second for ${minutes} minutes`);
  const windows: Window[] = [];
  const begun = performance.now();
  while (performance.now() - begun < minutes * 60_000) {
    const { latencies, tookMs, answers } = await load.ask.pace({
      door,
      mix: MIX,
      perSecond,
      forMs: WINDOW_MS,
      connections: CONNECTIONS,
    });
    windows.push({
      side,
      minute: rounded((performance.now() - begun) / 60_000),
      calls: latencies.length,
      per_second: rounded((latencies.length * 1000) / tookMs),
      p50: rounded(quantile(latencies, 0.5)),
      p95: rounded(quantile(latencies, 0.95)),
      p99: rounded(quantile(latencies, 0.99)),
      errors: unanswered(answers) + (answers['429'] ?? 0),
      node_mib: residentMibOf(pid),
      engine_mib: side === 'gate' ? residentMibOf(stage.engine.pid) : null,
    });
  }
  return windows;
}

function told(side: string, windows: readonly Window[]): object {
  const half = windows.slice(Math.floor(windows.length / 2));
  const mib = windows.map((one) => one.node_mib);
  return {
    side,
    calls: sum(windows.map((one) => one.calls)),
    errors: sum(windows.map((one) => one.errors)),
    worst_p99: Math.max(...windows.map((one) => one.p99)),
    first_mib: mib[0] ?? 0,
    last_mib: mib.at(-1) ?? 0,
    most_mib: Math.max(...mib),
    mib_per_minute: rounded(slope(half.map((one) => [one.minute, one.node_mib]))),
    engine_mib_per_minute:
      side === 'gate' ? rounded(slope(half.map((one) => [one.minute, one.engine_mib ?? 0]))) : null,
  };
}

/** By least squares; 0 of fewer than two points. */
function slope(points: readonly (readonly [number, number])[]): number {
  const n = points.length;
  const meanX = sum(points.map(([x]) => x)) / n;
  const meanY = sum(points.map(([, y]) => y)) / n;
  const spread = sum(points.map(([x]) => (x - meanX) ** 2));
  return spread === 0 ? 0 : sum(points.map(([x, y]) => (x - meanX) * (y - meanY))) / spread;
}
