import type { Signer } from './signer.js';

/** A JWS in its compact form (RFC 7515 7.1), signed by Ed25519 (RFC 8037), with these three parameters in its header and no other. */
export async function compactJws(claims: object, signer: Signer): Promise<string> {
  const { kid } = signer.publicJwk;
  const signed = `${part({ alg: 'EdDSA', kid, typ: 'JWT' })}.${part(claims)}`;
  const { key_id: keyId, value } = await signer.sign(signed);
  if (keyId !== kid) throw new Error('the key changed while it signed');
  return `${signed}.${Buffer.from(value, 'base64').toString('base64url')}`;
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
