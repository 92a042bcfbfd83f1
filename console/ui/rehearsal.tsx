import { REHEARSAL, REHEARSAL_TOLD } from '../../domain/review/rehearsal.js';

/** Marks a review that no agent's call asked for. */
export const Rehearsal = () => (
  <span class="tag rehearsal" title={REHEARSAL_TOLD}>
    {REHEARSAL}
  </span>
);

/** What that means, before it is decided. */
export const RehearsalTold = () => (
  <p class="standing" data-rehearsal>
    {REHEARSAL_TOLD}
  </p>
);
