import { clocksNow } from '../../domain/clocks.js';
import type { CallStore } from '../../domain/call/ports.js';

/** Readiness: throws what is wrong with this process's clock by that of its store. */
export async function clockHolds(
  whose: string,
  calls: Pick<CallStore, 'clockMs'>,
  now: () => number = Date.now,
): Promise<void> {
  const { fault } = await clocksNow(whose, now, () => calls.clockMs());
  if (fault !== null) throw new Error(fault);
}
