import { LRUCache } from 'lru-cache';
import type { StagedRequest } from './record.js';

const KEPT_REQUESTS = 2_000;
const KEPT_REQUEST_BYTES = 16_000_000;

/**
 * Requests of calls under way, opened: each is asked for by every step of its call, and what was staged under an id never changes. What is
 * kept is what was staged here or was read and held then.
 */
export function keptRequests() {
  const kept = new LRUCache<string, { digest: string; request: StagedRequest; bytes: number }>({
    max: KEPT_REQUESTS,
    maxSize: KEPT_REQUEST_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  });
  return {
    get(correlationId: string, digest: string): StagedRequest | undefined {
      const known = kept.get(correlationId);
      return known?.digest === digest ? known.request : undefined;
    },
    keep(correlationId: string, digest: string, request: StagedRequest, bytes: number): void {
      kept.set(correlationId, { digest, request, bytes });
    },
    forget: (correlationId: string) => void kept.delete(correlationId),
    clear: () => kept.clear(),
  };
}
