import { createPublicKey, type KeyObject } from 'node:crypto';
import type { z } from 'zod';
import { grantClaims, type GrantClaims, LONGEST_GRANT } from '../../contracts/grants.js';
import type { jwks } from '../../contracts/identity.js';
import { GateError } from '../../domain/errors.js';
import { isSignedBy, kidOf, type ReadJws, readJws } from '../../domain/identity/compact-jws.js';

export interface GrantTokens {
  /** The claims of a grant that identity signed. Throws `grant_invalid`, or `grant_jwks_unavailable` where nothing can be said about it. */
  verify(token: string): Promise<GrantClaims>;
}

/** How long the keys of identity are used before they are asked for again, beside the call that uses them. */
const FRESH_MS = 60_000;
/** For longer nobody goes on with them. */
const MOST_AGE_MS = 900_000;
/** A grant of a key that is not there makes Gate look at most so often: anybody can write a name. */
const LOOK_EVERY_MS = 2_000;
const MOST_KEYS = 16;

/** Grants whose signature was found to hold are known by the whole of their text, with these keys: an agent shows the same one with each call. */
const MOST_VERIFIED = 1_000;

interface Keys {
  readonly of: ReadonlyMap<string, KeyObject>;
  readonly atMs: number;
  readonly verified: Map<string, GrantClaims>;
}

/** Verifies grants with the keys that identity publishes (docs/architecture/identity.md#grants). */
export function createGrantTokens({
  ask,
  steadyMs = () => performance.now(),
}: {
  readonly ask: () => Promise<z.infer<typeof jwks>>;
  /** A clock that nobody sets. */
  readonly steadyMs?: () => number;
}): GrantTokens {
  let keys: Keys | null = null;
  let asking: Promise<Keys> | null = null;
  let askedAtMs = Number.NEGATIVE_INFINITY;

  async function asked(): Promise<Keys> {
    askedAtMs = steadyMs();
    const { keys: published } = await ask();
    if (published.length > MOST_KEYS) throw new Error(`identity publishes ${published.length} keys`);
    const of = new Map<string, KeyObject>();
    for (const jwk of published) {
      if (of.has(jwk.kid)) throw new Error(`identity publishes ${jwk.kid} twice`);
      of.set(jwk.kid, createPublicKey({ key: jwk, format: 'jwk' }));
    }
    // Whole, or not at all.
    return (keys = { of, atMs: askedAtMs, verified: new Map() });
  }
  const anew = (): Promise<Keys> => (asking ??= asked().finally(() => (asking = null)));
  const ageMs = (): number => (keys === null ? Number.POSITIVE_INFINITY : steadyMs() - keys.atMs);

  /** Whoever waits for the answer uses what is known. */
  function lookBeside(): void {
    if (ageMs() > FRESH_MS && steadyMs() - askedAtMs > LOOK_EVERY_MS) void anew().catch(() => undefined);
  }

  async function keyOf(kid: string): Promise<KeyObject> {
    try {
      if (keys === null || ageMs() > MOST_AGE_MS) keys = await anew();
      else lookBeside();
      const known = keys.of.get(kid);
      if (known) return known;
      const found = steadyMs() - askedAtMs > LOOK_EVERY_MS ? (await anew()).of.get(kid) : undefined;
      if (found) return found;
    } catch (error) {
      throw new GateError('grant_jwks_unavailable', undefined, { cause: error });
    }
    throw invalid('signed with none of the keys of identity');
  }

  function note(within: Keys | null, token: string, claims: GrantClaims): GrantClaims {
    if (within === null) return claims;
    const [oldest] = within.verified.keys();
    if (oldest !== undefined && within.verified.size >= MOST_VERIFIED) within.verified.delete(oldest);
    within.verified.set(token, claims);
    return claims;
  }

  return {
    async verify(token) {
      // Only what was signed by one of these keys is known by its text.
      const again = ageMs() <= MOST_AGE_MS ? keys?.verified.get(token) : undefined;
      if (again) {
        lookBeside();
        return again;
      }
      const { kid, ...jws } = readGrant(token);
      const key = await keyOf(kid);
      // Keys that came meanwhile have looked at nothing yet.
      const within = keys?.of.get(kid) === key ? keys : null;
      if (!isSignedBy(jws, key)) throw invalid('its signature does not hold');
      const read = grantClaims.safeParse(jws.claims);
      if (!read.success) throw invalid('its claims are not those of a grant');
      // Whoever holds claims reads them; nobody writes.
      return note(within, token, read.data);
    },
  };
}

/** With the key by which it says to be signed. */
function readGrant(token: string): ReadJws & { readonly kid: string } {
  if (token.length > LONGEST_GRANT) throw invalid(`longer than ${LONGEST_GRANT} characters`);
  const read = readJws(token);
  if (!read) throw invalid('no signed token');
  const kid = kidOf(read);
  if (kid === null) throw invalid('its header is not that of a grant');
  return { ...read, kid };
}

const invalid = (why: string): GateError => new GateError('grant_invalid', `the grant is refused: ${why}`);
