import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChildProcess } from './child.js';
import type { LiteGateQuestions } from './lite-gate-process.js';
import type { LiteLoadQuestions } from './lite-load-process.js';
import type { LiteUpstreamQuestions } from './lite-upstream-process.js';
import { describeMachine, residentMibOf, type Machine } from './machine.js';
import { median, quantile, rounded } from './numbers.js';

/** A native implementation on such a machine. Rates are per second. */
export const NATIVE = {
  allow: { p50_ms: 1.9, rate: 580 },
  decision: { p50_ms: 0.52, rate: 2_140 },
  deny: { p50_ms: 0.72, rate: 1_970 },
  park: null,
} as const;

const KINDS = {
  allow: { contract: 'gate.server-execution/v1', tool: 'read_file', status: '200' },
  decision: { contract: 'gate.decision/v1', tool: 'read_file', status: '200' },
  deny: { contract: 'gate.server-execution/v1', tool: 'delete_file', status: '403' },
  park: { contract: 'gate.server-execution/v1', tool: 'wire_transfer', status: '202' },
} as const;
export type LiteKind = keyof typeof KINDS;
export const LITE_KINDS = Object.keys(KINDS) as LiteKind[];

export interface LiteFigure {
  readonly kind: LiteKind;
  readonly concurrency: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly cpu_ms_per_call: number;
  /** Twice the rate of the native implementation at 16, its p50 at 1; `null` where it has no figure. */
  readonly goal: number | null;
  readonly reached: boolean | null;
  /** Answers that were not the expected one. */
  readonly wrong: number;
}

export interface LiteBench {
  readonly machine: Machine;
  readonly resident_mib: number;
  readonly figures: readonly LiteFigure[];
}

/**
 * Lite over a durable file: generator, tools and Gate each in a process of their own, on loopback. Every answer is durable before it is
 * given. One kind after the other, a warm-up before each.
 */
export async function runLiteBench({
  seconds = 15,
  kinds = LITE_KINDS,
  say = () => undefined,
}: {
  seconds?: number;
  kinds?: readonly LiteKind[];
  say?: (line: string) => void;
} = {}): Promise<LiteBench> {
  const folder = mkdtempSync(join(tmpdir(), 'gate-bench-lite-'));
  const machine = describeMachine(folder);
  const load = startChildProcess<LiteLoadQuestions>('lite-load-process.js');
  const tools = startChildProcess<LiteUpstreamQuestions>('lite-upstream-process.js');
  const gate = startChildProcess<LiteGateQuestions>('lite-gate-process.js');
  try {
    const upstream = await tools.ask.start();
    const url = await gate.ask.start({ upstream, ledger: join(folder, 'gate-lite.db') });
    const figures: LiteFigure[] = [];
    for (const kind of kinds) {
      const { contract, tool, status } = KINDS[kind];
      const call = { url, contract, tool };
      const maxCalls = 10_000_000;
      await load.ask.press({ call, concurrency: 16, forMs: Math.min(3_000, seconds * 400), maxCalls });
      for (const concurrency of [1, 16]) {
        const cpuBefore = await gate.ask.cpuMs();
        const { latencies, tookMs, answers } = await load.ask.press({
          call,
          concurrency,
          forMs: seconds * 1_000,
          maxCalls,
        });
        const cpuMs = (await gate.ask.cpuMs()) - cpuBefore;
        const perSecond = (latencies.length * 1_000) / tookMs;
        const native = NATIVE[kind];
        const goal = native && (concurrency === 1 ? native.p50_ms : 2 * native.rate);
        const p50 = median(latencies);
        figures.push({
          kind,
          concurrency,
          per_second: Math.round(perSecond),
          p50_ms: rounded(p50),
          p99_ms: rounded(quantile(latencies, 0.99)),
          cpu_ms_per_call: rounded(cpuMs / latencies.length),
          goal,
          reached: goal === null ? null : concurrency === 1 ? p50 <= goal : perSecond >= goal,
          wrong: latencies.length - (answers[status] ?? 0),
        });
        say(`${kind} at ${concurrency}: ${Math.round(perSecond)} per second, p50 ${rounded(p50)} ms`);
      }
    }
    return { machine, resident_mib: residentMibOf(gate.pid), figures };
  } finally {
    await Promise.all([load.stop(), gate.stop(), tools.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}
