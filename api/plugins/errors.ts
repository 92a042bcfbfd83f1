import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import type { JsonObject } from '../../contracts/json.js';
import { GateError } from '../../domain/errors.js';
import type { ServiceApp } from './app.js';

/** Builds the body of a refusal. */
export type ErrorBody = (error: GateError, correlationId: string) => JsonObject;

export const plainErrorBody: ErrorBody = (error, correlationId) => ({
  error: error.code,
  reason: error.message,
  ...error.fields,
  correlation_id: correlationId,
});

/** Answers every error in one place with a stable code, a sentence and the correlation id. Stacks and causes go only to the log. */
export const errorHandler =
  (errorBody: ErrorBody) =>
  (
    error: Error & { statusCode?: number; code?: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply => {
    const known = toGateError(error);
    if (known.status >= 500) request.log.error({ err: error, correlation_id: request.correlationId }, known.code);
    return reply
      .code(known.status)
      .type('application/json')
      .send(JSON.stringify(errorBody(known, request.correlationId)));
  };

export function answerErrors(app: ServiceApp, errorBody: ErrorBody): void {
  app.setErrorHandler(errorHandler(errorBody));
  app.setNotFoundHandler((request, reply) => {
    const unknown = new GateError('not_found', `no route ${request.method} ${request.url.split('?')[0]}`);
    return reply
      .code(404)
      .type('application/json')
      .send(JSON.stringify(errorBody(unknown, request.correlationId)));
  });
}

/** Answers what the HTTP parser refused in the service's usual form, and closes the connection. */
export const answerUnreadable =
  (errorBody: ErrorBody, headers: Readonly<Record<string, string>>) =>
  (error: ConnectionError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const refused =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? new GateError('request_headers_too_large')
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? new GateError('request_timeout')
          : new GateError('invalid_request', 'this is not an HTTP request');
    const correlationId = randomUUID();
    const body = JSON.stringify(errorBody(refused, correlationId));
    const head = {
      ...headers,
      'X-Gate-Correlation-Id': correlationId,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      Connection: 'close',
    };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${refused.status} ${STATUS_CODES[refused.status]}\r\n${lines.join('')}\r\n${body}`);
  };

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
