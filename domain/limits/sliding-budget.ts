import { LRUCache } from 'lru-cache';

export interface SlidingBudget {
  /** Takes so much and returns 0, or takes nothing and returns the seconds to wait. */
  take(key: string, amount: number, nowMs: number): number;
  /** What `take` would return, with nothing taken. */
  look(key: string, nowMs: number): number;
}

const MAX_KEYS = 10_000;
/** How many parts a window is counted in: exact to one part, and memory stays bounded however much is taken. */
const PARTS = 60;

/**
 * So much per key within a window that slides. Refused is who has taken `limit` already: what is taken last may go over it, so that
 * a single thing that is larger than the whole budget can still be had. 0 is no limit.
 */
export function slidingBudget(limit: number, windowMs: number): SlidingBudget {
  const taken = new LRUCache<string, { atMs: number; amount: number }[]>({ max: MAX_KEYS });
  const partMs = windowMs / PARTS;

  const within = (key: string, nowMs: number) => (taken.get(key) ?? []).filter(({ atMs }) => atMs > nowMs - windowMs);
  const waitOf = (parts: readonly { atMs: number; amount: number }[], nowMs: number): number => {
    let left = parts.reduce((sum, { amount }) => sum + amount, 0);
    for (const { atMs, amount } of parts) {
      if (left < limit) return 0;
      left -= amount;
      if (left < limit) return Math.max(1, Math.ceil((atMs + windowMs - nowMs) / 1000));
    }
    return 0;
  };
  return {
    look: (key, nowMs) => (limit === 0 ? 0 : waitOf(within(key, nowMs), nowMs)),
    take(key, amount, nowMs) {
      if (limit === 0) return 0;
      const parts = within(key, nowMs);
      const secs = waitOf(parts, nowMs);
      if (secs === 0) {
        const newest = parts.at(-1);
        if (newest && nowMs - newest.atMs < partMs) newest.amount += amount;
        else parts.push({ atMs: nowMs, amount });
      }
      taken.set(key, parts);
      return secs;
    },
  };
}
