import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChildProcess } from './child.js';
import type { LiteGateQuestions } from './lite-gate-process.js';
import type { LiteUpstreamQuestions } from './lite-upstream-process.js';
import { describeMachine } from './machine.js';
import { writeReport } from './report.js';
import type { SdkLoadQuestions } from './sdk-load-process.js';
import { checked, compareSides, type Side } from './sides.js';

const KINDS = {
  allow: { tool: 'read_file', bare: '200', sdk: 'allow' },
  deny: { tool: 'delete_file', bare: '403', sdk: 'deny' },
} as const;
type Kind = keyof typeof KINDS;

/** What the agent SDK adds to a question over the same request by hand. Lite and each asking side are processes of their own, on loopback. */
export async function runSdkBench({
  rounds,
  roundMs,
  say,
}: {
  readonly rounds: number;
  readonly roundMs: number;
  readonly say: (line: string) => void;
}): Promise<void> {
  const folder = mkdtempSync(join(process.env.GATE_BENCH_DIR ?? tmpdir(), 'gate-bench-sdk-'));
  const tools = startChildProcess<LiteUpstreamQuestions>('lite-upstream-process.js');
  const gate = startChildProcess<LiteGateQuestions>('lite-gate-process.js');
  const askers = (['sdk', 'bare'] as const).map((through) => ({
    through,
    child: startChildProcess<SdkLoadQuestions>('sdk-load-process.js'),
  }));
  try {
    const url = await gate.ask.start({ upstream: await tools.ask.start({}), ledger: join(folder, 'gate.db') });
    const sides = askers.map(
      ({ through, child }): Side<Kind> => ({
        name: through,
        async press(kind, concurrency, forMs) {
          const { tool, [through]: expected } = KINDS[kind];
          return checked(expected, await child.ask.press({ url, tool, through, concurrency, forMs, maxCalls: 1e7 }));
        },
        cpuMs: async () => ({ node: await child.ask.cpuMs() }),
      }),
    );
    const compared = await compareSides({ sides, kinds: Object.keys(KINDS) as Kind[], rounds, roundMs, say });
    writeReport('sdk', {
      title: 'What the agent SDK adds to a question',
      machine: describeMachine(folder),
      notes: [
        `${rounds} rounds of ${roundMs / 1000} s per side and concurrency, sides in turns; latencies in ms at concurrency 1, rates at 16.`,
        'Both ask the same lite about the same calls under the decision contract. bare: a request of undici whose answer is read and not understood.',
        'CPU is that of the process that asks.',
      ],
      tables: { ratios: compared.ratios('sdk', 'bare'), rows: compared.rows },
    });
  } finally {
    await Promise.all([tools, gate, ...askers.map(({ child }) => child)].map((child) => child.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}
