import { z } from 'zod';
import { inspectionResponse, inspectRequest, type InspectRequest } from '../../../contracts/inspection.js';
import type { Inspector } from '../../../domain/inspection/port.js';
import type { ServiceApp } from '../../plugins/app.js';

/**
 * `params` must be an object, but is not checked further: it came through a JSON parser, and a deep check of a megabyte would cost more
 * than the verdict.
 */
const shallowRequest = inspectRequest.extend({ params: z.record(z.string(), z.unknown()).default({}) });

/** One verdict on one request. 400 `invalid_request` without method or agent, 503 `provider_unavailable`. */
export function inspectRoutes(app: ServiceApp, inspector: Inspector): void {
  app.post('/inspect', { schema: { body: shallowRequest, response: { 200: inspectionResponse } } }, (request) =>
    inspector.inspect(request.body as InspectRequest),
  );
}
