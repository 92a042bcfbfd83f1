/** How many decisions took how long, in classes (`migrations/hil-decision-counts.ts`): `125e2` is 12.5 s and less than 13 s. */
export type TookClasses = Readonly<Record<string, number>>;

/** A time that is told is within this share of the exact one. */
export const TOOK_WITHIN = 0.025;

/** The millisecond in the middle of a class. */
function middleOf(name: string): number {
  const [digits = '', zeros = '0'] = name.split('e');
  const first = Number(digits);
  const step = first < 100 ? 1 : first < 200 ? 5 : first < 500 ? 10 : 20;
  const scale = 10 ** Number(zeros);
  return Math.round(first * scale + (step * scale - 1) / 2);
}

export function addedTook(sum: Map<string, number>, classes: TookClasses): void {
  for (const name in classes) sum.set(name, (sum.get(name) ?? 0) + Number(classes[name]));
}

/** The nearest-rank percentile (the value at place ⌈p·n⌉ of n in order) as the middle of its class, in milliseconds; `null` of nothing. */
export function tookAt(sum: ReadonlyMap<string, number>, percent: number): number | null {
  const ordered = [...sum].map(([name, count]) => [middleOf(name), count] as const).toSorted(([a], [b]) => a - b);
  const all = ordered.reduce((n, [, count]) => n + count, 0);
  let left = Math.ceil((percent * all) / 100);
  for (const [ms, count] of ordered) {
    left -= count;
    if (left <= 0) return ms;
  }
  return null;
}
