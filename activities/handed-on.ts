import { LRUCache } from 'lru-cache';
import type { CallInput } from '../contracts/call.js';

/** Calls between two of their steps. */
const KEPT = 2_000;

/** What one step of a call hands to the next one in this process; in another process the next one gets it anew. */
export interface HandedOn<Value> {
  put(call: CallInput, value: Value): void;
  /** Once. `null` where nothing was put for this very call: the same id may be used again, with another body or at another time. */
  take(call: CallInput): { readonly value: Value } | null;
}

export function handedOn<Value>(): HandedOn<Value> {
  const kept = new LRUCache<string, { readonly call: CallInput; readonly value: Value }>({ max: KEPT });
  return {
    put: (call, value) => void kept.set(call.correlation_id, { call, value }),
    take({ correlation_id: id, digest, received_ms }) {
      const known = kept.get(id);
      kept.delete(id);
      return known?.call.digest === digest && known.call.received_ms === received_ms ? { value: known.value } : null;
    },
  };
}
