import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, profiled, startChildProcess } from './child.js';
import type { LiteFloorQuestions } from './lite-floor-process.js';
import type { LiteGateQuestions } from './lite-gate-process.js';
import type { LiteLoadQuestions } from './lite-load-process.js';
import type { LiteUpstreamQuestions } from './lite-upstream-process.js';
import { describeMachine, residentMibOf } from './machine.js';
import { writeReport } from './report.js';
import { checked, compareSides, type Side } from './sides.js';

const KINDS = {
  allow: { contract: 'gate.server-execution/v1', tool: 'read_file', status: '200' },
  decision: { contract: 'gate.decision/v1', tool: 'read_file', status: '200' },
  deny: { contract: 'gate.server-execution/v1', tool: 'delete_file', status: '403' },
  park: { contract: 'gate.server-execution/v1', tool: 'wire_transfer', status: '202' },
} as const;
type LiteKind = keyof typeof KINDS;
export const LITE_KINDS = Object.keys(KINDS) as LiteKind[];

export interface LiteBenchOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly kinds: readonly LiteKind[];
  /** So many tools more than those that are called are listed, to the agent too; without it none is. */
  readonly tools?: number;
  /** Another built copy of Gate, compared in the same run. */
  readonly other?: string;
  readonly say: (line: string) => void;
}

const MAX_CALLS_PER_ROUND = 10_000_000;

/**
 * Lite over a durable file: generator, tools and each side in a process of their own, on loopback. Every answer is durable before it is
 * given. The floor is one durable insert behind the same HTTP server.
 */
export async function runLiteBench({
  rounds,
  roundMs,
  kinds,
  tools: more,
  other,
  say,
}: LiteBenchOptions): Promise<void> {
  const folder = mkdtempSync(join(process.env.GATE_BENCH_DIR ?? tmpdir(), 'gate-bench-lite-'));
  const machine = describeMachine(folder);
  const load = startChildProcess<LiteLoadQuestions>('lite-load-process.js');
  const tools = startChildProcess<LiteUpstreamQuestions>('lite-upstream-process.js');
  const children: Child<never>[] = [];
  const keep = <Q extends LiteGateQuestions | LiteFloorQuestions>(child: Child<Q>): Child<Q> => {
    children.push(child as unknown as Child<never>);
    return child;
  };
  const sideOf = (
    name: string,
    url: string,
    child: Child<LiteGateQuestions> | Child<LiteFloorQuestions>,
    statusOf: (kind: LiteKind) => string,
  ): Side<LiteKind> => ({
    name,
    async press(kind, concurrency, forMs) {
      const { contract, tool } = KINDS[kind];
      const call = { url, contract, tool };
      return checked(statusOf(kind), await load.ask.press({ call, concurrency, forMs, maxCalls: MAX_CALLS_PER_ROUND }));
    },
    cpuMs: async () => ({ node: await child.ask.cpuMs() }),
  });
  try {
    const upstream = await tools.ask.start(more === undefined ? {} : { tools: toolNames(more) });
    const gateSide = async (name: string, directory?: string) => {
      const child = keep(
        startChildProcess<LiteGateQuestions>(
          'lite-gate-process.js',
          directory === undefined ? { execArgv: profiled() } : { directory },
        ),
      );
      const url = await child.ask.start({ upstream, ledger: join(folder, `${name}.db`) });
      if (more !== undefined) await listTools(url);
      return { child, side: sideOf(name, url, child, (kind) => KINDS[kind].status) };
    };
    const gate = await gateSide('gate');
    const beside = other === undefined ? [] : [(await gateSide('other', other)).side];
    const floor = keep(startChildProcess<LiteFloorQuestions>('lite-floor-process.js'));
    const floorUrl = await floor.ask.start({ ledger: join(folder, 'floor', 'floor.db') });
    const sides = [gate.side, ...beside, sideOf('floor', floorUrl, floor, () => '200')];
    const compared = await compareSides({ sides, kinds, rounds, roundMs, say });
    writeReport('lite', {
      title: 'Lite over a durable file',
      machine,
      notes: [
        `${rounds} rounds of ${roundMs / 1000} s per side and concurrency, sides in turns; latencies in ms at concurrency 1, rates at 16.`,
        'Generator, tools and each side in a process of their own, on loopback; every answer is durable before it is given.',
        ...(more === undefined ? [] : [`The agent was shown ${toolNames(more).length} tools.`]),
        'floor: one durable insert, synced to disk together with those of the other callers, behind the same HTTP server.',
        'CPU is that of the whole process of the side, threads included; it says more than a rate on a shared machine.',
        `Resident memory of Gate at the end: ${residentMibOf(gate.child.pid)} MiB.`,
      ],
      tables: {
        ratios: [
          ...(other === undefined ? [] : compared.ratios('gate', 'other')),
          ...compared.ratios('gate', 'floor'),
          ...(other === undefined ? [] : compared.ratios('other', 'floor')),
        ],
        rows: compared.rows,
      },
    });
  } finally {
    await Promise.all([load, tools, ...children].map((child) => child.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

const toolNames = (more: number): string[] => [
  ...new Set(Object.values(KINDS).map(({ tool }) => tool)),
  ...Array.from({ length: more }, (_, of) => `get_record_${of}`),
];

/** The agent asks for its tools once, as an MCP client does. */
async function listTools(url: string): Promise<void> {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
  if (!answer.ok) throw new Error(`the tools are not listed: ${answer.status} ${await answer.text()}`);
}
