import { GateError } from '../../domain/errors.js';
import type { ServiceApp } from '../plugins/app.js';
import { cookieOf } from './routes/passkey-cookies.js';

/** Shows a visitor's session of a demonstration. */
export const DEMO_COOKIE = 'gate_demo_session';

/**
 * Refuses a visitor's session with `unauthenticated` on every route, whatever stands beside it: nothing here can check one, and a credential
 * that is ignored leaves its bearer the rights of whoever brings the request (docs/decisions/no-console-for-visitors.md).
 */
export function refuseDemoSessions(app: ServiceApp): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (cookieOf(request, DEMO_COOKIE) === null) return done();
    done(new GateError('unauthenticated', `The cookie ${DEMO_COOKIE} cannot be checked here.`));
  });
}
