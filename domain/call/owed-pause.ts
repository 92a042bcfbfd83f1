const FIRST_MS = 500;
const LONGEST_MS = 15_000;

/**
 * How long rows that are owed wait after a failed attempt: twice as long each time, up to 15 s. It is between half and all of that by chance,
 * because the rows of all calls of an outage would otherwise come together again each time.
 */
export function owedPauseMs(attempt: number, random: () => number = Math.random): number {
  const ms = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.max(0, attempt - 1));
  return Math.round(ms * (0.5 + random() / 2));
}
