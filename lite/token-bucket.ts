import { LRUCache } from 'lru-cache';

const MAX_BUCKETS = 10_000;

/** A bucket per key (lite sheet 12): starts full, refills `qps` per second up to `burst`. Returns 0, or the seconds to wait. */
export function tokenBuckets(qps: number, burst: number): (key: string, nowMs: number) => number {
  const buckets = new LRUCache<string, { tokens: number; atMs: number }>({ max: MAX_BUCKETS });
  return (key, nowMs) => {
    const bucket = buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) / 1000) * qps);
    const taken = tokens >= 1;
    buckets.set(key, { tokens: taken ? tokens - 1 : tokens, atMs: nowMs });
    return taken ? 0 : Math.max(1, Math.ceil((1 - tokens) / qps));
  };
}
