import type { z } from 'zod';
import { decisionNarrated, patternExplained } from '../../contracts/narration.js';
import { definitionScanResult, toolNameScanResult } from '../../contracts/definition-scan.js';
import { inspectionResponse } from '../../contracts/inspection.js';
import { GateError } from '../../domain/errors.js';
import { argumentScanResult, scanResult } from '../../contracts/response-scan.js';
import type { Inspector } from '../../domain/inspection/port.js';
import type { Narrator } from '../../domain/models/narrator.js';
import type { RequestScanner, ResponseScanner } from '../../domain/inspection/response-port.js';
import type { DefinitionScanner } from '../../domain/tool-definitions/ports.js';
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
}: ServiceClientOptions): Inspector & ResponseScanner & RequestScanner & DefinitionScanner & Narrator {
  const ask = createServiceClient(
    'Brain',
    options,
    (detail, cause) => new GateError('provider_unavailable', detail, { cause }),
  );
  async function asked<Answer>(
    answer: z.ZodType<Answer>,
    path: string,
    body: object & { readonly correlation_id?: string | undefined },
    limitMs = SCAN_TIMEOUT_MS,
  ): Promise<Answer> {
    const headers = body.correlation_id ? { 'x-gate-correlation-id': body.correlation_id } : {};
    try {
      return await ask(answer, { method: 'POST', path, timeoutMs: limitMs, headers, body });
    } catch (error) {
      throw asOutage(error, 'invalid_request', 'provider_unavailable');
    }
  }
  return {
    inspect: (request, limit) => asked(inspectionResponse, '/inspect', request, limit?.timeoutMs ?? timeoutMs),
    scanResponse: (request) => asked(scanResult, '/scan-response', request),
    scanRequest: (request) => asked(argumentScanResult, '/scan-request', request),
    scanDefinitions: (request) => asked(definitionScanResult, '/scan-definitions', request),
    scanToolName: (request) => asked(toolNameScanResult, '/scan-tool-name', request),
    explainPattern: (body) => asked(patternExplained, '/explain-pattern', body),
    narrateDecision: (body) => asked(decisionNarrated, '/narrate-decision', body),
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
