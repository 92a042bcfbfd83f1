import {
  GRANT_ISSUER,
  type GrantClaims,
  type GrantRequest,
  type IssuedGrant,
  LONGEST_GRANT,
} from '../../contracts/grants.js';
import { sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { compactJws } from './compact-jws.js';
import { type Delegator, type GrantStore, type NewGrant, thumbprintOf } from './grants.js';
import { termsOf } from './grant-terms.js';
import { scopeSet } from './scopes.js';
import type { Signer } from './signer.js';
import { agentOfSpiffe } from './spiffe.js';
import { uuidV7 } from './uuid-v7.js';

/** Throws `invalid_token`, or `jwks_unavailable` where nothing can be said about it. */
export type VerifyDelegator = (idToken: string, nonce?: string) => Promise<Delegator>;

/** Issues grants (docs/architecture/identity.md#grants). */
export function createGranting({
  store,
  verify,
  signer,
  trustDomain,
  clock,
}: {
  readonly store: Pick<GrantStore, 'beginGrant' | 'releaseGrant' | 'failGrant'>;
  readonly verify: VerifyDelegator;
  readonly signer: Signer;
  readonly trustDomain: string;
  readonly clock: () => number;
}) {
  return {
    /**
     * A grant for what was asked, whole or not at all. Its intent is stored before it is signed; it leaves once it is stored with its row for the ledger.
     * One token is for one grant: whoever lost the answer signs in again. Where it is bound to a certificate it ends with that at the latest.
     */
    async issue(
      asked: GrantRequest,
      bound?: { readonly fingerprint: string; readonly untilMs: number },
    ): Promise<IssuedGrant> {
      const by = await verify(asked.id_token, asked.nonce);
      if (by.tenant !== asked.tenant) throw new GateError('tenant_mismatch');
      const named = agentOfSpiffe(asked.agent_spiffe, trustDomain);
      if (named === null) throw new GateError('invalid_request', 'agent_spiffe: is no agent of this trust domain');
      if (named.tenant !== asked.tenant) throw new GateError('tenant_mismatch');
      const scope = scopeSet('scope', asked.scope);
      const yellowScope = scopeSet('yellow_scope', asked.yellow_scope);
      if (scope.length + yellowScope.length === 0)
        throw new GateError('invalid_grant_terms', 'scope: a grant of nothing lets nobody do anything');
      const nowMs = clock();
      const terms = termsOf(asked, nowMs, bound?.untilMs);
      const grant: NewGrant = {
        jti: uuidV7(nowMs),
        tenant: named.tenant,
        agent: named.agent,
        spiffe: named.name,
        fingerprint: bound?.fingerprint ?? asked.credential_fingerprint ?? null,
        isBound: bound !== undefined,
        by,
        idTokenSha256: sha256Hex(signedOf(asked.id_token)),
        scope,
        yellowScope,
        terms,
      };
      const claims = claimsOf(grant);
      await store.beginGrant(grant, nowMs);
      let token: string;
      try {
        token = await compactJws(claims, signer);
        if (token.length > LONGEST_GRANT)
          throw new GateError(
            'invalid_grant_terms',
            `scope: the grant would have ${token.length} characters, and ${LONGEST_GRANT} at most fit into a request`,
          );
      } catch (error) {
        await store.failGrant(grant.jti);
        if (error instanceof GateError) throw error;
        throw new GateError('signing_unavailable', undefined, { cause: error });
      }
      try {
        await store.releaseGrant(grant, clock());
      } catch (error) {
        // Then the token is good for another try. Where the store is away, the next start closes what is open.
        await store.failGrant(grant.jti).catch(() => undefined);
        throw error;
      }
      const { sub, act, exp, jti } = claims;
      return {
        grant: token,
        jti,
        sub,
        act,
        scope: [...scope],
        yellow_scope: [...yellowScope],
        nbf: terms.notBefore,
        exp,
        max_uses: terms.maxUses,
        recurrence: terms.recurrence,
      };
    },
  };
}
export type Granting = ReturnType<typeof createGranting>;

/** Of a person, as grants and rows name them. */
export const humanSubOf = ({ sub }: Pick<Delegator, 'sub'>): string => `user:${sub}`;

const claimsOf = ({ jti, spiffe, fingerprint, isBound, by, scope, yellowScope, terms }: NewGrant): GrantClaims => ({
  iss: GRANT_ISSUER,
  sub: spiffe,
  act: { sub: humanSubOf(by), idp: by.idp, amr: [...by.amr] },
  scope: [...scope],
  yellow_scope: [...yellowScope],
  iat: terms.iat,
  exp: terms.exp,
  jti,
  ...(terms.notBefore !== null && { nbf: terms.notBefore }),
  ...(terms.maxUses !== null && { max_uses: terms.maxUses }),
  ...(terms.recurrence && { recurrence: terms.recurrence }),
  ...(isBound && fingerprint !== null && { cnf: { 'x5t#S256': thumbprintOf(fingerprint) } }),
});

/** The part of a JWS in its compact form that its signature is of. */
const signedOf = (token: string): string => token.slice(0, token.lastIndexOf('.'));
