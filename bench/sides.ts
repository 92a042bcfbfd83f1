import { type Pressed, together } from './load.js';
import { median, quantile, rounded, sum } from './numbers.js';

/** One of the things that are compared. */
export interface Side<Kind extends string> {
  readonly name: string;
  press(kind: Kind, concurrency: number, forMs: number): Promise<Pressed>;
  /** CPU time so far of the processes that serve this side, by what they are, in milliseconds. */
  cpuMs(): Promise<Readonly<Record<string, number>>>;
}

export const CONCURRENT = 16;

/** What one side did with one kind of call. CPU is counted while many callers press. */
interface Cell {
  readonly alone: Pressed[];
  readonly crowd: Pressed[];
  readonly cpuMs: Record<string, number>;
}

/** Times in milliseconds. */
export interface SideRow<Kind extends string> {
  readonly kind: Kind;
  readonly side: string;
  readonly calls: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly per_second_at_16: number;
  readonly p50_at_16: number;
  readonly [cpu: `${string}_cpu_per_call`]: number;
}

/** One side over another: medians of the ratios of each round, because both halves of a round meet the same machine. */
export interface SideRatio<Kind extends string> {
  readonly kind: Kind;
  readonly side: string;
  readonly over: string;
  readonly p50: number;
  readonly p95: number;
  readonly rate_at_16: number;
  readonly cpu: number;
}

export interface Compared<Kind extends string> {
  readonly rows: readonly SideRow<Kind>[];
  ratios(side: string, over: string): SideRatio<Kind>[];
}

/** Presses all sides in turns, by one caller and by sixteen, so that whatever else the machine does falls on all of them. */
export async function compareSides<Kind extends string>({
  sides,
  kinds,
  rounds,
  roundMs,
  say,
}: {
  readonly sides: readonly Side<Kind>[];
  readonly kinds: readonly Kind[];
  readonly rounds: number;
  readonly roundMs: number;
  readonly say: (line: string) => void;
}): Promise<Compared<Kind>> {
  const cells = new Map<string, Cell>();
  const cellOf = (kind: Kind, side: string) => cells.get(`${kind} ${side}`) as Cell;
  for (const kind of kinds) {
    for (const side of sides) {
      cells.set(`${kind} ${side.name}`, { alone: [], crowd: [], cpuMs: {} });
      // Connections, caches and compiled code are made before anything counts.
      await side.press(kind, CONCURRENT, Math.min(1_500, roundMs));
    }
    for (let round = 0; round < rounds; round += 1) {
      // Whoever was first is last in the next round.
      for (const side of round % 2 === 0 ? sides : sides.toReversed())
        await playRound(cellOf(kind, side.name), side, kind, roundMs);
    }
    say(`${kind}: ${rounds} rounds of ${roundMs / 1000} s`);
  }
  return {
    rows: kinds.flatMap((kind) => sides.map(({ name }) => rowOf(kind, name, cellOf(kind, name)))),
    ratios: (side, over) => kinds.map((kind) => ratioOf(kind, [side, cellOf(kind, side)], [over, cellOf(kind, over)])),
  };
}

async function playRound<Kind extends string>(cell: Cell, side: Side<Kind>, kind: Kind, roundMs: number) {
  cell.alone.push(await side.press(kind, 1, roundMs));
  const before = await side.cpuMs();
  cell.crowd.push(await side.press(kind, CONCURRENT, roundMs));
  for (const [whose, ms] of Object.entries(await side.cpuMs()))
    cell.cpuMs[whose] = (cell.cpuMs[whose] ?? 0) + ms - (before[whose] ?? 0);
}

/** Ends the run where an answer is not the one that the side must give. */
export function checked(expected: string, pressed: Pressed): Pressed {
  const others = Object.keys(pressed.answers).filter((answer) => answer !== expected);
  if (others.length > 0) throw new Error(`expected ${expected}, had ${JSON.stringify(pressed.answers)}`);
  return pressed;
}

const rate = ({ latencies, tookMs }: Pressed): number => (latencies.length * 1000) / tookMs;

function rowOf<Kind extends string>(kind: Kind, side: string, cell: Cell): SideRow<Kind> {
  const alone = together(cell.alone);
  const crowd = together(cell.crowd);
  return {
    kind,
    side,
    calls: alone.latencies.length + crowd.latencies.length,
    p50: rounded(quantile(alone.latencies, 0.5)),
    p95: rounded(quantile(alone.latencies, 0.95)),
    p99: rounded(quantile(alone.latencies, 0.99)),
    per_second_at_16: rounded(rate(crowd)),
    p50_at_16: rounded(quantile(crowd.latencies, 0.5)),
    ...Object.fromEntries(
      Object.entries(cell.cpuMs).map(([whose, ms]) => [
        `${whose}_cpu_per_call` as const,
        rounded(ms / crowd.latencies.length),
      ]),
    ),
  };
}

function ratioOf<Kind extends string>(
  kind: Kind,
  [side, cell]: readonly [string, Cell],
  [over, base]: readonly [string, Cell],
): SideRatio<Kind> {
  const ofRounds = (value: (pressed: Pressed) => number, of: 'alone' | 'crowd') =>
    rounded(median(cell[of].map((pressed, round) => value(pressed) / value(base[of][round] as Pressed))));
  const cpuPerCall = ({ cpuMs, crowd }: Cell) => sum(Object.values(cpuMs)) / together(crowd).latencies.length;
  return {
    kind,
    side,
    over,
    p50: ofRounds(({ latencies }) => quantile(latencies, 0.5), 'alone'),
    p95: ofRounds(({ latencies }) => quantile(latencies, 0.95), 'alone'),
    rate_at_16: ofRounds(rate, 'crowd'),
    cpu: rounded(cpuPerCall(cell) / cpuPerCall(base)),
  };
}
