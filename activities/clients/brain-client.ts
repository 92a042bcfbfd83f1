import { inspectionResponse } from '../../contracts/inspection.js';
import { GateError } from '../../domain/errors.js';
import { scanResult } from '../../contracts/response-scan.js';
import type { Inspector } from '../../domain/inspection/port.js';
import type { ResponseScanner } from '../../domain/responses/port.js';
import { createServiceClient, type ServiceClientOptions } from './service-client.js';

/** A little longer than Brain itself takes at most: an answer may be ten times as large as a request. */
const SCAN_TIMEOUT_MS = 8_000;

/**
 * Brain behind HTTP. Rejects with `invalid_request` when Brain does, and with `provider_unavailable` when there is no verdict. An
 * inspection changes nothing, so asking again is safe.
 */
export function createBrainClient({
  timeoutMs = 2_000,
  ...options
}: ServiceClientOptions): Inspector & ResponseScanner {
  const ask = createServiceClient(
    'Brain',
    options,
    (detail, cause) => new GateError('provider_unavailable', detail, { cause }),
  );
  return {
    async inspect(request) {
      const headers = request.correlation_id ? { 'x-gate-correlation-id': request.correlation_id } : {};
      try {
        return await ask(inspectionResponse, { method: 'POST', path: '/inspect', timeoutMs, headers, body: request });
      } catch (error) {
        throw asOutage(error, 'invalid_request', 'provider_unavailable');
      }
    },
    async scanResponse(request) {
      const headers = request.correlation_id ? { 'x-gate-correlation-id': request.correlation_id } : {};
      const asked = {
        method: 'POST',
        path: '/scan-response',
        timeoutMs: SCAN_TIMEOUT_MS,
        headers,
        body: request,
      } as const;
      try {
        return await ask(scanResult, asked);
      } catch (error) {
        throw asOutage(error, 'invalid_request', 'provider_unavailable');
      }
    },
  };
}

/** Refusals that are not the caller's own fault say nothing about the call, so they count as an outage. */
export const asOutage = (
  error: unknown,
  ownFault: GateError['code'],
  outage: 'provider_unavailable' | 'policy_unavailable',
): unknown =>
  error instanceof GateError && error.code !== ownFault && error.code !== outage
    ? new GateError(outage, `${error.code}: ${error.message}`, { cause: error })
    : error;
