import { sandboxReport } from '../../contracts/sandbox.js';
import { GateError } from '../../domain/errors.js';
import type { Sandbox } from '../../domain/sandbox/port.js';
import { createServiceClient, type ServiceClientOptions } from './service-client.js';

/**
 * The sandbox behind HTTP. Rejects with `sandbox_unavailable` whenever there is no report, whatever the reason: a call waits for review
 * without one. An analysis changes nothing, so asking again is safe.
 */
export function createSandboxClient({ timeoutMs = 1_800, ...options }: ServiceClientOptions): Sandbox {
  const unavailable = (detail: string, cause?: unknown) => new GateError('sandbox_unavailable', detail, { cause });
  const ask = createServiceClient('the sandbox', options, unavailable);
  return {
    async analyze(request) {
      try {
        return await ask(sandboxReport, { method: 'POST', path: '/analyze', timeoutMs, body: request });
      } catch (error) {
        if (error instanceof GateError && error.code !== 'sandbox_unavailable')
          throw unavailable(`${error.code}: ${error.message}`, error);
        throw error;
      }
    },
  };
}
