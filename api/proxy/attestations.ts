import { LRUCache } from 'lru-cache';
import type { RuntimeAttestationRequest } from '../../contracts/attestation.js';
import type { VerifiedAttestation } from '../../contracts/verified-attestation.js';
import type { AgentCaller } from './mcp-requests.js';

/** What was verified of the platform of an agent, by the certificate that it shows; `null` where nothing counts. Throws where nobody knows. */
export type AttestationOf = (
  caller: Pick<AgentCaller, 'spiffe' | 'fingerprint'>,
) => Promise<VerifiedAttestation | null>;

/** A measurement that is withdrawn counts here for so long at most, and no result longer than it says. */
const KEPT_MS = 300_000;
const MOST_KEPT = 10_000;

/** Asks identity, and keeps what it says of a certificate for a while. That nothing counts is not kept: the agent may attest the next moment. */
export function attestationsKnown({
  ask,
  now = Date.now,
}: {
  readonly ask: (leaf: RuntimeAttestationRequest) => Promise<VerifiedAttestation | null>;
  readonly now?: () => number;
}): AttestationOf {
  const kept = new LRUCache<string, { readonly verified: VerifiedAttestation; readonly untilMs: number }>({
    max: MOST_KEPT,
  });
  return async ({ spiffe, fingerprint }) => {
    const key = `${fingerprint} ${spiffe}`;
    const known = kept.get(key);
    if (known && known.untilMs > now()) return known.verified;
    const verified = await ask({ agent_spiffe: spiffe, credential_fingerprint: fingerprint });
    const isThis = verified?.spiffeId === spiffe && verified.svidSha256 === `sha256:${fingerprint}`;
    const endsMs = verified && isThis ? Date.parse(verified.expiresAt) : 0;
    kept.delete(key);
    if (!verified || endsMs <= now()) return null;
    kept.set(key, { verified, untilMs: Math.min(endsMs, now() + KEPT_MS) });
    return verified;
  };
}
