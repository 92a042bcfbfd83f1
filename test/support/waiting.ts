import { setTimeout as sleep } from 'node:timers/promises';

const WAIT_LIMIT_MS = 60_000;
const LONGEST_PAUSE_MS = 50;

/** Looks until `look` gives something, for a bounded time. */
export async function eventually<Found>(
  what: string,
  look: () => Promise<Found | null | undefined | false> | Found | null | undefined | false,
): Promise<Found> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`not within ${WAIT_LIMIT_MS / 1000} s: ${what}`);
    await sleep(pauseMs);
  }
}

/**
 * Lets real time pass where time is what is tested, or where there is nothing to wait for because nothing is to happen; `_why` says which.
 * Whatever does happen is waited for with `eventually`.
 */
export const timePasses = (ms: number, _why: string): Promise<void> => sleep(ms);
