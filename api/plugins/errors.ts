import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import type { JsonObject } from '../../contracts/json.js';
import { GateError } from '../../domain/errors.js';
import type { ServiceApp } from './app.js';
import { createFaultLog } from './fault-log.js';
import { fieldTold, tellShapes } from './shape-told.js';

tellShapes();

/** Builds the body of a refusal. */
export type ErrorBody = (error: GateError, correlationId: string) => JsonObject;

export const plainErrorBody: ErrorBody = (error, correlationId) => ({
  error: error.code,
  reason: error.message,
  ...error.fields,
  correlation_id: correlationId,
});

/** How each refused request was refused, for whoever has to refuse it once more with another reason. */
const forms = new WeakMap<FastifyRequest, ErrorBody>();
export const refusedAs = (request: FastifyRequest, form: ErrorBody): void => void forms.set(request, form);
/** The form in which the request was refused; the plain one where it was not. */
export const formOfRefusal = (request: FastifyRequest): ErrorBody => forms.get(request) ?? plainErrorBody;

/** Seconds a 503 asks its caller to wait. */
export const RETRY_AFTER_SECS = 2;

/** The seconds of `Retry-After`: of every refusal that knows them, and of every 503 that may be asked again; `null` for none. */
export function retryAfterSecs({ code, status, fields: { retry_after_secs: known } }: GateError): number | null {
  if (typeof known === 'number') return known;
  return status === 503 && ERROR_CODES[code].retry === 'after_wait' ? RETRY_AFTER_SECS : null;
}

/** Answers every error in one place with a stable code, a sentence and the correlation id. Stacks and causes go only to the log. */
export const errorHandler = (errorBody: ErrorBody) => {
  const logged = createFaultLog();
  return (
    error: Error & { statusCode?: number; code?: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): FastifyReply => {
    refusedAs(request, errorBody);
    const known = toGateError(error);
    if (known.status >= 500) logged(request.log, known, error, request.correlationId);
    const waitSecs = retryAfterSecs(known);
    if (waitSecs !== null) void reply.header('Retry-After', String(waitSecs));
    return reply
      .code(known.status)
      .type('application/json')
      .send(JSON.stringify(errorBody(known, request.correlationId)));
  };
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

/** How long a connection stays on which something was answered that is no request. */
const LAST_WORDS_MS = 1_000;

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
    answerOnSocket(refused, socket, errorBody, headers);
  };

/** Answers where there is no request that could be answered, and closes the connection. */
export function answerOnSocket(
  refused: GateError,
  socket: Duplex,
  errorBody: ErrorBody,
  headers: Readonly<Record<string, string>>,
): void {
  const correlationId = randomUUID();
  const body = JSON.stringify(errorBody(refused, correlationId));
  const head = {
    ...headers,
    'X-Gate-Correlation-Id': correlationId,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  // Whoever does not read the answer closes nothing, and would keep the connection.
  const last = setTimeout(() => socket.destroy(), LAST_WORDS_MS);
  last.unref();
  socket.once('close', () => clearTimeout(last));
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${refused.status} ${STATUS_CODES[refused.status]}\r\n${lines.join('')}\r\n${body}`);
}

/** Answers, in the service's usual form, a path for which the router looks up no route. */
export const answerUnroutable =
  (errorBody: ErrorBody, headers: Readonly<Record<string, string>> = {}) =>
  (error: { readonly code: string }, _request: unknown, reply: Pick<FastifyReply, 'raw'>): void => {
    const refused =
      error.code === 'FST_ERR_BAD_URL'
        ? new GateError('invalid_request', 'the path is no valid URL')
        : error.code === 'FST_ERR_MAX_PARAM_LENGTH'
          ? new GateError('uri_too_long')
          : new GateError('internal_error');
    const correlationId = randomUUID();
    const body = JSON.stringify(errorBody(refused, correlationId));
    // No hook has run for it, and none of those that follow an answer may.
    reply.raw.writeHead(refused.status, {
      ...headers,
      'X-Gate-Correlation-Id': correlationId,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    reply.raw.end(body);
  };

export function toGateError(error: Error & { statusCode?: number; code?: string }): GateError {
  if (error instanceof GateError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const [first] = error.validation;
    return new GateError('invalid_request', fieldTold(first?.instancePath ?? '', first?.message ?? 'is not readable'));
  }
  if (error.statusCode === 413) return new GateError('payload_too_large');
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new GateError('invalid_request', error.message);
  return new GateError('internal_error', undefined, { cause: error });
}
