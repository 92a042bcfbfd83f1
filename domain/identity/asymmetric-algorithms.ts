/** The signatures of tokens that only their issuer can make (RFC 7518, RFC 8037, RFC 9864): neither `none` nor those of a shared secret. */
export const ASYMMETRIC_ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
