import { sandboxReport, sandboxRequest } from '../../../contracts/sandbox.js';
import type { Sandbox } from '../../../domain/sandbox/port.js';
import type { ServiceApp } from '../../plugins/app.js';

/** One report on one call. What is no call is reported as such; 503 `sandbox_unavailable` where there is no report in time. */
export function analyzeRoutes(app: ServiceApp, sandbox: Sandbox): void {
  app.post('/analyze', { schema: { body: sandboxRequest, response: { 200: sandboxReport } } }, (request) =>
    sandbox.analyze(request.body),
  );
}
