import { type KeyObject, verify } from 'node:crypto';
import type { Signer } from './signer.js';

/** A JWS in its compact form (RFC 7515 7.1), signed by Ed25519 (RFC 8037), with these three parameters in its header and no other. */
export async function compactJws(claims: object, signer: Signer): Promise<string> {
  const { kid } = signer.publicJwk;
  const signed = `${part({ alg: 'EdDSA', kid, typ: 'JWT' })}.${part(claims)}`;
  const { key_id: keyId, value } = await signer.sign(signed);
  if (keyId !== kid) throw new Error('the key changed while it signed');
  return `${signed}.${Buffer.from(value, 'base64').toString('base64url')}`;
}

/** A token as it is written, before anything of it is believed. */
export interface ReadJws {
  readonly header: Readonly<Record<string, unknown>>;
  /** What its payload says, where that is JSON; `null` for anything else. */
  readonly claims: unknown;
  readonly signed: string;
  readonly signature: Buffer;
}

/** `null` for what is no JWS in its compact form, or writes its parts in another way than RFC 7515 2. */
export function readJws(token: string): ReadJws | null {
  const [header, payload, signature, ...more] = token.split('.').map(decoded);
  if (more.length > 0 || !header || !payload || !signature) return null;
  const said = jsonIn(header);
  if (said === null || typeof said !== 'object' || Array.isArray(said)) return null;
  const signed = token.slice(0, token.lastIndexOf('.'));
  return { header: said as ReadJws['header'], claims: jsonIn(payload), signed, signature };
}

/** The key by which it says to be signed, where its header has the three parameters of Gate's tokens and no other; otherwise `null`. */
export function kidOf({ header: { alg, kid, typ, ...more } }: ReadJws): string | null {
  return alg === 'EdDSA' && typ === 'JWT' && typeof kid === 'string' && Object.keys(more).length === 0 ? kid : null;
}

/** In this thread: of one signature that takes half the time of handing it to another. */
export const isSignedBy = ({ signed, signature }: ReadJws, key: KeyObject): boolean =>
  verify(null, Buffer.from(signed), key, signature);

/** Base64url without padding, and no other way of writing the same bytes. */
function decoded(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url');
  return part !== '' && bytes.toString('base64url') === part ? bytes : null;
}

function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
