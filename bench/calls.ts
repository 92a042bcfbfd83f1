import type { Shape } from './bare/workflows.js';
import { cpuMsOf, describeMachine } from './machine.js';
import { type Pressed, together } from './load.js';
import type { CallKind } from './load-process.js';
import { median, quantile, rounded } from './numbers.js';
import { openStage, type Stage } from './stage.js';
import { writeReport } from './report.js';

/** Gate's four kinds of calls, each with the bare workflow that has its shape. */
const KINDS = {
  deny: { expected: '403 policy_denied', shape: 'judged', tool: 'delete_file', arguments: { path: 'notes.txt' } },
  decision: { expected: '200', shape: 'judged', tool: 'list_files', arguments: {}, decisionOnly: true },
  park: {
    expected: '202',
    shape: 'parked',
    tool: 'wire_transfer',
    arguments: { from: 'operating', to: 'vendor', amount: 25 },
  },
  allow: { expected: '200', shape: 'executed', tool: 'list_files', arguments: {} },
} as const satisfies Record<string, CallOfKind>;
type KindName = keyof typeof KINDS;

interface CallOfKind {
  /** What every answer must be; anything else is reported and ends the run. */
  readonly expected: string;
  readonly shape: Shape;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly decisionOnly?: boolean;
}

export interface CallsBenchOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly kinds: readonly KindName[];
  /** Another built copy of Gate, compared in the same run. */
  readonly other?: string;
  readonly say: (line: string) => void;
}

const CONCURRENT = 16;
const MAX_CALLS_PER_ROUND = 2_000;

interface Side {
  readonly name: string;
  press(kind: KindName, concurrency: number, forMs: number): Promise<Pressed>;
  cpuMs(): Promise<number>;
}

interface Cell {
  readonly alone: Pressed[];
  readonly crowd: Pressed[];
  /** CPU of the side's process and of the engine while the side was pressed by many, milliseconds. */
  nodeCpuMs: number;
  engineCpuMs: number;
}

/** What one side did with one kind of call. Times in milliseconds. */
export interface CallsRow {
  readonly kind: KindName;
  readonly side: string;
  readonly calls: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly per_second_at_16: number;
  readonly p50_at_16: number;
  readonly node_cpu_per_call: number;
  readonly engine_cpu_per_call: number;
}

/** A side over the bare workflow: medians of the rounds' ratios, because both halves of a round meet the same machine. */
export interface CallsRatio {
  readonly kind: KindName;
  readonly side: string;
  readonly p50: number;
  readonly p95: number;
  readonly rate_at_16: number;
  readonly cpu: number;
}

/**
 * What Gate costs over the engine: the real road (mutual TLS, codec, durable records and rows, policies, inspector, tools) against bare
 * workflows of the same shape on the same server, in turns, so that whatever else the machine does falls on both.
 */
export async function runCallsBench(options: CallsBenchOptions): Promise<void> {
  const { rounds, roundMs, kinds, say } = options;
  const stage = await openStage(say);
  try {
    const machine = describeMachine(stage.folder);
    const sides = await startSides(stage, options.other);
    const cells = new Map<string, Cell>();
    for (const kind of kinds) {
      for (const side of sides) {
        cells.set(`${kind} ${side.name}`, { alone: [], crowd: [], nodeCpuMs: 0, engineCpuMs: 0 });
        // Connections, caches and compiled code are made before anything counts.
        await side.press(kind, CONCURRENT, Math.min(1_500, roundMs));
      }
      for (let round = 0; round < rounds; round += 1) {
        // Whoever was first is last in the next round.
        for (const side of round % 2 === 0 ? sides : sides.toReversed())
          await playRound(cells.get(`${kind} ${side.name}`) as Cell, side, kind);
      }
      say(`${kind}: ${rounds} rounds of ${roundMs / 1000} s`);
    }
    const rows = [...cells].map(([key, cell]) => rowOf(...(key.split(' ') as [KindName, string]), cell));
    const ratios = kinds.flatMap((kind) =>
      sides
        .filter(({ name }) => name !== 'bare')
        .map(({ name }) =>
          ratioOf(kind, name, cells.get(`${kind} ${name}`) as Cell, cells.get(`${kind} bare`) as Cell),
        ),
    );
    writeReport('calls', {
      title: 'Calls through Gate over bare workflows of the same shape',
      machine,
      notes: [
        `${rounds} rounds of ${roundMs / 1000} s per side and concurrency, sides in turns; latencies in ms at concurrency 1, rates at ${CONCURRENT}.`,
        'Ratios are medians over the rounds; node CPU is that of the side: Gate with every service in one process, or a bare client and worker in one process.',
        'Gate answers over mutual TLS to a load process; the bare side presses itself in process, without HTTP.',
      ],
      tables: { ratios, rows },
    });
  } finally {
    await stage.close();
  }

  async function playRound(cell: Cell, side: Side, kind: KindName): Promise<void> {
    cell.alone.push(await side.press(kind, 1, roundMs));
    const before = [await side.cpuMs(), cpuMsOf(enginePid())] as const;
    cell.crowd.push(await side.press(kind, CONCURRENT, roundMs));
    cell.nodeCpuMs += (await side.cpuMs()) - before[0];
    cell.engineCpuMs += cpuMsOf(enginePid()) - before[1];
  }
  function enginePid(): number {
    return stage.engine.pid;
  }
}

async function startSides(stage: Stage, other: string | undefined): Promise<Side[]> {
  const gateSide = async (name: string, directory?: string): Promise<Side> => {
    const gate = await stage.startGate(name, directory === undefined ? {} : { directory });
    return {
      name,
      async press(kind, concurrency, forMs) {
        const { expected, tool, arguments: given, ...rest }: CallOfKind = KINDS[kind];
        const call: CallKind = {
          target: gate.target,
          contract: rest.decisionOnly ? 'gate.decision/v1' : 'gate.server-execution/v1',
          tool,
          arguments: given,
        };
        return checked(expected, await stage.load.ask.press({ kind: call, concurrency, forMs, maxCalls }));
      },
      cpuMs: () => gate.child.ask.cpuMs(),
    };
  };
  const maxCalls = MAX_CALLS_PER_ROUND;
  const bare = await stage.startBare();
  return [
    await gateSide('gate'),
    ...(other === undefined ? [] : [await gateSide('other', other)]),
    {
      name: 'bare',
      press: async (kind, concurrency, forMs) =>
        checked('answered', await bare.ask.press({ shape: KINDS[kind].shape, concurrency, forMs, maxCalls })),
      cpuMs: () => bare.ask.cpuMs(),
    },
  ];
}

function checked(expected: string, pressed: Pressed): Pressed {
  const others = Object.keys(pressed.answers).filter((answer) => answer !== expected);
  if (others.length > 0) throw new Error(`expected ${expected}, had ${JSON.stringify(pressed.answers)}`);
  return pressed;
}

const rate = ({ latencies, tookMs }: Pressed): number => (latencies.length * 1000) / tookMs;

function rowOf(kind: KindName, side: string, cell: Cell): CallsRow {
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
    node_cpu_per_call: rounded(cell.nodeCpuMs / crowd.latencies.length),
    engine_cpu_per_call: rounded(cell.engineCpuMs / crowd.latencies.length),
  };
}

function ratioOf(kind: KindName, side: string, cell: Cell, bare: Cell): CallsRatio {
  const ofRounds = (value: (pressed: Pressed) => number, of: 'alone' | 'crowd') =>
    rounded(median(cell[of].map((pressed, round) => value(pressed) / value(bare[of][round] as Pressed))));
  const cpuPerCall = ({ nodeCpuMs, engineCpuMs, crowd }: Cell) =>
    (nodeCpuMs + engineCpuMs) / together(crowd).latencies.length;
  return {
    kind,
    side,
    p50: ofRounds(({ latencies }) => quantile(latencies, 0.5), 'alone'),
    p95: ofRounds(({ latencies }) => quantile(latencies, 0.95), 'alone'),
    rate_at_16: ofRounds(rate, 'crowd'),
    cpu: rounded(cpuPerCall(cell) / cpuPerCall(bare)),
  };
}

export const CALL_KINDS = Object.keys(KINDS) as KindName[];
