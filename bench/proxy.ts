import { join } from 'node:path';
import { type Child, type OwnMemory, startChildProcess } from './child.js';
import type { LiteGateQuestions } from './lite-gate-process.js';
import { cpuMsOf, describeMachine } from './machine.js';
import { rounded } from './numbers.js';
import type { Ask, Door, ProxyLoadQuestions } from './proxy-load-process.js';
import { writeReport } from './report.js';
import { checked, compareSides, CONCURRENT, type Side, type SideRow } from './sides.js';
import { openStage, type Stage } from './stage.js';

/** Kinds of requests, with what Gate answers; the tools themselves answer each with 200. */
const KINDS = {
  allow: { expected: '200', ask: { method: 'tools/call', params: { name: 'list_files', arguments: {} } } },
  deny: {
    expected: '403',
    ask: { method: 'tools/call', params: { name: 'delete_file', arguments: { path: 'notes.txt' } } },
  },
  park: {
    expected: '202',
    ask: {
      method: 'tools/call',
      params: { name: 'wire_transfer', arguments: { from: 'operating', to: 'vendor', amount: 25 } },
    },
  },
  'tools/list': { expected: '200', ask: { method: 'tools/list', params: {} } },
} as const satisfies Record<string, { expected: string; ask: Ask }>;
export type ProxyKind = keyof typeof KINDS;
export const PROXY_KINDS = Object.keys(KINDS) as ProxyKind[];

export interface ProxyBenchOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly kinds: readonly ProxyKind[];
  readonly say: (line: string) => void;
}

const MAX_CALLS_PER_ROUND = 5_000;

/** A Gate before the tools, and what it costs. */
export interface Doors {
  readonly stage: Stage;
  readonly load: Child<ProxyLoadQuestions>;
  readonly direct: Door;
  readonly gate: { readonly door: Door; readonly pid: number; memory(): Promise<OwnMemory> };
  readonly lite: {
    readonly door: Door;
    readonly pid: number;
    cpuMs(): Promise<number>;
    memory(): Promise<OwnMemory>;
  };
  close(): Promise<void>;
}

/** The same tools behind three doors: none, the full edition and lite. */
export async function openDoors(
  say: (line: string) => void,
  env: { readonly gate?: Record<string, string>; readonly lite?: Record<string, string> } = {},
): Promise<Doors> {
  const stage = await openStage(say);
  const children: { stop(): Promise<void> }[] = [];
  const close = async () => {
    for (const child of children.splice(0).reverse()) await child.stop().catch((error: unknown) => say(String(error)));
    await stage.close();
  };
  try {
    const load = startChildProcess<ProxyLoadQuestions>('proxy-load-process.js');
    children.push(load);
    const gate = await stage.startGate('gate', {
      env: { GATE_PROXY_CONTROL_LIMIT: '0', GATE_UPSTREAM_NAME: 'demo', ...env.gate },
    });
    const lite = startChildProcess<LiteGateQuestions>('lite-gate-process.js');
    children.push(lite);
    const liteUrl = await lite.ask.start({
      upstream: stage.upstreamUrl,
      ledger: join(stage.folder, 'lite.db'),
      env: {
        GATE_LITE_UPSTREAM_ADAPTER: 'mcp-jsonrpc-v1',
        GATE_LITE_CONTROL_LIMIT: '0',
        GATE_LITE_UPSTREAM_NAME: 'demo',
        ...env.lite,
      },
    });
    const contract = 'gate.server-execution/v1';
    const { url, ...tls } = gate.target;
    return {
      stage,
      load,
      direct: { url: stage.upstreamUrl },
      gate: { door: { url: `${url}/mcp`, tls, contract }, pid: gate.child.pid, memory: () => gate.child.ask.memory() },
      lite: {
        door: { url: `${liteUrl}/mcp`, contract },
        pid: lite.pid,
        cpuMs: () => lite.ask.cpuMs(),
        memory: () => lite.ask.memory(),
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What Gate adds to a request over the same request to the same tools, by kind, sides in turns within one run. */
export async function runProxyBench({ rounds, roundMs, kinds, say }: ProxyBenchOptions): Promise<void> {
  const doors = await openDoors(say);
  const { stage, load } = doors;
  try {
    const machine = describeMachine(stage.folder);
    const side = (
      name: string,
      door: Door,
      statusOf: (kind: ProxyKind) => string,
      cpuMs: Side<ProxyKind>['cpuMs'],
    ): Side<ProxyKind> => ({
      name,
      press: async (kind, concurrency, forMs) =>
        checked(
          statusOf(kind),
          await load.ask.press({ door, ask: KINDS[kind].ask, concurrency, forMs, maxCalls: MAX_CALLS_PER_ROUND }),
        ),
      cpuMs,
    });
    const sides = [
      side(
        'gate',
        doors.gate.door,
        (kind) => KINDS[kind].expected,
        async () => ({
          node: cpuMsOf(doors.gate.pid),
          engine: cpuMsOf(stage.engine.pid),
        }),
      ),
      side(
        'lite',
        doors.lite.door,
        (kind) => KINDS[kind].expected,
        async () => ({ node: await doors.lite.cpuMs() }),
      ),
      side(
        'direct',
        doors.direct,
        () => '200',
        async () => ({ node: cpuMsOf(stage.upstreamPid) }),
      ),
    ];
    const compared = await compareSides({ sides, kinds, rounds, roundMs, say });
    writeReport('proxy', {
      title: 'What Gate adds to a request over asking the same tools directly',
      machine,
      notes: [
        `${rounds} rounds of ${roundMs / 1000} s per side and concurrency, sides in turns; latencies in ms at concurrency 1, rates at ${CONCURRENT}.`,
        'direct: the same request to the same tools, a minimal MCP server that answers at once; so a ratio is large, and the added time is what an agent feels.',
        'gate: the full edition over mutual TLS, every service in one process, its engine beside it. lite: one process, plain HTTP. Every answer of both is durable before it is given.',
        'deny and park never reach the tools; over them stands the call that the agent wanted to make.',
      ],
      tables: {
        added: added(compared.rows),
        ratios: ['gate', 'lite'].flatMap((name) => compared.ratios(name, 'direct')),
        rows: compared.rows,
      },
    });
  } finally {
    await doors.close();
  }
}

/** The difference of the medians and of the 95th percentiles, at concurrency 1, in milliseconds. */
function added(rows: readonly SideRow<ProxyKind>[]): object[] {
  return rows.flatMap((row) => {
    const direct = rows.find(({ kind, side }) => kind === row.kind && side === 'direct');
    if (!direct || row === direct) return [];
    const { kind, side, p50, p95 } = row;
    return [{ kind, side, added_p50: rounded(p50 - direct.p50), added_p95: rounded(p95 - direct.p95) }];
  });
}
