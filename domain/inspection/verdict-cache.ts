import { LRUCache } from 'lru-cache';
import type { InspectionResponse } from '../../contracts/inspection.js';

/** Authorised verdicts. A cache shared by several Brains can implement the same two methods. */
export interface VerdictCache {
  get(key: string): InspectionResponse | undefined;
  set(key: string, verdict: InspectionResponse): void;
}

const MAX_ENTRIES = 10_000;
const TTL_MS = 300_000;

/** The 10,000 most recently used verdicts, each for 300 seconds by `clock` (milliseconds). */
export function createVerdictCache(clock: () => number = () => performance.now()): VerdictCache {
  const entries = new LRUCache<string, InspectionResponse>({
    max: MAX_ENTRIES,
    ttl: TTL_MS,
    ttlResolution: 0,
    // Starts at 1, because the library takes a start time of 0 for "no time to live".
    perf: { now: () => clock() + 1 },
  });
  return { get: (key) => entries.get(key), set: (key, verdict) => void entries.set(key, verdict) };
}
