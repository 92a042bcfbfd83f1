import type { CallStore } from './ports.js';

const STAGED_FOR_MS = 3_600_000;

/**
 * What may be deleted from the store: hits that no window counts any more, requests staged an hour ago that never got a record, and records
 * past their retention.
 */
export const purgeTimes = (
  nowMs: number,
  { windowMs, retentionMs }: { readonly windowMs: number; readonly retentionMs: number },
): Parameters<CallStore['purge']>[0] => ({
  hitsMs: nowMs - 2 * windowMs,
  stagedMs: nowMs - STAGED_FOR_MS,
  recordsMs: nowMs - retentionMs,
});
