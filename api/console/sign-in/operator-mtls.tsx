import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import {
  openOperatorRegistry,
  type RegisteredOperator,
  type RegistryChange,
} from '../../../adapters/console/operator-registry.js';
import { SignInByCertificate } from '../../../console/ui/sign-in.js';
import { GateError } from '../../../domain/errors.js';
import { spiffeOfCertificate } from '../../../domain/identity/spiffe.js';
import { takesForm, takesOfBrowser } from '../../plugins/openapi.js';
import type { Door, SignInMode } from './mode.js';
import { ownPath } from './own-path.js';
import { sessionMode } from './session-mode.js';
import { vouchedPerson } from './vouching.js';

const NAME = 'operator-mtls';

/** Headers by which a proxy says what certificate somebody showed it, however they are written. */
const FORWARDED = ['clientcert', 'sslclient', 'tlsclient', 'clientverif', 'clientdn'];

/**
 * Operators sign in with a certificate of the operators' CA that the registry knows (docs/architecture/console.md#a-certificate). Every request
 * has to come over a connection that shows it: a session without it is none. Throws when the registry cannot be read.
 */
export async function openOperatorMtlsMode({
  file,
  decideToken,
  logger,
  trusted,
  clock,
}: {
  readonly file: string;
  readonly decideToken: string;
  readonly logger: Logger;
  /** Is told whether the console knows who its operators are. */
  readonly trusted: (isReady: boolean) => void;
  readonly clock: () => number;
}): Promise<SignInMode> {
  let end: Door['lost'] | null = null;
  const changed = async (change: RegistryChange): Promise<void> => {
    trusted(!('fault' in change));
    if ('fault' in change) {
      logger.error({ reason: change.fault }, 'the registry of operators cannot be read: nobody is signed in');
      return;
    }
    logger.info({ operators: change.now.length }, 'the registry of operators was read again');
    for (const operator of change.before.filter((of) => !isStill(of, change.now, clock())))
      await end?.({ subject: subjectOf(operator), tenant: operator.tenant }).catch((error: unknown) =>
        logger.warn({ err: error }, 'sessions of an operator were not ended; without his entry they are none'),
      );
  };
  const registry = await openOperatorRegistry(file, changed);
  trusted(true);

  /** Whose certificate the connection of a request shows; `null` for nobody's. */
  async function operatorOf(request: FastifyRequest): Promise<{
    readonly operator: RegisteredOperator;
    readonly certificate: X509Certificate;
  } | null> {
    const certificate = shownBy(request);
    if (certificate === null || Date.parse(certificate.validTo) <= clock()) return null;
    const fingerprint = fingerprintOf(certificate);
    const spiffe = spiffeOfCertificate(certificate);
    const operator = (await registry.current()).find((of) => of.fingerprint === fingerprint);
    if (operator === undefined || operator.spiffe !== spiffe) return null;
    return operator.active && operator.expiresMs > clock() ? { operator, certificate } : null;
  }

  return {
    name: NAME,
    body: (refused, wanted) => <SignInByCertificate refused={refused} wanted={wanted} />,
    readiness: { 'operator trust': () => registry.ready() },
    async isProvedBy(request, { subject, tenant, mode, role }) {
      const shown = await operatorOf(request);
      if (shown === null) return false;
      const { operator } = shown;
      return (
        mode === modeOf(operator) &&
        subject === subjectOf(operator) &&
        tenant === operator.tenant &&
        role === operator.role
      );
    },
    async entitles({ mode }) {
      const entries = await registry.current();
      return entries.some((of) => of.active && of.expiresMs > clock() && modeOf(of) === mode);
    },
    // Whether the entry is still the same is asked with the connection, and of a token by `entitles`.
    personOf: (session) =>
      session.mode.startsWith(`${NAME} `)
        ? vouchedPerson({ ...session, mode: NAME }, NAME, decideToken, session.endsMs)
        : null,
    routes(app, door) {
      end = (who) => door.lost(who);
      app.addHook('onRequest', (request, _reply, done) => {
        const forwarded = Object.keys(request.headers).find((name) => {
          const bare = name.replaceAll(/[-_]/g, '');
          return FORWARDED.some((part) => bare.includes(part));
        });
        done(forwarded === undefined ? undefined : new GateError('forwarded_certificate'));
      });
      app.get('/login', takesOfBrowser({ query: ['return_to'] }), (request, reply) => {
        const { return_to: wanted } = request.query as Readonly<Record<string, unknown>>;
        return door.page(reply, 200, undefined, ownPath(wanted));
      });
      app.post('/auth/certificate', takesOfBrowser({ form: takesForm([], ['return_to']) }), async (request, reply) => {
        const certificate = shownBy(request);
        // Of the operators' CA, which gives nobody another one for each attempt.
        const by = certificate && { certificate: fingerprintOf(certificate) };
        door.throttle(request, by);
        door.assertOwnOrigin(request);
        const wanted = ownPath(((request.body ?? {}) as Readonly<Record<string, unknown>>)['return_to']);
        const shown = await operatorOf(request);
        if (shown === null) {
          door.failed(request, by);
          return door.page(reply, 401, 'Your browser shows no certificate that signs anybody in here.', wanted);
        }
        const { operator } = shown;
        await door.accept(reply, {
          subject: subjectOf(operator),
          tenant: operator.tenant,
          mode: modeOf(operator),
          role: operator.role,
          endsMs: Math.min(operator.expiresMs, Date.parse(shown.certificate.validTo)),
        });
        return reply.redirect(wanted, 303);
      });
    },
  };
}

/** The leaf that was proved in the handshake, under the operators' CA. */
function shownBy(request: FastifyRequest): X509Certificate | null {
  const socket = request.raw.socket as Partial<TLSSocket>;
  // A resumed session without a certificate counts as authorized, so that the certificate decides.
  return socket.encrypted === true && socket.authorized === true ? (socket.getPeerX509Certificate?.() ?? null) : null;
}

const fingerprintOf = ({ fingerprint256 }: X509Certificate): string => fingerprint256.replaceAll(':', '').toLowerCase();

const subjectOf = ({ spiffe }: RegisteredOperator): string => `mtls:${spiffe}`;
/** A session names the entry that it was opened by: with another one it is none. */
const modeOf = (operator: RegisteredOperator): string =>
  sessionMode(
    NAME,
    JSON.stringify([operator.fingerprint, operator.spiffe, operator.role, operator.tenant, operator.expiresMs]),
  );

/** Whether a person keeps what he may do, with this certificate or another one. */
const isStill = (before: RegisteredOperator, entries: readonly RegisteredOperator[], nowMs: number): boolean =>
  entries.some(
    ({ active, expiresMs, spiffe, tenant, role }) =>
      active && expiresMs > nowMs && spiffe === before.spiffe && tenant === before.tenant && role === before.role,
  );
