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

const P25519 = 2n ** 255n - 19n;
/** The y of points whose order divides eight (RFC 7748 7): 0, 1, p - 1, and those of order eight. */
const SMALL_ORDER_Y: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  P25519 - 1n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
]);

/**
 * Whether an Ed25519 key proves something. Anybody can make signatures that hold under a point of small order, without a private key; a y of p or more
 * is another spelling of a point (RFC 8032 5.1.3).
 */
export function isProvingEd25519(spki: Uint8Array): boolean {
  if (!isEd25519(spki)) return false;
  const point = Buffer.from(spki.subarray(ED25519.length)).reverse();
  point[0] = (point[0] ?? 0) & 0x7f;
  const y = BigInt(`0x${point.toString('hex')}`);
  return y < P25519 && !SMALL_ORDER_Y.has(y);
}

export const isEd25519 = (spki: Uint8Array): boolean => has(spki, ED25519, 32);
