import type { ListedStatus } from '../../contracts/review.js';
import { statusTold } from '../decision/transitions.js';
import type { CallRecord } from './record.js';

export interface ReviewTold {
  /** `aborted`: closed by Gate itself, be it after somebody approved. `withdrawn`: taken back by its agent. */
  readonly status: ListedStatus;
  /** What the agent may rest on; never an allow of a call that was closed. */
  readonly decision: 'allow' | 'deny' | null;
}

const DECISION = { approved: 'allow', denied: 'deny', expired: null, aborted: null, withdrawn: null } as const;

/** How the review of a parked call ended, in the words that polls and callbacks share (docs/architecture/requests-and-answers.md#polling). */
export function reviewTold({ state, decision }: Pick<CallRecord, 'state' | 'decision'>): ReviewTold {
  if (state === 'aborted' || state === 'tampered') return { status: 'aborted', decision: null };
  if (decision === null) return { status: 'pending', decision: null };
  const status = statusTold(decision);
  return { status, decision: DECISION[status] };
}
