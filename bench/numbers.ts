/** The value below which the share `q` of the sample lies; `NaN` of an empty sample. */
export function quantile(sample: readonly number[], q: number): number {
  const sorted = sample.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export const median = (sample: readonly number[]): number => quantile(sample, 0.5);

export const sum = (sample: readonly number[]): number => sample.reduce((total, value) => total + value, 0);

/** To as many decimals as the value is worth reading: 3 significant digits at most below 100. */
export const rounded = (value: number): number => (Number.isFinite(value) ? Number(value.toPrecision(3)) : value);

/** What was promised, in milliseconds unless it says otherwise, and what came of it. */
export interface Goal {
  readonly goal: string;
  readonly at_most: number;
  readonly measured: number | null;
  readonly met: 'yes' | 'no' | 'not measured';
}

/** Of each promise a line, also of one of which a run measured nothing. */
export function goalMet(goal: string, atMost: number, measured: readonly number[]): Goal {
  const most = measured.length === 0 ? null : Math.max(...measured);
  return { goal, at_most: atMost, measured: most, met: most === null ? 'not measured' : most <= atMost ? 'yes' : 'no' };
}
