import type { InspectRequest, InspectionResponse } from '../../contracts/inspection.js';

/** Brain as the pipeline sees it. Throws when no verdict can be had; the pipeline then goes on with policy alone. */
export interface Inspector {
  inspect(request: InspectRequest): Promise<InspectionResponse>;
}
