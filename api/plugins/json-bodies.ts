import type { FastifyInstance } from 'fastify';
import type { Json } from '../../contracts/json.js';
import { errorText, GateError } from '../../domain/errors.js';

/** Reads the JSON bodies of an app's routes by `parse`, never by Fastify's own parser: of members that stand twice that one takes the last. */
export function readJsonBodies(
  app: Pick<FastifyInstance, 'addContentTypeParser' | 'removeContentTypeParser'>,
  parse: (text: string) => Json,
): void {
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    // A client that names a type whatever it sends. A route that needs a body refuses none by its schema.
    if (body.length === 0) return done(null);
    try {
      done(null, parse(String(body)));
    } catch (error) {
      done(new GateError('invalid_request', errorText(error)));
    }
  });
}
