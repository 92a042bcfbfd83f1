const UNITS = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

const YEAR_MS = 365.25 * 86_400_000;

/** How long something lasts, in its largest whole unit: `9 min`, `12 s`, `2 days`, `3 years`. */
export function spanTold(ms: number): string {
  const length = Math.abs(ms);
  // Two years and more: nobody reads 26,695 days.
  if (length >= 2 * YEAR_MS) return `${Math.floor(length / YEAR_MS)} years`;
  const [unit, size] = UNITS.find(([, of]) => length >= of) ?? UNITS[3];
  const count = Math.floor(length / size);
  return `${count} ${unit}${unit === 'day' && count !== 1 ? 's' : ''}`;
}

/** How far a time is away: `in 9 min`, `12 s ago`, `now`. Server and script write it alike, so that nothing jumps when the clock goes on. */
export function relativeTime(awayMs: number): string {
  if (Math.abs(awayMs) < 1_000) return 'now';
  return awayMs > 0 ? `in ${spanTold(awayMs)}` : `${spanTold(awayMs)} ago`;
}
