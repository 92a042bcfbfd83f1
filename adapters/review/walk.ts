import type { ReviewWalk } from '../../domain/review/ports.js';
import { statement } from '../store/statement.js';
import type { ReviewRows } from './rows.js';

/**
 * In the order of the index `reviews_undecided`, whose condition is repeated here word for word, or SQLite would not use it. A deadline beyond
 * what numbers hold is none of Gate's, and no place that a walk could go on from: such a row is shown as tampered, and settling it is refused.
 */
const UNDECIDED = statement<{ id: string; correlation_id: string; ms: number | string }>(
  `select id, correlation_id, deadline_ms as ms from reviews where status = 'pending' and withdrawn_at is null
     and (deadline_ms, id) > (?, ?) and deadline_ms <= ${Number.MAX_SAFE_INTEGER} order by deadline_ms, id limit ?`,
);

/** The walk over rows that nobody has decided. */
export const reviewWalk = ({ ask }: Pick<ReviewRows, 'ask'>): ReviewWalk => ({
  async undecided({ ms, id }, limit) {
    const { rows } = await ask(UNDECIDED, ms, id, limit);
    return rows.map((row) => ({ ...row, ms: Number(row.ms) }));
  },
});
