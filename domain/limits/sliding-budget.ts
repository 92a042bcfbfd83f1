import { LRUCache } from 'lru-cache';
import type { Limit } from './limit.js';
import { roomFor } from '../room-for.js';

export interface SlidingBudget extends Limit {
  /** Returns what `take` would return, but takes nothing. */
  look(key: string, nowMs: number): number;
}

const MAX_KEYS = 10_000;
/** The number of parts a window is counted in. Amounts are exact to one part, and memory stays bounded. */
const PARTS = 60;

/**
 * A budget per key in a sliding window. Refuses a key that has already taken `limit`. The last amount may exceed the limit, so that a
 * single item larger than the whole budget is still possible. A limit of 0 means no limit.
 */
export function slidingBudget(limit: number, windowMs: number): SlidingBudget {
  const taken = new LRUCache<string, { atMs: number; amount: number }[]>(roomFor(MAX_KEYS));
  const partMs = windowMs / PARTS;

  /** What was taken before a clock was set back counts as taken now: it would count for as much longer. */
  const within = (key: string, nowMs: number) =>
    (taken.get(key) ?? [])
      .filter(({ atMs }) => atMs > nowMs - windowMs)
      .map(({ atMs, amount }) => ({ atMs: Math.min(atMs, nowMs), amount }));
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
