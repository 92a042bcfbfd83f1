import type { CallStore } from '../domain/call-record/call-store.js';
import type { StagedRequest } from '../domain/call-record/record.js';
import { NotAsStaged } from '../domain/call-record/sealed-record.js';

/** The request that was judged, `null` when it is gone, or why what lies there is not it. */
export const stagedFor = (
  calls: CallStore,
  correlationId: string,
  digest: string,
): Promise<StagedRequest | NotAsStaged | null> =>
  calls
    .request(correlationId, digest)
    .catch((error: unknown) => (error instanceof NotAsStaged ? error : Promise.reject(error)));
