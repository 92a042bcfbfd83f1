import { LRUCache } from 'lru-cache';
import type { KeptInspection, NotAsStaged, StagedRequest } from './record.js';

const KEPT_REQUESTS = 2_000;
const KEPT_REQUEST_BYTES = 16_000_000;

/** A request with the stored result of its inspection: both are in one row and are read together. */
export interface OpenedRequest {
  readonly request: StagedRequest;
  readonly inspection: KeptInspection | NotAsStaged | null;
}

/**
 * Decrypted requests of running calls. Every step of a call needs its request, and what was staged under an id never changes. Only requests
 * that this process staged, or read and verified, are kept.
 */
export function keptRequests() {
  const kept = new LRUCache<string, { digest: string; opened: OpenedRequest; bytes: number }>({
    max: KEPT_REQUESTS,
    maxSize: KEPT_REQUEST_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  });
  return {
    get(correlationId: string, digest: string): OpenedRequest | undefined {
      const known = kept.get(correlationId);
      return known?.digest === digest ? known.opened : undefined;
    },
    keep(correlationId: string, digest: string, opened: OpenedRequest, bytes: number): void {
      kept.set(correlationId, { digest, opened, bytes });
    },
    inspected(correlationId: string, digest: string, inspection: KeptInspection): void {
      const known = kept.get(correlationId);
      if (known?.digest === digest) kept.set(correlationId, { ...known, opened: { ...known.opened, inspection } });
    },
    forget: (correlationId: string) => void kept.delete(correlationId),
    clear: () => kept.clear(),
  };
}
