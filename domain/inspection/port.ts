import type { InspectRequest, InspectionResponse } from '../../contracts/inspection.js';

/** Brain as the pipeline sees it. Throws when no verdict can be had; the pipeline then goes on with policy alone. */
export interface Inspector {
  inspect(request: InspectRequest): Promise<InspectionResponse>;
  /** The calls of one request, in their order: as large as all of them together, and in one time. Absent where each is asked for by itself. */
  inspectAll?(calls: readonly InspectRequest[]): Promise<readonly InspectionResponse[]>;
}

/** An inspector that can say whether it is able to answer. */
export interface ReadyInspector extends Inspector {
  /**
   * What answers. Throws with the lane that cannot: deterministic lanes are asked for an ordinary call, models are not, because each
   * question to them costs (their configuration is looked at instead).
   */
  ready(): Promise<string>;
}
