/** The value below which the share `q` of the sample lies; `NaN` of an empty sample. */
export function quantile(sample: readonly number[], q: number): number {
  const sorted = sample.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export const median = (sample: readonly number[]): number => quantile(sample, 0.5);

export const sum = (sample: readonly number[]): number => sample.reduce((total, value) => total + value, 0);

/** To as many decimals as the value is worth reading: 3 significant digits at most below 100. */
export const rounded = (value: number): number => (Number.isFinite(value) ? Number(value.toPrecision(3)) : value);
