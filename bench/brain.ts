import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../config/project-root.js';
import { detectInjection, detectInjectionByBoth, detectInjectionInAnswer } from '../domain/inspection/injection.js';
import { createInspector } from '../domain/inspection/inspector.js';
import { noPersonas } from '../domain/inspection/personas.js';
import { inspectTexts } from '../domain/inspection/texts.js';
import { quantile, rounded, sum } from './numbers.js';

interface BrainRow {
  readonly texts: string;
  readonly reader: string;
  readonly distinct: number;
  readonly mean_characters: number;
  readonly per_second: number;
  readonly p50_us: number;
  readonly p99_us: number;
  readonly resident_mib: number;
}

const MIB = 2 ** 20;

/** Texts of the project's own pages: `of` characters each, or whole paragraphs where it is 0. */
function texts(of: number): string[] {
  const files = execFileSync('git', ['ls-files', 'docs', '*.md', '*.txt'], {
    cwd: PROJECT_ROOT,
    encoding: 'utf8',
  }).split('\n');
  const all = files
    .filter((file) => /\.(?:md|txt)$/.test(file))
    .map((file) => readFileSync(join(PROJECT_ROOT, file), 'utf8'))
    .join('\n\n');
  if (of === 0)
    return all
      .split(/\n\s*\n/)
      .filter((text) => text.trim() !== '')
      .slice(0, 2_000);
  return Array.from({ length: Math.max(1, Math.min(500, Math.floor(all.length / of))) }, (_, index) =>
    all.slice(index * of, (index + 1) * of),
  );
}

/** What the readers of injected instructions cost, beside the whole inspection of a call: each text alone, on one thread. */
export async function runBrainBench({
  rounds,
  say,
}: {
  readonly rounds: number;
  readonly say: (line: string) => void;
}): Promise<readonly BrainRow[]> {
  const inspector = createInspector({ personas: noPersonas });
  const readers: readonly (readonly [string, (text: string, round: number) => unknown])[] = [
    ['reading alone (plain form, decoding)', (text) => inspectTexts({ text }, 'standard')],
    ['grammar alone', (text) => detectInjection('', inspectTexts({ text }, 'standard'))],
    ['grammar and classifier', (text) => detectInjectionByBoth('', inspectTexts({ text }, 'standard'))],
    ['an answer: grammar and both classifiers', (text) => detectInjectionInAnswer(inspectTexts({ text }, 'standard'))],
    [
      'the whole inspection of a call',
      (text, round) =>
        inspector.inspect({
          agent_id: 'bench',
          tenant: 'acme',
          method: 'tools/call',
          // Another argument each round, so that no cached verdict answers.
          params: { name: 'create_note', arguments: { text, round } },
          prior_requests: [],
        }),
    ],
  ];
  const rows: BrainRow[] = [];
  for (const [kind, all] of [
    ['paragraphs', texts(0)],
    ['2,000 characters', texts(2_000)],
    ['100,000 characters', texts(100_000)],
  ] as const)
    for (const [reader, read] of readers) {
      const least = all.map(() => Number.POSITIVE_INFINITY);
      for (let round = 0; round < rounds; round += 1)
        for (const [index, text] of all.entries()) {
          const start = process.hrtime.bigint();
          await read(text, round);
          least[index] = Math.min(least[index] as number, Number(process.hrtime.bigint() - start) / 1_000);
        }
      rows.push({
        texts: kind,
        reader,
        distinct: all.length,
        mean_characters: Math.round(sum(all.map(({ length }) => length)) / all.length),
        per_second: rounded(all.length / (sum(least) / 1e6)),
        p50_us: rounded(quantile(least, 0.5)),
        p99_us: rounded(quantile(least, 0.99)),
        resident_mib: Math.round(process.memoryUsage.rss() / MIB),
      });
      say(`${kind}: ${reader}`);
    }
  return rows;
}
