import { LRUCache } from 'lru-cache';
import type { InspectionResponse } from '../../contracts/inspection.js';

/** Verdicts that were authorised before. Anything shared by several Brains may stand behind the same two calls. */
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
    // The library counts from 1 on, because it takes a start of 0 for "no time to live".
    perf: { now: () => clock() + 1 },
  });
  return { get: (key) => entries.get(key), set: (key, verdict) => void entries.set(key, verdict) };
}
