import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';

/** An expression literal of the product, and the first file that holds it. */
export interface WrittenExpression {
  readonly file: string;
  readonly pattern: string;
  readonly flags: string;
}

/** Files whose expressions never meet text from agents or upstreams, each with what they read instead. */
export const NOT_FROM_OUTSIDE: Readonly<Record<string, string>> = {
  'domain/policy/rule-metadata.ts': 'rule files, which ship with Gate or which its operator writes',
  'scripts/find-hollow.ts': 'the sources of this repository, while it is tested',
  'scripts/find-hollow-routes.ts': 'the same sources',
};

const NOT_PRODUCT = new Set(['node_modules', 'dist', 'test', 'bench', '.git', '.cache', '.gate']);

/** Every source file of the product below a folder, by its path from the root. */
export function productFiles(root: string, below = ''): string[] {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) return NOT_PRODUCT.has(entry.name) ? [] : productFiles(root, path);
    return /\.(?:tsx?|mjs)$/.test(entry.name) && !/\.test\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** The expression literals of a text, read from its syntax tree: comments and strings hold none. */
export function expressionsIn(file: string, source: string): WrittenExpression[] {
  const found: WrittenExpression[] = [];
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(walk);
    if (node === null || typeof node !== 'object') return;
    const { type, pattern, flags } = node as { type?: unknown; pattern?: unknown; flags?: unknown };
    if (type === 'RegExpLiteral') found.push({ file, pattern: String(pattern), flags: String(flags) });
    Object.values(node).forEach(walk);
  };
  walk(parseSync(source, { syntax: 'typescript', tsx: file.endsWith('.tsx'), target: 'es2022' }));
  return found;
}

export const expressionsOf = (root: string): WrittenExpression[] =>
  productFiles(root)
    .filter((file) => !(file in NOT_FROM_OUTSIDE))
    .flatMap((file) => expressionsIn(file, readFileSync(join(root, file), 'utf8')));

/** No more runs are begun past this: work that takes so long has been measured well enough by a few. */
const RUNS_LIMIT_MS = 1_000;

/** The shortest of a few runs: what else the machine does can only make one longer. */
export function shortest(runs: number, work: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  let spent = 0;
  for (let run = 0; run < runs && spent < RUNS_LIMIT_MS; run += 1) {
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    const took = (user + system) / 1_000;
    spent += took;
    best = Math.min(best, took);
  }
  return best;
}

/** From a size to four times that size linear work takes four times as long, quadratic work sixteen times, cubic sixty-four. */
const SUPERLINEAR = 10;
/** What grows so steeply from n to 4n grows at least this much from 2n to 4n (four times, if quadratic): less is a step, not growth. */
const STILL_GROWING = 3;
/** A ratio that even one run shows to be no more than this is that of linear work: a hiccup does not hide sixteen. */
const PLAINLY_LINEAR = 5;
/** Below this many milliseconds a ratio says nothing; superlinear work of the sizes used here takes far more. */
const MEASURABLE_MS = 25;
/** Quadratic work of half a second takes eight at four times its size: past that there is nothing left to doubt. */
const LONG_MS = 500;
/** Linear work at four times the size takes four times as long; less than this much longer, and it no longer reads everything. */
const BOUNDED = 1.3;

/** Whether the time of the large size against that of the small one is that of superlinear work. */
const isSteep = (small: number, large: number): boolean =>
  large >= MEASURABLE_MS && large >= SUPERLINEAR * Math.max(small, 0.2);

/**
 * Times of n, 2n and 4n, or null where they are not those of superlinear work. One run of the large size is enough to say that they are
 * not, because more could only make it shorter; a doubtful measurement is taken again, twice, with more runs.
 */
function steepTimes(work: (size: number) => () => void, n: number): number[] | null {
  const large = work(4 * n);
  const once = shortest(1, large);
  if (once < MEASURABLE_MS) return null;
  const small = work(n);
  const first = shortest(1, small);
  if (once <= PLAINLY_LINEAR * first || !isSteep(Math.min(first, shortest(1, small)), once)) return null;
  const sizes = [small, work(2 * n), large];
  let times: number[] = [];
  for (const runs of [6, 12]) {
    times = sizes.map((run) => shortest(runs, run));
    const [one = 0, two = 0, four = 0] = times;
    if (!isSteep(one, four) || four < STILL_GROWING * two) return null;
  }
  return times;
}

/**
 * What is wrong with how the time of `work` grows from n to 2n to 4n, or null.
 * A step that stands at one size only, where a heap grows and is collected for the first time, is no growth: superlinear work is as steep
 * from 4n on, so that is looked at before anything is said, unless 4n took so long already that 16n would take minutes. Work that hardly
 * grows from there has a bound on what it reads, and is superlinear below it.
 */
export function growthFault(work: (size: number) => () => void, n: number): string | null {
  const times = steepTimes(work, n);
  if (!times) return null;
  const large = times.at(-1) ?? 0;
  if (large < LONG_MS && !steepTimes(work, 4 * n) && shortest(2, work(16 * n)) > BOUNDED * large) return null;
  return `took ${times.map((ms) => ms.toFixed(1)).join(', ')} ms for n, 2n, 4n`;
}
