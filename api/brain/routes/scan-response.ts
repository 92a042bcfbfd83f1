import { SCANNED_BYTES, scanRequest, scanResult } from '../../../contracts/response-scan.js';
import type { ResponseScanner } from '../../../domain/inspection/response-port.js';
import type { ServiceApp } from '../../plugins/app.js';

/**
 * Classes and places of what an answer should not carry. 400 `invalid_request` without a body of it, 413 where that is larger than any
 * answer that Gate takes, 503 `provider_unavailable`.
 */
export function scanResponseRoutes(app: ServiceApp, scanner: ResponseScanner): void {
  app.post(
    '/scan-response',
    { bodyLimit: SCANNED_BYTES, schema: { body: scanRequest, response: { 200: scanResult } } },
    (request) => scanner.scanResponse(request.body),
  );
}
