import { createPublicKey } from 'node:crypto';
import {
  type ActorTokenClaims,
  actorTokenClaims,
  type ActorTokenRedemption,
  type ActorTokenRequest,
  type IssuedActorToken,
  MOST_ACTOR_SECONDS,
  type RedeemedActorToken,
} from '../../contracts/actor-tokens.js';
import { sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { compactJws, isSignedBy, kidOf, type ReadJws, readJws } from './compact-jws.js';
import type { Signer } from './signer.js';
import { parseSpiffe } from './spiffe.js';
import { uuidV7 } from './uuid-v7.js';

/** A token that is about to be signed. */
export interface NewActorToken {
  readonly jti: string;
  readonly tenant: string;
  readonly agent: string;
  /** With its instance. */
  readonly spiffe: string;
  /** A trust domain. */
  readonly audience: string;
  readonly operation: string;
  readonly scope: readonly string[];
  readonly issuedMs: number;
  readonly expiresMs: number;
}

/** A token of another Gate that is used now. */
export interface UsedActorToken {
  /** By issuer and `jti`: whoever names it otherwise names another one. */
  readonly id: string;
  readonly issuer: string;
  readonly jti: string;
  readonly usedMs: number;
  /** Until then it could be used again, by every clock. */
  readonly keptUntilMs: number;
}

export interface ActorTokenStore {
  /** Stores the intent, before anything is signed. Throws `unregistered_agent`, and how the agent is stopped. */
  beginActorToken(token: NewActorToken): Promise<void>;
  /** Stores that it leaves. Throws where the agent was stopped meanwhile. */
  releaseActorToken(token: NewActorToken): Promise<void>;
  /** Nothing was signed: it never leaves. */
  failActorToken(jti: string): Promise<void>;
  /** `false` where it was used before, in whichever process. Throws where nobody can say. */
  useActorToken(used: UsedActorToken): Promise<boolean>;
}

/** A public key of a trust domain, by which tokens of it are signed. */
export interface PeerKey {
  readonly kid: string;
  /** Ed25519, as a JSON Web Key has it. */
  readonly x: string;
}

/** Other Gates: whose agents may come here, and where agents of this one may go. */
export interface Peers {
  /** Whether tokens are made for it. */
  isPeer(trustDomain: string): boolean;
  /** Throws `peer_bundle_unknown` and `peer_bundle_stale`. */
  keysOf(trustDomain: string): readonly PeerKey[];
  /** Whether its calls may come as this agent of this Gate. */
  comesAs(trustDomain: string, by: { readonly tenant: string; readonly agent: string }): boolean;
}

export const NO_PEERS: Peers = {
  isPeer: () => false,
  keysOf: (trustDomain) => {
    throw unknownPeer(trustDomain);
  },
  comesAs: () => false,
};

export const unknownPeer = (trustDomain: string): GateError =>
  new GateError('peer_bundle_unknown', undefined, { fields: { trust_domain: trustDomain } });
export const stalePeer = (trustDomain: string): GateError =>
  new GateError('peer_bundle_stale', undefined, { fields: { trust_domain: trustDomain } });

/** Clocks of two Gates differ by no more. */
const SKEW_SECONDS = 30;
/** Longer than a token lives, by the clocks of both. */
const KEPT_MS = 300_000;

/** Tokens that say to another Gate which agent of this one asks, and those of other Gates (docs/architecture/identity.md#actor-tokens). */
export function createActorTokens({
  store,
  signer,
  peers,
  trustDomain,
  clock,
}: {
  readonly store: ActorTokenStore;
  readonly signer: Signer;
  readonly peers: Peers;
  readonly trustDomain: string;
  readonly clock: () => number;
}) {
  const own = trustDomainId(trustDomain);
  return {
    /** Its intent is stored before it is signed, and it leaves once the store says so. */
    async issue({ binding, scope }: ActorTokenRequest): Promise<IssuedActorToken> {
      const target = parseSpiffe(binding.target, trustDomain);
      if (target?.kind !== 'agent' || target.tenant !== binding.tenant)
        throw new GateError('binding_mismatch', 'the target is no agent of this tenant and trust domain');
      if (!peers.isPeer(binding.audience))
        throw new GateError('binding_mismatch', `no Gate of the trust domain ${binding.audience} is known here`);
      const nowMs = clock();
      const iat = Math.floor(nowMs / 1_000);
      const token: NewActorToken = {
        jti: uuidV7(nowMs),
        tenant: target.tenant,
        agent: target.agent,
        spiffe: target.spiffe,
        audience: binding.audience,
        operation: binding.operation,
        scope,
        issuedMs: iat * 1_000,
        expiresMs: (iat + binding.lifetime_seconds) * 1_000,
      };
      const exp = iat + binding.lifetime_seconds;
      await store.beginActorToken(token);
      const claims: ActorTokenClaims = {
        iss: own,
        sub: token.spiffe,
        aud: trustDomainId(token.audience),
        scope: [...scope],
        iat,
        exp,
        jti: token.jti,
      };
      let signed: string;
      try {
        signed = await compactJws(claims, signer);
      } catch (error) {
        await store.failActorToken(token.jti);
        throw new GateError('signing_unavailable', undefined, { cause: error });
      }
      try {
        await store.releaseActorToken(token);
      } catch (error) {
        // Where the store is away, the next start closes what is open.
        await store.failActorToken(token.jti).catch(() => undefined);
        throw error;
      }
      return { token: signed, jti: token.jti, exp };
    },

    /** What the token says, where it holds and this is its one use. */
    async redeem({ token, expected, shown_by: by }: ActorTokenRedemption): Promise<RedeemedActorToken> {
      const read = readActorToken(token);
      const issuer = trustDomainIn(expected.issuer);
      if (issuer === null) throw refused('its issuer is no trust domain');
      const named = peers.keysOf(issuer).filter(({ kid }) => kid === read.kid);
      const [key] = named;
      if (!key || named.length !== 1) throw refused('it is signed with none of the keys of its issuer');
      if (!isSigned(read, key)) throw refused('its signature does not hold');
      const { claims } = read;
      if (claims.iss !== expected.issuer) throw refused('it is of another issuer');
      const subject = parseSpiffe(claims.sub, issuer);
      if (subject?.kind !== 'agent' || claims.sub !== expected.subject || subject.tenant !== expected.tenant)
        throw refused('it is of another agent');
      if (claims.aud !== own || expected.audience !== own) throw refused('it is for another Gate');
      if (!isSameSet(claims.scope, expected.scope)) throw refused('it is for something else');
      if (!peers.comesAs(issuer, { tenant: by.tenant, agent: by.agent_name }))
        throw refused('that Gate does not call as this agent');
      const nowMs = clock();
      const life = claims.exp - claims.iat;
      if (life <= 0 || life > MOST_ACTOR_SECONDS) throw refused('its life is too long, or none');
      if (claims.exp * 1_000 <= nowMs - SKEW_SECONDS * 1_000) throw refused('it is over');
      if (claims.iat * 1_000 > nowMs + SKEW_SECONDS * 1_000) throw refused('it is of the future');
      // Last: what is refused is not used up.
      const used = {
        id: useIdOf(claims),
        issuer: claims.iss,
        jti: claims.jti,
        usedMs: nowMs,
        keptUntilMs: nowMs + KEPT_MS,
      };
      let first: boolean;
      try {
        first = await store.useActorToken(used);
      } catch (error) {
        throw new GateError('replay_store_unavailable', undefined, { cause: error });
      }
      if (!first) throw new GateError('jti_already_used');
      const { iss, sub, aud, scope, jti, exp } = claims;
      return { iss, sub, aud, scope, jti, exp };
    },
  };
}
export type ActorTokens = ReturnType<typeof createActorTokens>;

/** What a call of these tools is asked for: each by its exact name. */
export const actorScope = (tools: readonly string[]): string[] => [...new Set(tools)].map((tool) => `tool:${tool}`);

export const trustDomainId = (trustDomain: string): string => `spiffe://${trustDomain}`;
/** `null` for what is no SPIFFE id of a trust domain alone. */
export const trustDomainIn = (id: string): string | null => /^spiffe:\/\/([a-z0-9._-]{1,255})$/.exec(id)?.[1] ?? null;

/** NUL is in neither, so no two tokens have one. */
const useIdOf = ({ iss, jti }: ActorTokenClaims): string => sha256Hex(`${iss}\0${jti}`);

interface ReadToken extends ReadJws {
  readonly kid: string;
  readonly claims: ActorTokenClaims;
}

/** Its form, before anything of it is believed. Throws `malformed_token`, and `invalid_token` for another kind of token. */
export function readActorToken(token: string): ReadToken {
  const read = readJws(token);
  const claims = actorTokenClaims.safeParse(read?.claims);
  if (!read || !claims.success || claims.data.jti.includes('\0')) throw malformed();
  const kid = kidOf(read);
  if (kid === null) throw refused('its header is not that of an actor token');
  return { ...read, kid, claims: claims.data };
}

/** By what is no key of Ed25519 nothing is signed. */
function isSigned(read: ReadToken, { x }: PeerKey): boolean {
  try {
    return isSignedBy(read, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }));
  } catch {
    return false;
  }
}
const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((entry) => other.includes(entry));

const malformed = (): GateError => new GateError('malformed_token');
const refused = (why: string): GateError => new GateError('invalid_token', `the actor token is refused: ${why}`);
