import type { FastifyRequest } from 'fastify';
import type { AccessTokens, TokenHolder } from '../../adapters/identity/access-tokens.js';
import { uuidFromDigest } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import { agentSpiffe } from '../../domain/identity/spiffe.js';
import type { Caller, ServiceApp } from '../plugins/app.js';
import { bearerOf } from '../plugins/bearer.js';
import { notJudged } from './unjudged-credentials.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the access token that came with it names nobody: told where it matters who asks. */
    tokenFault: GateError | null;
  }
}

export interface TokenCallersOptions {
  readonly tokens: AccessTokens;
  readonly trustDomain: string;
  /** The header may also hold a token that settings name: whoever is known by it needs no other. */
  readonly sharesHeader?: boolean;
}

/** Where protected resource metadata stands, for every resource (RFC 9728 section 3). */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/**
 * Agents by access token (docs/architecture/identity-and-routes.md#access-tokens): before anything is read of a request, its caller is who
 * the token says. With a certificate beside it both must say the same. A token that does not hold is never ignored, and neither is one where
 * no issuer is configured, unless something else reads the header.
 */
export function identifyByToken(
  app: ServiceApp,
  options: TokenCallersOptions | undefined,
  isJudgedElsewhere: (request: FastifyRequest) => boolean = () => false,
): void {
  app.decorateRequest('tokenFault', null);
  if (!options) {
    // Whoever sends a token takes it for what lets it in.
    app.addHook('onRequest', (request, _reply, done) => {
      if (request.headers.authorization !== undefined && !isJudgedElsewhere(request))
        request.tokenFault = notJudged('authorization');
      done();
    });
    return;
  }
  const { tokens, trustDomain, sharesHeader = false } = options;

  async function identify(request: FastifyRequest): Promise<void> {
    try {
      const token = bearerOf(request);
      if (token === null)
        throw new GateError(
          'token_invalid',
          'Authorization is to be written `Bearer` and the token, with one space between',
        );
      const holder = await tokens.verify(token);
      request.caller = together(request.caller, holder, trustDomain);
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      request.caller = null;
      request.tokenFault = error;
    }
  }

  app.addHook('onRequest', (request, _reply, done) => {
    const known = sharesHeader && request.caller !== null;
    if (request.headers.authorization === undefined || known) done();
    else identify(request).then(() => done(), done);
  });
}

/** Who asks, by a token and perhaps a certificate. Throws where they are not of one agent, or the token belongs to another certificate. */
function together(certified: Caller | null, holder: TokenHolder, trustDomain: string): Caller {
  const { tenant, agent, fingerprint, validToMs, certificate } = holder;
  if (certificate !== null && certificate !== certified?.fingerprint)
    throw new GateError(
      'token_invalid',
      'the access token is refused: bound to another certificate than that of the connection',
    );
  if (certified) {
    const agree = certified.kind === 'agent' && certified.tenant === tenant && certified.agent === agent;
    if (!agree) throw new GateError('credentials_disagree');
    return { ...certified, validToMs: Math.min(validToMs, certified.validToMs ?? Number.POSITIVE_INFINITY) };
  }
  return {
    kind: 'agent',
    callerId: 'agent-workload',
    tenant,
    agent,
    // Who asks is one agent, whatever token it comes with; a token's own name is its fingerprint.
    spiffe: agentSpiffe(trustDomain, tenant, agent, uuidFromDigest('gate.token-instance', tenant, agent)),
    fingerprint,
    validToMs,
  };
}

/**
 * `WWW-Authenticate` of a refusal (RFC 6750 section 3, RFC 9728 section 5.1): where a client learns which issuer to ask. `null` for one that
 * another token would not change.
 */
export function challengeOf({ code, message }: GateError, { rules }: AccessTokens): string | null {
  const error = ERRORS[code];
  if (error === undefined) return null;
  const scope = rules.scopes.join(' ');
  return [
    `Bearer resource_metadata="${metadataUrl(rules.resource)}"`,
    ...(error ? [`error="${error}"`, `error_description="${message.replaceAll(/["\\]/g, '')}"`] : []),
    ...(scope === '' ? [] : [`scope="${scope}"`]),
  ].join(', ');
}

/** A client that showed nothing is told no error. */
const ERRORS: Readonly<Partial<Record<GateError['code'], string>>> = {
  unauthorized: '',
  token_invalid: 'invalid_token',
  credentials_disagree: 'invalid_token',
  token_scope_insufficient: 'insufficient_scope',
};

/** Between the resource's host and its path (RFC 9728 section 3.1). */
const metadataUrl = (resource: string): string => {
  const { origin, pathname } = new URL(resource);
  return `${origin}${METADATA_PATH}${pathname === '/' ? '' : pathname}`;
};
