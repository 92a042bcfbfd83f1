import type { Shape } from './bare/workflows.js';
import { cpuMsOf, describeMachine } from './machine.js';
import type { CallKind } from './load-process.js';
import { openStage, type Stage } from './stage.js';
import { writeReport } from './report.js';
import { checked, compareSides, CONCURRENT, type Side } from './sides.js';

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

const MAX_CALLS_PER_ROUND = 2_000;

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
    const compared = await compareSides({ sides, kinds, rounds, roundMs, say });
    writeReport('calls', {
      title: 'Calls through Gate over bare workflows of the same shape',
      machine,
      notes: [
        `${rounds} rounds of ${roundMs / 1000} s per side and concurrency, sides in turns; latencies in ms at concurrency 1, rates at ${CONCURRENT}.`,
        'Ratios are medians over the rounds; node CPU is that of the side: Gate with every service in one process, or a bare client and worker in one process.',
        'Gate answers over mutual TLS to a load process; the bare side presses itself in process, without HTTP.',
      ],
      tables: {
        ratios: sides.filter(({ name }) => name !== 'bare').flatMap(({ name }) => compared.ratios(name, 'bare')),
        rows: compared.rows,
      },
    });
  } finally {
    await stage.close();
  }
}

async function startSides(stage: Stage, other: string | undefined): Promise<Side<KindName>[]> {
  const gateSide = async (name: string, directory?: string): Promise<Side<KindName>> => {
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
      cpuMs: () => cpuOf(gate.child),
    };
  };
  const maxCalls = MAX_CALLS_PER_ROUND;
  const cpuOf = async ({ ask }: { ask: { cpuMs(): Promise<number> } }) => ({
    node: await ask.cpuMs(),
    engine: cpuMsOf(stage.engine.pid),
  });
  const bare = await stage.startBare();
  return [
    await gateSide('gate'),
    ...(other === undefined ? [] : [await gateSide('other', other)]),
    {
      name: 'bare',
      press: async (kind, concurrency, forMs) =>
        checked('answered', await bare.ask.press({ shape: KINDS[kind].shape, concurrency, forMs, maxCalls })),
      cpuMs: () => cpuOf(bare),
    },
  ];
}

export const CALL_KINDS = Object.keys(KINDS) as KindName[];
