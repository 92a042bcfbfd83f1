import type { FastifyRequest } from 'fastify';
import type { ErrorCodeName } from '../../../contracts/error-codes.js';
import { type GrantRequest, grantRequest } from '../../../contracts/grants.js';
import {
  type ExchangedToken,
  exchangedToken,
  ID_TOKEN_TYPE,
  JWT_TYPE,
  MOST_EXCHANGES_A_MINUTE,
  TOKEN_EXCHANGE,
} from '../../../contracts/token-exchange.js';
import { errorText, GateError } from '../../../domain/errors.js';
import type { Granting } from '../../../domain/identity/granting.js';
import { CertificateNotCurrent } from '../../../domain/identity/grants.js';
import { agentName } from '../../../domain/identity/spiffe.js';
import { slidingBudget } from '../../../domain/limits/sliding-budget.js';
import type { Caller, ServiceApp } from '../../plugins/app.js';
import { type ErrorBody, errorHandler, plainErrorBody } from '../../plugins/errors.js';
import { takesForm } from '../../plugins/openapi.js';
import { utf8Of } from '../../plugins/utf8.js';

export interface TokenParts {
  readonly granting: Granting;
  readonly trustDomain: string;
  readonly clock: () => number;
  /** Called when a row waits for the ledger. */
  readonly onGranted: () => void;
}

const FORM = 'application/x-www-form-urlencoded';

/** Requests of one agent, refused ones included: a refused one uses up no token, and is an agent locked in the store. */
const ASKED = { count: MOST_EXCHANGES_A_MINUTE, windowMs: 60_000 };

/**
 * A grant by OAuth 2.0 Token Exchange (RFC 8693): the subject is a person, by an ID token; the actor is the agent whose certificate this connection
 * shows (RFC 8705), and what comes of it is bound to that certificate (docs/architecture/identity.md#token-exchange).
 */
export function tokenRoutes(app: ServiceApp, parts: TokenParts): void {
  const { granting, trustDomain, clock, onGranted } = parts;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(FORM, { parseAs: 'buffer' }, (_request, body, parsed) => {
    try {
      parsed(null, utf8Of(body as Buffer));
    } catch (error) {
      parsed(new GateError('invalid_request', errorText(error)));
    }
  });
  app.addContentTypeParser('*', (_request, payload, parsed) => {
    payload.resume();
    parsed(noForm());
  });
  app.setErrorHandler(errorHandler(oauthErrorBody));
  const requests = slidingBudget(ASKED.count, ASKED.windowMs);

  app.post(
    '/token',
    {
      config: {
        described: takesForm(
          ['grant_type', 'subject_token', 'subject_token_type', 'scope'],
          ['requested_token_type', 'client_id', 'nonce', 'max_uses', 'not_before', 'not_after'],
        ),
      },
      schema: { response: { 200: exchangedToken } },
      onRequest: (_request, reply, done) => {
        void reply.header('cache-control', 'no-store');
        done();
      },
    },
    async (request, reply) => {
      const caller = agentOf(request.caller);
      const own = agentName(trustDomain, caller.tenant, caller.agent);
      const waitSecs = requests.take(own, 1, clock());
      if (waitSecs > 0)
        throw new GateError('rate_limited', `more than ${ASKED.count} requests for a grant in a minute`, {
          fields: { retry_after_secs: waitSecs },
        });
      const field = formOf(request);
      assertClient(request, field, own);
      if (field('grant_type') !== TOKEN_EXCHANGE)
        throw new GateError('unsupported_grant_type', `grant_type: is ${TOKEN_EXCHANGE}`);
      const asked = askedOf(field, caller);
      const issued = await granting
        .issue(asked, { fingerprint: caller.fingerprint, untilMs: caller.validToMs })
        .catch((error: unknown) => {
          throw asOauth(error);
        });
      onGranted();
      return reply.send({
        access_token: issued.grant,
        issued_token_type: JWT_TYPE,
        token_type: 'N_A',
        expires_in: Math.max(0, issued.exp - Math.floor(clock() / 1_000)),
        scope: [...issued.scope, ...issued.yellow_scope].join(' '),
      } satisfies ExchangedToken);
    },
  );
}

const noForm = () => new GateError('invalid_request', `the body is a form (${FORM})`);

type Field = (name: string) => string | undefined;
type Agent = Caller & Required<Pick<Caller, 'tenant' | 'agent' | 'validToMs'>>;

function agentOf(caller: Caller | null): Agent {
  const { tenant, agent, validToMs } = caller ?? {};
  if (!caller || tenant === undefined || agent === undefined || validToMs === undefined)
    throw new GateError('invalid_client', 'an agent asks by its own certificate');
  return { ...caller, tenant, agent, validToMs };
}

/** The parameters of a request, each once (RFC 6749 3.2); one without a value is left out, and one that nobody knows is passed over. */
function formOf({ body }: FastifyRequest): Field {
  if (typeof body !== 'string') throw noForm();
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(body)) {
    if (fields.has(name)) throw new GateError('invalid_request', `${name}: stands there twice`);
    fields.set(name, value);
  }
  return (name) => fields.get(name) || undefined;
}

/** RFC 8705 2: its certificate says who the client is, and nothing else does (RFC 6749 2.3). */
function assertClient({ headers }: FastifyRequest, field: Field, own: string): void {
  if (headers.authorization !== undefined || SECRETS.some((name) => field(name) !== undefined))
    throw new GateError('invalid_request', 'the certificate of the connection is the one way to say who asks');
  const named = field('client_id');
  if (named !== undefined && named !== own) throw new GateError('invalid_client', `client_id: is ${own}, or left out`);
}
const SECRETS = ['client_secret', 'client_assertion', 'client_assertion_type'];

/** What is asked of a grant. What is asked for and could not be given is refused, and never left out silently. */
function askedOf(field: Field, { tenant, spiffe, fingerprint }: Agent): GrantRequest {
  const needed = (name: string): string => {
    const value = field(name);
    if (value === undefined) throw new GateError('invalid_request', `${name}: is missing`);
    return value;
  };
  const number = (name: string): number | undefined => {
    const value = field(name);
    if (value === undefined) return undefined;
    const read = Number(value);
    if (!Number.isSafeInteger(read) || String(read) !== value)
      throw new GateError('invalid_request', `${name}: is no whole number`);
    return read;
  };
  const token = needed('subject_token');
  if (needed('subject_token_type') !== ID_TOKEN_TYPE)
    throw new GateError('invalid_request', `subject_token_type: is ${ID_TOKEN_TYPE}`);
  if ((field('requested_token_type') ?? JWT_TYPE) !== JWT_TYPE)
    throw new GateError('invalid_request', `requested_token_type: is ${JWT_TYPE}, or left out`);
  if (field('actor_token') !== undefined || field('actor_token_type') !== undefined)
    throw new GateError(
      'invalid_request',
      'actor_token: the actor is the agent whose certificate the connection shows',
    );
  if (field('resource') !== undefined || field('audience') !== undefined)
    throw new GateError(
      'invalid_target',
      'resource, audience: a grant is for the proxies of this Gate, and names none',
    );
  if (field('recurrence') !== undefined)
    throw new GateError('invalid_request', 'recurrence: is asked for by POST /grant at a proxy');
  if (field('yellow_scope') !== undefined)
    throw new GateError('invalid_request', 'yellow_scope: stands in scope, each with `yellow:` before its name');
  const scopes = field('scope')?.split(' ');
  if (!scopes) throw new GateError('invalid_scope', 'scope: is missing, and there is none by default');
  const isYellow = (scope: string): boolean => scope.startsWith('yellow:');
  const read = grantRequest.safeParse({
    tenant,
    agent_spiffe: spiffe,
    credential_fingerprint: fingerprint,
    id_token: token,
    nonce: field('nonce'),
    scope: scopes.filter((scope) => !isYellow(scope)),
    yellow_scope: scopes.filter(isYellow),
    max_uses: number('max_uses'),
    not_before: number('not_before'),
    not_after: number('not_after'),
  });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new GateError('invalid_request', `${issue?.path.join('.')}: ${issue?.message}`);
}

/** RFC 6749 5.2 and RFC 8693 2.2.2, by which a token that is refused is `invalid_request`. What is no fault of the request keeps its code: 409, 413, 429 and 503. */
const OAUTH_CODES: { readonly [Code in ErrorCodeName]?: ErrorCodeName } = {
  invalid_token: 'invalid_request',
  tenant_mismatch: 'invalid_request',
  invalid_grant_terms: 'invalid_request',
  scope_not_normalized: 'invalid_scope',
  scope_outside_envelope: 'invalid_scope',
  yellow_scope_outside_envelope: 'invalid_scope',
  unregistered_agent: 'unauthorized_client',
  agent_suspended: 'unauthorized_client',
  agent_decommissioned: 'unauthorized_client',
  tenant_suspended: 'unauthorized_client',
  tenant_offboarded: 'unauthorized_client',
  delegation_not_configured: 'unauthorized_client',
};

function asOauth(error: unknown): unknown {
  if (!(error instanceof GateError)) return error;
  const code = error instanceof CertificateNotCurrent ? 'invalid_client' : OAUTH_CODES[error.code];
  if (code === undefined) return error;
  return new GateError(code, error.message, { fields: { ...error.fields, refused_for: error.code }, cause: error });
}

const oauthErrorBody: ErrorBody = (error, correlationId) => ({
  ...plainErrorBody(error, correlationId),
  error_description: asDescription(error.message),
});

/** The characters that a description may have (RFC 6749 5.2). */
const asDescription = (text: string): string =>
  Array.from(text, (one) => (one >= ' ' && one <= '~' && one !== '"' && one !== '\\' ? one : '?')).join('');
