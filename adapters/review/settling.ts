import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../contracts/json.js';
import type { Modification, PendingRequest, SettledReview } from '../../contracts/review.js';
import { GateError } from '../../domain/errors.js';
import type { ReviewSettling } from '../../domain/review/ports.js';
import { datesOfEnd } from '../../domain/review/retention.js';
import { storedSettlement } from '../../domain/review/sealed-review.js';
import type { Annotations } from '../../domain/review/review-view.js';
import { escalationTimes, mayMove, statusStored } from '../../domain/decision/transitions.js';
import { alreadyDecided, canonicalOr400, untilUnchanged } from './faults.js';
import type { ReviewRows } from './rows.js';
import type { Row } from './stored-row.js';

/** Characters of a name that an index of Postgres takes in any script, beside its other columns. */
const MAX_INDEXED = 256;

/** Rows are settled; until then approvals are counted, and a row that waits too long is escalated. */
export function reviewSettling({ stored, change, check, views, sealing }: ReviewRows): ReviewSettling {
  const escalations: Parameters<ReviewSettling['onEscalated']>[0][] = [];

  /** Adds to what a pending row shows; `add` returns `null` where it is there already. `null` for a row that is gone. */
  const annotatePending = (id: string, add: (told: Annotations) => Partial<Annotations> | null) =>
    untilUnchanged<{ row: PendingRequest; changed: boolean } | null>('the review', async () => {
      const row = await stored('id', id);
      if (!row) return { done: null };
      const known = await check.held(row);
      if (known.withdrawn_at !== null) return { done: null };
      const told = JSON.parse(known.annotations) as Annotations;
      const added = known.status === 'pending' ? add(told) : null;
      if (added === null) return { done: { row: views.anyway(known), changed: false } };
      const to = { annotations: JSON.stringify({ ...told, ...added } satisfies Annotations) };
      return (await change(known, to)) ? { done: { row: views.anyway({ ...known, ...to }), changed: true } } : null;
    });

  /** What is kept of a change of the call: its values are sealed like the call, and go with it. */
  function changeOf(known: Row, { diff, reviewed_digest }: Modification): Json {
    const sealed_diff = sealing.sealDiff(diff, known);
    return sealed_diff === null ? { reviewed_digest } : { reviewed_digest, sealed_diff };
  }

  /** What a settlement makes of the row. */
  const settledRow = (known: Row, settled: SettledReview) => ({
    status: settled.status,
    settled: textOf(settled, settled.modification && changeOf(known, settled.modification)),
    ...datesOfEnd(known, Date.parse(settled.decided_at)),
    decided_ms: Date.parse(settled.decided_at),
    decided_by: settled.decided_by.slice(0, MAX_INDEXED),
    modified: settled.modification === undefined ? null : 1,
  });

  /** Whether the row was settled so before. Of a change whose values have gone there is only the digest of what it made. */
  function isSame(known: Row, settled: SettledReview): boolean {
    const { modification } = storedSettlement(known.settled ?? '{}');
    const isGone = modification?.diff === undefined && modification?.sealed_diff === undefined;
    const told = settled.modification;
    const text = textOf(settled, told && isGone ? { reviewed_digest: told.reviewed_digest, diff: null } : told);
    return views.settledText(known) === text;
  }

  return {
    async settle(given) {
      // A worker of an earlier Gate says of a call that it closed that it expired.
      const settled = { ...given, status: statusStored(given) };
      return untilUnchanged('the review', async () => {
        const row = await stored('id', settled.pending_id);
        if (!row) throw new GateError('not_found');
        const known = await check.held(row);
        if (known.withdrawn_at !== null) throw new GateError('not_pending');
        if (known.settled !== null && isSame(known, settled)) return { done: views.anyway(known) };
        if (!mayMove(known.status, settled.status)) throw alreadyDecided(views.anyway(known));
        const to = settledRow(known, settled);
        return (await change(known, to)) ? { done: views.anyway({ ...known, ...to }) } : null;
      });
    },

    async voted(id, approvals) {
      const written = await annotatePending(id, (told) =>
        isDeepStrictEqual(told.approvals ?? [], approvals) ? null : { approvals },
      );
      return written?.row ?? null;
    },

    async escalated(id, times) {
      let added: readonly string[] = [];
      const written = await annotatePending(id, (told) => {
        const known = escalationTimes(told);
        added = times.slice(known.length);
        const [first, ...again] = [...known, ...added];
        if (added.length === 0 || first === undefined) return null;
        return { escalated_at: first, ...(again.length > 0 && { escalated_again_at: again }) };
      });
      if (written?.changed) for (const listener of escalations) added.forEach(() => listener(written.row));
    },
    onEscalated: (listener) => void escalations.push(listener),
  };
}

/** A settlement as it is stored, with this form of what its approver changed. */
function textOf({ request_id, approvals, modification, ...settled }: SettledReview, change?: Json): string {
  return canonicalOr400('settlement', {
    ...settled,
    ...(request_id !== undefined && { request_id }),
    ...(approvals !== undefined && {
      approvals: approvals.map(({ reason, ...given }) => ({ ...given, ...(reason !== undefined && { reason }) })),
    }),
    ...(modification !== undefined && change !== undefined && { modification: change }),
  });
}
