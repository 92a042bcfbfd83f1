import {
  type DefinitionScanRequest,
  definitionScanRequest,
  definitionScanResult,
  toolNameScanRequest,
  toolNameScanResult,
} from '../../../contracts/definition-scan.js';
import { SCANNED_BYTES } from '../../../contracts/response-scan.js';
import type { DefinitionScanner } from '../../../domain/tool-definitions/ports.js';
import type { ServiceApp } from '../../plugins/app.js';

/**
 * What instructs a model in the tools that an upstream lists, and whether a name is taken for another. 400 `invalid_request` also for what
 * is nested too deeply, 413, 503 `provider_unavailable`.
 */
export function scanDefinitionsRoutes(app: ServiceApp, scanner: DefinitionScanner): void {
  app.post(
    '/scan-definitions',
    { bodyLimit: SCANNED_BYTES, schema: { body: definitionScanRequest, response: { 200: definitionScanResult } } },
    (request) => scanner.scanDefinitions(request.body as DefinitionScanRequest),
  );
  app.post(
    '/scan-tool-name',
    { bodyLimit: SCANNED_BYTES, schema: { body: toolNameScanRequest, response: { 200: toolNameScanResult } } },
    (request) => scanner.scanToolName(request.body),
  );
}
