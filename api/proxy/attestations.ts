import { LRUCache } from 'lru-cache';
import type { RuntimeAttestationRequest } from '../../contracts/attestation.js';
import type { VerifiedAttestation } from '../../contracts/verified-attestation.js';
import type { StillAttested } from '../../domain/identity/attestation.js';
import type { AgentCaller } from './mcp-requests.js';

/** What was verified of the platform of an agent, by the certificate that it shows; `null` where nothing counts. Throws where nobody knows. */
export type AttestationOf = (
  caller: Pick<AgentCaller, 'spiffe' | 'fingerprint'>,
) => Promise<VerifiedAttestation | null>;

/** Identity is asked again after so long, so a measurement that is withdrawn counts no longer. */
const FRESH_MS = 2_000;
/** Where identity does not answer, what it said last counts for so long at most, and no longer than it says. */
const KEPT_MS = 300_000;
const MOST_KEPT = 10_000;

interface Kept {
  readonly verified: VerifiedAttestation;
  readonly freshMs: number;
  readonly untilMs: number;
}

/**
 * Asks identity, and keeps what it says of a certificate for two seconds; for minutes where identity is away. That nothing counts is not kept: the agent may
 * attest the next moment.
 */
export function attestationsKnown({
  ask,
  now = Date.now,
}: {
  readonly ask: (leaf: RuntimeAttestationRequest) => Promise<VerifiedAttestation | null>;
  readonly now?: () => number;
}): AttestationOf {
  const kept = new LRUCache<string, Kept>({ max: MOST_KEPT });
  return async ({ spiffe, fingerprint }) => {
    const key = `${fingerprint} ${spiffe}`;
    const known = kept.get(key);
    if (known && known.freshMs > now() && known.untilMs > now()) return known.verified;
    let verified: VerifiedAttestation | null;
    try {
      verified = await ask({ agent_spiffe: spiffe, credential_fingerprint: fingerprint });
    } catch (error) {
      if (known && known.untilMs > now()) return known.verified;
      throw error;
    }
    const isThis = verified?.spiffeId === spiffe && verified.svidSha256 === `sha256:${fingerprint}`;
    const endsMs = verified && isThis ? Date.parse(verified.expiresAt) : 0;
    if (!verified || endsMs <= now()) {
      kept.delete(key);
      return null;
    }
    kept.set(key, { verified, freshMs: now() + FRESH_MS, untilMs: Math.min(endsMs, now() + KEPT_MS) });
    return verified;
  };
}

/** The same, of a call that was judged before. */
export const stillAttestedBy =
  (attestationOf: AttestationOf): StillAttested =>
  async (leaf) =>
    (await attestationOf(leaf)) !== null;
