import { modificationDiff } from '../../contracts/review.js';
import { GateError } from '../../domain/errors.js';
import type { ChangeSeal } from '../../domain/review/carried-change.js';
import type { reviewSealing, StoredReview, WithDataKey } from '../../domain/review/sealed-review.js';

type Row = Pick<StoredReview, 'id' | 'status' | 'payload' | 'purged' | 'withdrawn_at'> & WithDataKey;

/** Changed values on their way through the engine, under the keys of their rows. */
export function changeSealOver({
  sealing,
  rowOf,
}: {
  readonly sealing: Pick<ReturnType<typeof reviewSealing>, 'sealCarried' | 'openCarried'>;
  readonly rowOf: (id: string) => Promise<Row | null>;
}): ChangeSeal {
  async function lockOf(id: string): Promise<Row> {
    const row = await rowOf(id.toLowerCase());
    // The key goes with the request; the payload keys, which stay, are no substitute.
    if (!row || row.withdrawn_at !== null || row.payload === null || row.purged !== null)
      throw new GateError('not_found');
    if (row.status === 'tampered') throw new GateError('review_tampered');
    return row;
  }
  return {
    sealed: async (id, diff) => sealing.sealCarried(diff, await lockOf(id)),
    async opened(id, sealed) {
      const row = await lockOf(id);
      try {
        return modificationDiff.parse(sealing.openCarried(sealed, row));
      } catch (cause) {
        throw new GateError('payload_unavailable', 'the changed values do not open with the key of this review', {
          cause,
        });
      }
    },
  };
}
