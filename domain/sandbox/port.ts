import type { SandboxReport, SandboxRequest } from '../../contracts/sandbox.js';

/** Predicts what a call would do. Rejects with `sandbox_unavailable` when there is no report in time; asking again is safe. */
export interface Sandbox {
  analyze(request: SandboxRequest): Promise<SandboxReport>;
}
