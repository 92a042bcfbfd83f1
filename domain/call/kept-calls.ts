import { LRUCache } from 'lru-cache';
import { HISTORY_LENGTH, type HistoryEvent } from '../../contracts/policy.js';
import type { OpenedRecord } from './sealed-record.js';

/** Records of running calls are kept decrypted, because each is read a dozen times within the milliseconds that a call takes. */
const KEPT_RECORDS = 2_000;
const KEPT_RESULT_BYTES = 16_000_000;
const KEPT_HISTORIES = 1_000;

/** What a process keeps decrypted of its running calls. */
export interface KeptCalls {
  /** When nobody else writes the store, the kept record is the stored one. Otherwise it is what a step of this process left. */
  readonly alone: boolean;
  record(correlationId: string): OpenedRecord | undefined;
  hold(opened: OpenedRecord): void;
  /** The kept record of this call is not the stored one. */
  drop(correlationId: string): void;
  /** A result is read once, by the waiting caller, just after it was stored; later readers get it from the store. */
  takeResult(correlationId: string): Buffer | undefined;
  holdResult(correlationId: string, result: Uint8Array): void;
  history(agent: string): readonly HistoryEvent[] | undefined;
  holdHistory(agent: string, steps: readonly HistoryEvent[]): void;
  /** A call was counted: a kept history gets its steps too, unless they are older than its newest one. */
  counted(agent: string, steps: readonly HistoryEvent[]): void;
  /** Drops records and results, which somebody else may have removed from the store; with `all`, histories too. */
  clear(all?: boolean): void;
}

/** For a store that only this process writes. */
export function keptCalls(): KeptCalls {
  const records = new LRUCache<string, OpenedRecord>({ max: KEPT_RECORDS });
  const results = new LRUCache<string, Buffer>({
    max: KEPT_RECORDS,
    maxSize: KEPT_RESULT_BYTES,
    sizeCalculation: (result) => result.byteLength + 1,
  });
  const histories = new LRUCache<string, readonly HistoryEvent[]>({ max: KEPT_HISTORIES });
  return {
    alone: true,
    record: (id) => records.get(id),
    hold: (opened) => void records.set(opened.record.correlation_id, opened),
    drop(id) {
      records.delete(id);
      results.delete(id);
    },
    takeResult(id) {
      const result = results.get(id);
      results.delete(id);
      return result;
    },
    holdResult: (id, result) => void results.set(id, Buffer.from(result)),
    history: (agent) => histories.get(agent),
    holdHistory: (agent, steps) => void histories.set(agent, steps),
    counted(agent, steps) {
      const kept = histories.get(agent);
      if (!kept) return;
      if ((kept.at(-1)?.ts_ms ?? 0) > (steps[0]?.ts_ms ?? 0)) histories.delete(agent);
      else histories.set(agent, [...kept, ...steps].slice(-HISTORY_LENGTH));
    },
    clear(all = false) {
      records.clear();
      results.clear();
      if (all) histories.clear();
    },
  };
}

/**
 * For a store that other processes also write: a record passes from step to step, and a result once to the waiting caller. Anything else
 * that was read may have changed a moment later.
 */
export function handedCalls(): KeptCalls {
  const { record, hold, drop, takeResult, holdResult, clear } = keptCalls();
  return {
    alone: false,
    record,
    hold,
    drop,
    takeResult,
    holdResult,
    history: () => undefined,
    holdHistory: () => undefined,
    counted: () => undefined,
    clear,
  };
}
