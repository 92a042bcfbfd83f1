import type { InspectionResponse } from '../../contracts/inspection.js';

/** Maps Brain's answer to the policy's `intent_score`. An unavailable Brain counts as authorized: policy still decides. */
export const intentScore = (inspection: Pick<InspectionResponse, 'authorized'> | null): number =>
  inspection === null || inspection.authorized ? 0.1 : 0.5;
