import { seededRandom } from './random.js';

/**
 * What one run takes of a table whose rows are tried against the same code: `count` of them, others in each run, by a seed that is printed.
 * `GATE_TEST_ALL=1` takes every row, which is how a change of that code is tried (`docs/decisions/tests-in-parts.md`). In the order of the table.
 */
export function someOf<T>(name: string, all: readonly T[], count: number): readonly T[] {
  if (process.env['GATE_TEST_ALL'] === '1' || count >= all.length) return all;
  const random = seededRandom(name);
  const taken = new Set<number>();
  while (taken.size < count) taken.add(Math.floor(random.next() * all.length));
  return all.filter((_, index) => taken.has(index));
}

/**
 * What one run takes of the pairs of a table: one of `share` of each row, and of each column where there are as many rows, so that neither is
 * ever left out. Where there are fewer columns than `share`, each row is tried in one of them.
 */
export function pairsOf(name: string, columns: number, share: number): (row: number, column: number) => boolean {
  if (process.env['GATE_TEST_ALL'] === '1') return () => true;
  const turns = Math.max(1, Math.min(share, columns));
  const first = Math.floor(seededRandom(name).next() * turns);
  return (row, column) => (row + column + first) % turns === 0;
}

/** How often something random is played in a run, and with `GATE_TEST_ALL=1`. */
export const timesOf = (usual: number, all: number): number => (process.env['GATE_TEST_ALL'] === '1' ? all : usual);

/** One row of each kind in each run, others in each, by a seed that is printed; `GATE_TEST_ALL=1` takes every row. In the order of the table. */
export function oneOfEach<T>(name: string, all: readonly T[], kindOf: (row: T) => string): readonly T[] {
  if (process.env['GATE_TEST_ALL'] === '1') return all;
  const random = seededRandom(name);
  const kinds = new Set(all.map(kindOf));
  const taken = new Set([...kinds].map((kind) => random.pick(all.filter((row) => kindOf(row) === kind))));
  return all.filter((row) => taken.has(row));
}
