/**
 * So far the clocks of two processes of one Gate may be apart. What is of later than that was made while a clock was ahead, and is not believed. The
 * console and HIL go by the same number, so that HIL believes each session that the console lets in.
 */
export const CLOCKS_APART_MS = 60_000;

/** What is wrong with a clock by that of its store; `null` where they agree, or the store has no other clock (`null`). */
function clockFault(whose: string, nowMs: number, storeMs: number | null): string | null {
  if (storeMs === null || Math.abs(nowMs - storeMs) <= CLOCKS_APART_MS) return null;
  const seconds = Math.round(Math.abs(nowMs - storeMs) / 1_000);
  return `the clock of ${whose} is ${seconds} s ${nowMs > storeMs ? 'ahead of' : 'behind'} that of its database`;
}

/**
 * The clock of a process and that of its store, asked now. An answer may be long in coming, and the store looked at its clock at some moment
 * meanwhile: `nowMs` is what the own clock said then, as far as the two can agree, and only what no such moment explains is a fault.
 */
export async function clocksNow(
  whose: string,
  now: () => number,
  askStore: () => Promise<number | null>,
): Promise<{ readonly fault: string | null; readonly nowMs: number; readonly storeMs: number | null }> {
  const beforeMs = now();
  const storeMs = await askStore();
  const afterMs = now();
  const nowMs = Math.max(Math.min(beforeMs, afterMs), Math.min(storeMs ?? beforeMs, Math.max(beforeMs, afterMs)));
  return { fault: clockFault(whose, nowMs, storeMs), nowMs, storeMs };
}
