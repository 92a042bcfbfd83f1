import { errors, type JWTPayload, jwtVerify, type JWTVerifyResult } from 'jose';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import { type AccessTokenRules, agentOfClaims, scopesOf } from '../../domain/identity/access-tokens.js';
import { type IssuerKeysOptions, openIssuerKeys } from './issuer-keys.js';

/** Whose token it is. */
export interface TokenHolder {
  readonly tenant: string;
  readonly agent: string;
  /** Names the token in records, as a certificate's does: a digest of what the issuer calls it, from which nothing of the token follows. */
  readonly fingerprint: string;
  /** From then on it counts no more. */
  readonly validToMs: number;
  /** SHA-256 of the one certificate with which it may be shown (RFC 8705 3.1), 64 hex digits. */
  readonly certificate: string | null;
}

export interface AccessTokens {
  readonly rules: AccessTokenRules;
  /**
   * Throws `token_invalid` saying what does not hold, `token_scope_insufficient`, `token_agent_unknown`, or `token_keys_unavailable` where
   * nothing can be said about it.
   */
  verify(token: string): Promise<TokenHolder>;
  close(): Promise<void>;
}

const MAX_LENGTH = 8_192;
/** RFC 9068 2.1; many issuers write the older type, or none. A token for something else says so. */
const TYPES: ReadonlySet<string> = new Set(['at+jwt', 'application/at+jwt', 'jwt', '']);

/** Verifies access tokens of one issuer for this resource (RFC 9068 section 4). Rejects when the keys are a file that cannot be read. */
export async function openAccessTokens(
  rules: AccessTokenRules,
  { now = Date.now, ...options }: IssuerKeysOptions & { readonly now?: () => number } = {},
): Promise<AccessTokens> {
  const keys = await openIssuerKeys(rules, options);

  async function verified(token: string): Promise<JWTVerifyResult> {
    if (token.length > MAX_LENGTH) throw invalid(`longer than ${MAX_LENGTH} characters`);
    try {
      return await jwtVerify(token, keys.keyOf, {
        issuer: rules.issuer,
        audience: rules.audience,
        algorithms: [...rules.algorithms],
        clockTolerance: rules.clockSkewSecs,
        requiredClaims: ['exp'],
        currentDate: new Date(now()),
      });
    } catch (error) {
      if (error instanceof GateError) throw error;
      throw invalid(faultOf(error), error);
    }
  }

  return {
    rules,
    async verify(token) {
      const { payload, protectedHeader } = await verified(token);
      if (!TYPES.has(String(protectedHeader.typ ?? '').toLowerCase())) throw invalid('a token of another kind');
      const scopes = scopesOf(payload);
      if (!rules.scopes.every((scope) => scopes.includes(scope))) throw new GateError('token_scope_insufficient');
      const holder = agentOfClaims(payload, rules);
      if (!holder) throw new GateError('token_agent_unknown');
      return {
        ...holder,
        fingerprint: fingerprintOf(payload),
        validToMs: ((payload.exp ?? 0) + rules.clockSkewSecs) * 1000,
        certificate: boundTo(payload),
      };
    },
    close: () => keys.close(),
  };
}

const invalid = (why: string, cause?: unknown): GateError =>
  new GateError('token_invalid', `the access token is refused: ${why}`, { cause });

/** In words of its own: what a library says may quote the token. */
export function faultOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.claim === 'iss'
      ? 'of another issuer'
      : error.claim === 'aud'
        ? 'for another audience'
        : error.claim === 'nbf'
          ? 'not valid yet'
          : error.claim === 'exp'
            ? 'without an end'
            : 'with a claim that does not hold';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'signed with an algorithm that is not allowed';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return "signed with none of the issuer's keys";
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature does not hold';
  return 'no signed JWT';
}

/** An issuer names a token by `jti`; one without is told by when it was made. */
const fingerprintOf = ({ iss, sub, client_id, jti, iat }: JWTPayload): string =>
  sha256Hex(JSON.stringify(['gate.access-token', iss, sub ?? null, client_id ?? null, jti ?? iat ?? null]));

/** What a token may be shown with. A binding that nothing here can check is refused: without it, a token that was stolen would do. */
function boundTo({ cnf }: JWTPayload): string | null {
  if (cnf === undefined) return null;
  const [[method, thumbprint] = [], ...more] = Object.entries((cnf ?? {}) as Readonly<Record<string, unknown>>);
  if (method !== 'x5t#S256' || typeof thumbprint !== 'string' || more.length > 0)
    throw invalid('bound to a key whose possession Gate does not check');
  return Buffer.from(thumbprint, 'base64url').toString('hex');
}
