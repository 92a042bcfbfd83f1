import { LRUCache } from 'lru-cache';
import type { Limit } from './limit.js';
import { roomFor } from '../room-for.js';

const MAX_BUCKETS = 10_000;

/**
 * A bucket per key (docs/architecture/lite.md#rate-limit): starts full, refills `qps` per second up to `burst`; more tokens than that are
 * never there.
 */
export function tokenBuckets(qps: number, burst: number): Limit {
  const buckets = new LRUCache<string, { tokens: number; atMs: number }>(roomFor(MAX_BUCKETS));
  return {
    take(key, count, nowMs) {
      const bucket = buckets.get(key) ?? { tokens: burst, atMs: nowMs };
      const tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * qps);
      const taken = tokens >= count;
      buckets.set(key, { tokens: taken ? tokens - count : tokens, atMs: nowMs });
      return taken ? 0 : Math.max(1, Math.ceil((count - tokens) / qps));
    },
  };
}
