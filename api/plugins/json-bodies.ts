import type { FastifyInstance } from 'fastify';
import type { Json } from '../../contracts/json.js';
import { errorText, GateError } from '../../domain/errors.js';
import { utf8Of } from './utf8.js';

/**
 * Reads the JSON bodies of an app's routes by `parse`, never by Fastify's own parser: of members that stand twice that one
 * takes the last, and of bytes that are no UTF-8 it makes U+FFFD. Routes that all need a body say how one is refused that is no JSON: `refused`
 * is asked of an empty one too.
 */
export function readJsonBodies(
  app: Pick<FastifyInstance, 'addContentTypeParser' | 'removeContentTypeParser'>,
  parse: (text: string) => Json,
  refused?: (detail: string) => GateError,
): void {
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    // A client that names a type whatever it sends. A route that needs a body refuses none by its schema.
    if (body.length === 0 && !refused) return done(null);
    try {
      done(null, parse(utf8Of(body as Buffer)));
    } catch (error) {
      done((refused ?? invalidRequest)(errorText(error)));
    }
  });
}

const invalidRequest = (detail: string): GateError => new GateError('invalid_request', detail);
