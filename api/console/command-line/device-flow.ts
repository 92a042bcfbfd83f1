import type { FastifyRequest } from 'fastify';
import { GRANT_LIFE_MS, POLL_SECS } from '../../../adapters/console/device-grants.js';
import type { OpenSession, SessionStore } from '../../../adapters/console/session-store.js';
import { GateError } from '../../../domain/errors.js';
import { bareAddress, countedAddress } from '../../../domain/limits/counted-address.js';
import { slidingBudget } from '../../../domain/limits/sliding-budget.js';
import type { ServiceApp } from '../../plugins/app.js';
import { takesForm } from '../../plugins/openapi.js';
import type { ConsoleMetrics } from '../metrics.js';

export interface DeviceFlowOptions {
  readonly sessions: Pick<SessionStore, 'grants' | 'endToken'>;
  /** The console's own address, as this request reached it. */
  readonly issuer: (request: FastifyRequest) => string;
  /** Whether a session still means somebody. */
  readonly stands: (session: OpenSession) => Promise<boolean>;
  readonly metrics: Pick<ConsoleMetrics, 'device'>;
  readonly clock: () => number;
}

/** The one client there is. It has no secret: everybody could read one in the program. */
const CLIENT = 'gate-operator-cli';
const SCOPE = 'gate.operator';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
const PATHS = { begin: '/oauth/device_authorization', token: '/oauth/token', revoke: '/oauth/revoke' } as const;
/** Sign-ins that one address begins: many, because whoever shares it with others is to be kept out by none of them. */
const BEGUN = { count: 50, windowMs: 5_000 };

/**
 * The console as authorization server of its command line (RFC 8628, with metadata by RFC 8414 and revocation by RFC 7009), whatever way people
 * sign in by: docs/decisions/the-console-gives-tokens.md. The page `/device` is where somebody agrees.
 */
export function deviceFlow(app: ServiceApp, options: DeviceFlowOptions): void {
  const { sessions, issuer, stands, metrics, clock } = options;
  const begun = slidingBudget(BEGUN.count, BEGUN.windowMs);

  app.get('/.well-known/oauth-authorization-server', (request) => {
    const at = issuer(request);
    return {
      issuer: at,
      device_authorization_endpoint: `${at}${PATHS.begin}`,
      token_endpoint: `${at}${PATHS.token}`,
      revocation_endpoint: `${at}${PATHS.revoke}`,
      scopes_supported: [SCOPE],
      response_types_supported: [],
      grant_types_supported: [GRANT_TYPE],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
    };
  });

  app.post(PATHS.begin, takes('scope'), async (request) => {
    const form = formOf(request);
    if (form('scope') !== SCOPE) throw new GateError('invalid_scope');
    const wait = begun.take(countedAddress(request.ip), 1, clock());
    const grant = wait === 0 ? await sessions.grants.begin(bareAddress(request.ip)) : null;
    if (grant === null)
      throw new GateError('rate_limited', 'Too many sign-ins are begun from this address: wait a little.', {
        fields: { retry_after_secs: wait === 0 ? 1 : wait },
      });
    metrics.device('asked');
    const page = `${issuer(request)}/device`;
    return {
      device_code: grant.deviceCode,
      user_code: grant.userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?user_code=${grant.userCode}`,
      expires_in: GRANT_LIFE_MS / 1_000,
      interval: POLL_SECS,
    };
  });

  app.post(PATHS.token, takes('grant_type', 'device_code'), async (request) => {
    const form = formOf(request);
    if (form('grant_type') !== GRANT_TYPE) throw new GateError('unsupported_grant_type');
    const came = await sessions.grants.collect(form('device_code'), stands);
    if (came.is === 'given') {
      metrics.device('given');
      const { tenant, role } = came.by;
      request.log.info({ event: 'command_line_login', tenant, role }, 'a command line signed in for somebody');
      return {
        access_token: came.token,
        token_type: 'Bearer',
        expires_in: Math.floor((came.untilMs - clock()) / 1_000),
        scope: SCOPE,
      };
    }
    if (came.is === 'replayed') {
      metrics.device('replayed');
      request.log.warn('the code of a command line was used twice: the token that it gave has ended');
    }
    throw new GateError(REFUSALS[came.is]);
  });

  /** Ends a token. One that is not known has ended, so that is no error. */
  app.post(PATHS.revoke, takes('token'), async (request) => {
    const token = formOf(request)('token');
    if (token === '') throw new GateError('invalid_request', 'token: is missing');
    await sessions.endToken(token);
    return {};
  });
}

/** What the document says of a form of the one client. */
const takes = (...fields: readonly string[]) => ({ config: { described: takesForm(['client_id', ...fields]) } });

const REFUSALS = {
  pending: 'authorization_pending',
  slow_down: 'slow_down',
  denied: 'access_denied',
  expired: 'expired_token',
  unknown: 'invalid_grant',
  replayed: 'invalid_grant',
} as const;

/** The fields of a request of the one client, each at most once (RFC 6749, section 3.2); a missing one is empty. */
function formOf({ headers, body }: FastifyRequest): (name: string) => string {
  // No page of a browser asks here, also none of the console.
  if (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined)
    throw new GateError('csrf_failed', 'Only the command line asks here, and no page of a browser.');
  if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(headers['content-type'] ?? ''))
    throw new GateError('invalid_request', 'the body is a form (application/x-www-form-urlencoded)');
  const fields = (body ?? {}) as Readonly<Record<string, unknown>>;
  const field = (name: string): string => {
    const value = Object.hasOwn(fields, name) ? fields[name] : '';
    if (typeof value !== 'string') throw new GateError('invalid_request', `${name}: stands there twice`);
    return value;
  };
  if (field('client_id') !== CLIENT) throw new GateError('invalid_client');
  return field;
}
