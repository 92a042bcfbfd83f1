import type { PendingRequest } from '../../contracts/review.js';
import { capitalized } from '../text.js';

/** What a review that no agent's call asked for is named, wherever people see one (docs/architecture/reviews.md#a-review-without-a-call). */
export const REHEARSAL = 'rehearsal';
/** What that means, for whoever is about to decide. */
export const REHEARSAL_MEANS = 'no agent asked for it, and nothing runs, whatever is decided';
/** Both, as a sentence. */
export const REHEARSAL_TOLD = `${capitalized(REHEARSAL)}: ${REHEARSAL_MEANS}.`;

/** Whether an agent's call asked for the row, and not a service: what an agent did is not told by a rehearsal in its name. */
export const isOfCall = ({ agent_spiffe }: Pick<PendingRequest, 'agent_spiffe'>): boolean =>
  !/^spiffe:\/\/[^/]{1,255}\/service\//.test(agent_spiffe ?? '');

/** Whether the row is a rehearsal. It says so by who asked for it, which is Gate's own word: no name that an agent chooses makes one. */
export const isRehearsal = (row: Pick<PendingRequest, 'agent_spiffe'>): boolean => !isOfCall(row);
