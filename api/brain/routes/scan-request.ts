import { argumentScanRequest, argumentScanResult, SCANNED_BYTES } from '../../../contracts/response-scan.js';
import type { RequestScanner } from '../../../domain/inspection/response-port.js';
import type { ServiceApp } from '../../plugins/app.js';

/**
 * Classes and places of secrets and personal data in the arguments of a call; never a verdict. 400 `invalid_request`, 413, 503
 * `provider_unavailable` as `/scan-response`.
 */
export function scanRequestRoutes(app: ServiceApp, scanner: RequestScanner): void {
  app.post(
    '/scan-request',
    { bodyLimit: SCANNED_BYTES, schema: { body: argumentScanRequest, response: { 200: argumentScanResult } } },
    (request) => scanner.scanRequest(request.body),
  );
}
