import { decodeJwt, jwtVerify, type JWTPayload } from 'jose';
import { errorText, GateError } from '../../domain/errors.js';
import { scopesOf } from '../../domain/identity/access-tokens.js';
import { ASYMMETRIC_ALGORITHMS } from '../../domain/identity/asymmetric-algorithms.js';
import type { VerifyDelegator } from '../../domain/identity/granting.js';
import type { Delegator } from '../../domain/identity/grants.js';
import { textsIn } from '../../domain/texts-in.js';
import { faultOf } from './access-tokens.js';
import { type IssuerKeys, type IssuerKeysOptions, openIssuerKeys } from './issuer-keys.js';

/** An issuer whose people may delegate to the agents of one tenant. */
export interface DelegatingIssuer {
  readonly tenant: string;
  /** As grants and rows name it. */
  readonly name: string;
  readonly issuer: string;
  /** What the token was made for. */
  readonly audience: string;
  readonly keys: { readonly file: string } | { readonly url?: string | undefined };
}

export interface IdTokens {
  readonly verify: VerifyDelegator;
  close(): Promise<void>;
}

const MAX_LENGTH = 16_384;
const SKEW_SECONDS = 60;
const LONGEST_SUB = 255;
const MOST_AMR = 16;
const LONGEST_AMR = 64;
/** No person: the console gives such tokens to agents. */
const AGENTS_SCOPE = 'gate.agent';
const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]+$/u;

const invalid = (why: string, cause?: unknown): GateError =>
  new GateError('invalid_token', `the ID token is refused: ${why}`, { cause });

/** Verifies ID tokens (OpenID Connect Core 3.1.3.7) of these issuers, each for its tenant. Rejects where the keys are a file that cannot be read. */
export async function openIdTokens(
  issuers: readonly DelegatingIssuer[],
  { now = Date.now, ...options }: IssuerKeysOptions & { readonly now?: () => number } = {},
): Promise<IdTokens> {
  const known = new Map<string, { readonly of: DelegatingIssuer; readonly keys: IssuerKeys }>();
  for (const of of issuers) known.set(of.issuer, { of, keys: await openIssuerKeys(of, options) });

  /** Whose keys are to be asked: what else the token says is believed once its signature holds. */
  function issuerOf(token: string) {
    if (token.length > MAX_LENGTH) throw invalid(`longer than ${MAX_LENGTH} characters`);
    let said: JWTPayload;
    try {
      said = decodeJwt(token);
    } catch (error) {
      throw invalid('no signed JWT', error);
    }
    const found = known.get(said.iss ?? '');
    if (!found) throw invalid('of no issuer whose people may delegate');
    return found;
  }

  return {
    async verify(token, nonce) {
      if (known.size === 0) throw new GateError('delegation_not_configured');
      const { of, keys } = issuerOf(token);
      try {
        const { payload, protectedHeader } = await jwtVerify(token, keys.keyOf, {
          issuer: of.issuer,
          audience: of.audience,
          algorithms: [...ASYMMETRIC_ALGORITHMS],
          clockTolerance: SKEW_SECONDS,
          currentDate: new Date(now()),
          requiredClaims: ['sub', 'exp', 'iat'],
        });
        // Of an access token another program is the audience, and what a logout token says is no sign-in.
        if (!['', 'jwt'].includes(String(protectedHeader.typ ?? '').toLowerCase()))
          throw invalid('a token of another kind');
        return delegatorOf(payload, of, nonce, now());
      } catch (error) {
        if (error instanceof GateError && error.code === 'token_keys_unavailable')
          throw new GateError('jwks_unavailable', `the keys of ${of.issuer} cannot be had: ${errorText(error.cause)}`, {
            cause: error,
          });
        if (error instanceof GateError) throw error;
        throw invalid(faultOf(error), error);
      }
    },
    async close() {
      await Promise.all([...known.values()].map(({ keys }) => keys.close()));
    },
  };
}

function delegatorOf(
  payload: JWTPayload,
  { tenant, name, audience }: DelegatingIssuer,
  nonce: string | undefined,
  nowMs: number,
): Delegator {
  const { sub, aud, iat } = payload;
  if (Array.isArray(aud) && (aud.length !== 1 || aud[0] !== audience)) throw invalid('it is for others as well');
  if ((iat ?? 0) * 1_000 > nowMs + SKEW_SECONDS * 1_000) throw invalid('made in the future');
  if (typeof sub !== 'string' || sub.length > LONGEST_SUB || !PRINTABLE.test(sub)) throw invalid('of nobody (sub)');
  if (nonce !== undefined && payload['nonce'] !== nonce) throw invalid('of another nonce');
  if (scopesOf(payload).includes(AGENTS_SCOPE)) throw invalid('of an agent, not of a person');
  const amr = textsIn(payload['amr']).filter((one) => one.length <= LONGEST_AMR && PRINTABLE.test(one));
  return { tenant, sub, idp: name, amr: amr.slice(0, MOST_AMR) };
}
