import { readFileSync } from 'node:fs';
import type { FastifyRequest } from 'fastify';
import { shippedPath } from '../../../adapters/shipped.js';
import type { ServiceApp } from '../../plugins/app.js';
import { answersAs } from '../../plugins/openapi.js';

/** The page of the manual that a refused client needs, in this project and at the address of the proxy. */
export const MANUAL_PAGE = {
  file: ['docs', 'how-to', 'select-a-contract.md'],
  path: '/docs/select-a-contract',
} as const;

/** Open to everybody who reaches the listener, because callers are sent here before they are authenticated. */
export function registerManual(app: ServiceApp): void {
  const text = readFileSync(shippedPath(...MANUAL_PAGE.file), 'utf8');
  app.get(MANUAL_PAGE.path, { config: answersAs('text/markdown') }, (_request, reply) =>
    reply
      .type('text/markdown; charset=utf-8')
      .header('cache-control', 'public, max-age=3600')
      .header('x-content-type-options', 'nosniff')
      .send(text),
  );
}

/** A name or address with an optional port, and nothing else, as in a `Host` header. */
const AUTHORITY = /^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/i;

/** The address at which the caller reached this listener; `undefined` where its `Host` is none. */
export function addressOf(request: Pick<FastifyRequest, 'protocol' | 'headers'>): string | undefined {
  const { host = '' } = request.headers;
  return AUTHORITY.test(host) ? `${request.protocol}://${host}` : undefined;
}

/** The page's address as the caller can open it: below the public address if one is configured, otherwise at the request's `Host`. */
export function manualUrl(request: Pick<FastifyRequest, 'protocol' | 'headers'>, publicUrl?: string): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/$/, '') + MANUAL_PAGE.path;
  return (addressOf(request) ?? '') + MANUAL_PAGE.path;
}
