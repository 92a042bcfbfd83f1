import { DECISION_CONTRACT } from '../../contracts/call.js';
import { GateError } from '../errors.js';
import type { SelectedContract } from './contract-selection.js';

/** What a 202 gave its caller, shown again: which review of which request. */
export interface PendingHandle {
  readonly pendingId: string;
  readonly payloadSha256: string;
}

/**
 * The handle of `X-Gate-Pending-Id` and `X-Gate-Pending-Payload-Sha256` (docs/architecture/requests-and-answers.md#resuming-a-decision);
 * `null` without them. Throws the selector's error where one is missing, or where no decision is asked for.
 */
export function pendingHandleOf(
  headers: { readonly pendingId: string | undefined; readonly payloadSha256: string | undefined },
  selected: SelectedContract | null,
): PendingHandle | null {
  const { pendingId, payloadSha256 } = headers;
  if (pendingId === undefined && payloadSha256 === undefined) return null;
  const fields = { contract: DECISION_CONTRACT, executable: false };
  if (selected?.contract !== DECISION_CONTRACT)
    throw new GateError('decision_selector_invalid', `the headers of a handle belong to ${DECISION_CONTRACT}`, {
      fields,
    });
  if (pendingId === undefined || payloadSha256 === undefined)
    throw new GateError(
      'decision_selector_invalid',
      'X-Gate-Pending-Id and X-Gate-Pending-Payload-Sha256 are sent together',
      { fields },
    );
  return { pendingId, payloadSha256 };
}
