import { isLoopback } from '../../domain/outbound/loopback.js';
import type { ServiceApp } from '../plugins/service.js';

/**
 * Leads whoever begins to sign in under another name of this machine to the console's own. Only where its own is one of this machine's as well:
 * a proxy before it may ask under the listener's name, and would be led round in circles.
 */
export function leadToOwnName(app: ServiceApp, name: URL, beginsAt: readonly string[]): void {
  if (!isLoopback(name.hostname)) return;
  app.addHook('onRequest', (request, reply, done) => {
    const path = request.url.split('?')[0] ?? '';
    if (request.method !== 'GET' || !beginsAt.includes(path) || isAt(request.headers.host, name)) return done();
    return void reply.redirect(name.origin + request.url, 303);
  });
}

const isAt = (host: string | undefined, { protocol, hostname }: URL): boolean => {
  const at = `${protocol}//${host ?? ''}`;
  return !URL.canParse(at) || new URL(at).hostname === hostname;
};
