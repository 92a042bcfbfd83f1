import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { compactJws } from '../../domain/identity/compact-jws.js';
import { createSigner, type Signer } from '../../domain/identity/signer.js';

export const PEER = 'partner.example';
export const PEER_AGENT = `spiffe://${PEER}/tenant/theirs/agent/bot/instance/70000000-0000-4000-8000-000000000007`;

export const newSigner = (): Signer => createSigner(generateKeyPairSync('ed25519').privateKey);

/** The claims of a token by which an agent of the other Gate comes to this one. */
export function actorClaims(nowMs: number, over: object = {}): Record<string, unknown> {
  const iat = Math.floor(nowMs / 1_000);
  return {
    iss: `spiffe://${PEER}`,
    sub: PEER_AGENT,
    aud: 'spiffe://gate.local',
    scope: ['tool:read'],
    iat,
    exp: iat + 30,
    jti: randomUUID(),
    ...over,
  };
}

export const signedActor = (signer: Signer, claims: object): Promise<string> => compactJws(claims, signer);
