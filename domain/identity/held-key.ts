import { createPublicKey, type KeyObject, sign } from 'node:crypto';

/** What a key signs by: Ed25519 (RFC 8032), or ECDSA P-256 over SHA-256 with r and s side by side, as ES256 of RFC 7518 has it. */
export type KeyAlgorithm = 'Ed25519' | 'ES256';

/** A private key where it is kept: it signs there, and never leaves. */
export interface HeldKey {
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: KeyObject;
  /** 64 bytes. Throws `signing_unavailable` where the key cannot be reached; nothing is signed by another one instead. */
  sign(bytes: Uint8Array): Promise<Buffer>;
  /** What is wrong with the place where it lies, as far as is known; `null` for nothing. */
  fault(): string | null;
}

/** A key in the memory of this process, as a file had it. Throws on a key of another kind. */
export function keyInMemory(privateKey: KeyObject): HeldKey {
  const publicKey = createPublicKey(privateKey);
  const algorithm = algorithmOf(publicKey);
  return {
    algorithm,
    publicKey,
    sign: async (bytes) =>
      algorithm === 'Ed25519'
        ? sign(null, bytes, privateKey)
        : sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' }),
    fault: () => null,
  };
}

/** A key that may be in memory already. */
export const heldKey = (key: KeyObject | HeldKey): HeldKey => ('sign' in key ? key : keyInMemory(key));

/** Throws on a key of another kind. */
export function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): KeyAlgorithm {
  if (type === 'ed25519') return 'Ed25519';
  if (type === 'ec' && details?.namedCurve === 'prime256v1') return 'ES256';
  throw new Error('the signing key is neither Ed25519 nor ECDSA P-256');
}
