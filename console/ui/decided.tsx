import type { PendingRequest } from '../../contracts/review.js';
import { Foreign, Time } from './parts.js';

type Row = Pick<PendingRequest, 'decided_by' | 'decided_at' | 'decision_reason'>;

/** Who decided a call, when and why. */
export const DecidedBy = ({ row, nowMs }: { readonly row: Row; readonly nowMs: number }) => (
  <>
    {row.decided_by && (
      <>
        by <Foreign text={row.decided_by} />{' '}
      </>
    )}
    {row.decided_at && <Time iso={row.decided_at} nowMs={nowMs} />}
    {row.decision_reason && (
      <>
        : <Foreign text={row.decision_reason} />
      </>
    )}
  </>
);

/** What became of a call, by whom, when and why. */
export const Decided = ({
  row,
  nowMs,
}: {
  readonly row: Row & Pick<PendingRequest, 'status' | 'modification_diff'>;
  readonly nowMs: number;
}) => (
  <>
    <span class={`tag ${row.status}`}>{row.status}</span> {row.modification_diff && 'with changed arguments '}
    <DecidedBy row={row} nowMs={nowMs} />
  </>
);
