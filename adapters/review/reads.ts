import type { PendingRequest } from '../../contracts/review.js';
import type { ReviewReads } from '../../domain/review/ports.js';
import { NO_CONTENT, view } from '../../domain/review/review-view.js';
import type { ReviewRows } from './rows.js';
import { sinceLast } from './since-last.js';
import type { Row } from './stored-row.js';

/** Single rows. */
export function reviewReads({ ask, clock, stored, rowOf, check, views }: ReviewRows): ReviewReads {
  async function read(
    column: 'id' | 'correlation_id',
    value: string,
    tenant: string | undefined,
    shown: (row: Row) => PendingRequest = views.whole,
  ): Promise<PendingRequest | null> {
    const row = await stored(column, value.toLowerCase());
    if (!row || (tenant !== undefined && row.tenant !== tenant)) return null;
    const held = await check.held(row);
    return held.withdrawn_at === null ? shown(held) : null;
  }

  return {
    get: (id, tenant) => read('id', id, tenant),
    byCorrelation: (correlationId, tenant) => read('correlation_id', correlationId, tenant),
    anyway: (correlationId, tenant) => read('correlation_id', correlationId, tenant, views.anyway),
    sinceLast: sinceLast({
      ask,
      async opened(id, form) {
        const row = await rowOf(id);
        if (!row || row.withdrawn_at !== null) return null;
        return form === 'whole' ? views.anyway(row) : view(row, NO_CONTENT, clock(), 'summary');
      },
    }),
  };
}
