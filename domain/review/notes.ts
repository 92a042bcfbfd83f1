import type { AssignRequest, IncidentRequest, PendingRequest } from '../../contracts/review.js';
import { GateError } from '../errors.js';
import { storable } from './storable.js';

/** What people write on a row for each other. It decides nothing, is in no digest, and the row's MAC covers it. */
export interface Notes {
  readonly assigned_to: string | null;
  readonly assigned_by: string | null;
  readonly escalation_pool: string | null;
  readonly escalation_pool_by: string | null;
  readonly incident_summary: string | null;
  readonly incident_by: string | null;
}

export const NO_NOTES: Notes = {
  assigned_to: null,
  assigned_by: null,
  escalation_pool: null,
  escalation_pool_by: null,
  incident_summary: null,
  incident_by: null,
};

/**
 * Who should look at a row and who is told of its escalation, as `by` says; what is not named stays as it is. Throws `not_pending` once nothing is
 * to be decided, and `note_conflict` where it would be given back and somebody else has it by now.
 */
export function assigned(
  { status, decided_by, decided_at, assigned_to: before = null }: PendingRequest,
  { assigned_to, escalation_pool }: AssignRequest,
  by: string,
): Partial<Notes> {
  if (status !== 'pending')
    throw new GateError('not_pending', undefined, { fields: { status, decided_by, decided_at } });
  if (assigned_to === null && before !== null && before !== by)
    throw new GateError('note_conflict', 'Somebody else has this call by now, and he alone gives it back.', {
      fields: { assigned_to: before },
    });
  return {
    ...(assigned_to !== undefined && { assigned_to: storable('assigned_to', assigned_to), assigned_by: by }),
    ...(escalation_pool !== undefined && {
      escalation_pool: storable('escalation_pool', escalation_pool),
      escalation_pool_by: by,
    }),
  };
}

/** What came of a call that was decided. Throws `still_pending` before, and `note_conflict` where there is another note than was expected. */
export function incidentOf(
  { status, incident_summary: before = null, incident_by: writer }: PendingRequest,
  { incident_summary, expected_summary: expected }: IncidentRequest,
  by: string,
): Partial<Notes> {
  if (status === 'pending') throw new GateError('still_pending');
  // The same again of the same person was saved, and its answer lost.
  const isAgain = before === incident_summary && writer === by;
  if (expected !== undefined && expected !== before && !isAgain) throw new GateError('note_conflict');
  return { incident_summary: storable('incident_summary', incident_summary), incident_by: by };
}
