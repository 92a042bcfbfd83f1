/** SubjectPublicKeyInfo of P-256 by its name (RFC 5480), without the point: before one of 33 bytes, and of 65. */
const P256 = {
  compressed: Buffer.from('3039301306072a8648ce3d020106082a8648ce3d030107032200', 'hex'),
  whole: Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex'),
};
/** The same of Ed25519 (RFC 8410), before the 32 bytes of the key. */
const ED25519 = Buffer.from('302a300506032b6570032100', 'hex');

const has = (spki: Uint8Array, header: Buffer, length: number): boolean =>
  spki.length === header.length + length && header.equals(spki.subarray(0, header.length));

/**
 * Whether bytes of others are a key of P-256 with a point that is spelled out. Asked before OpenSSL is: Node ends the process where it is to
 * tell of a key whose point is the one at infinity.
 */
export const isP256 = (spki: Uint8Array): boolean =>
  isWholeP256(spki) ||
  (has(spki, P256.compressed, 33) && [2, 3].includes(spki[P256.compressed.length] ?? 0)) ||
  isHybrid(spki);

/** The one spelling that X.509 certificates have of such a key: both coordinates. */
export const isWholeP256 = (spki: Uint8Array): boolean => has(spki, P256.whole, 65) && spki[P256.whole.length] === 4;
const isHybrid = (spki: Uint8Array): boolean =>
  has(spki, P256.whole, 65) && [6, 7].includes(spki[P256.whole.length] ?? 0);

export const isEd25519 = (spki: Uint8Array): boolean => has(spki, ED25519, 32);
