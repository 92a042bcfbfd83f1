import type { FastifyInstance } from 'fastify';
import type { Json } from '../../contracts/json.js';
import { errorText, GateError } from '../../domain/errors.js';
import { utf8Of } from './utf8.js';

/**
 * Reads the JSON bodies of an app's routes by `parse`, never by Fastify's own parser: of members that stand twice that one
 * takes the last, and of bytes that are no UTF-8 it makes U+FFFD.
 */
export function readJsonBodies(
  app: Pick<FastifyInstance, 'addContentTypeParser' | 'removeContentTypeParser'>,
  parse: (text: string) => Json,
): void {
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    // A client that names a type whatever it sends. A route that needs a body refuses none by its schema.
    if (body.length === 0) return done(null);
    try {
      done(null, parse(utf8Of(body as Buffer)));
    } catch (error) {
      done(new GateError('invalid_request', errorText(error)));
    }
  });
}
