import type { InspectRequest, InspectionResponse, JudgingNow } from '../../contracts/inspection.js';

/** Brain as the pipeline sees it. Throws when there is no verdict; the pipeline then continues with policy alone. */
export interface Inspector {
  /** `timeoutMs`: how long somebody waits for the answer; without it a time of the inspector's own. */
  inspect(request: InspectRequest, limit?: { readonly timeoutMs: number }): Promise<InspectionResponse>;
  /**
   * Inspects the calls of one request, in order; size and time limits apply to all of them together. Absent when each call is inspected by
   * itself.
   */
  inspectAll?(calls: readonly InspectRequest[]): Promise<readonly InspectionResponse[]>;
}

/** An inspector that can report whether it is able to answer. */
export interface ReadyInspector extends Inspector {
  /**
   * Names what answers. Throws, naming the lane that cannot. Deterministic lanes are tried with an ordinary call. Models are not called,
   * because each call costs money; their configuration is checked instead.
   */
  ready(): Promise<string>;
  /** What judges, as the evidence of a verdict names it. */
  snapshot(): JudgingNow;
}
