import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { GateError } from '../../domain/errors.js';
import type { ServiceApp } from './service.js';

/** One place answers every error: stable code, sentence, correlation id. Stacks and causes stay in the log. */
export function answerErrors(app: ServiceApp): void {
  app.setErrorHandler((error: Error & { statusCode?: number; code?: string }, request, reply) => {
    const known = toGateError(error);
    if (known.status >= 500) request.log.error({ err: error, correlation_id: request.correlationId }, known.code);
    return reply
      .code(known.status)
      .type('application/json')
      .send(
        JSON.stringify({
          error: known.code,
          reason: known.message,
          ...known.fields,
          correlation_id: request.correlationId,
        }),
      );
  });
  app.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .type('application/json')
      .send(
        JSON.stringify({
          error: 'not_found',
          reason: `no route ${request.method} ${request.url.split('?')[0]}`,
          correlation_id: request.correlationId,
        }),
      ),
  );
}

function toGateError(error: Error & { statusCode?: number; code?: string }): GateError {
  if (error instanceof GateError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const [first] = error.validation;
    return new GateError('invalid_request', `${first?.instancePath ?? ''} ${first?.message ?? 'invalid'}`.trim());
  }
  if (error.statusCode === 413) return new GateError('payload_too_large');
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new GateError('invalid_request', error.message);
  return new GateError('internal_error', undefined, { cause: error });
}
