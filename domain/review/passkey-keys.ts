import { createPublicKey } from 'node:crypto';
import type { RegistrationJson } from '../../contracts/approval.js';
import { errorText, GateError } from '../errors.js';
import { foreignText } from '../text.js';
import { usualKey } from './passkey-proof.js';

/** Loaded at the first ceremony, because a start does not need them. */
const helpers = () => import('@simplewebauthn/server/helpers');

/** Algorithms and curves as COSE numbers them (RFC 9053). */
const [ES256, EDDSA, RS256] = [-7, -8, -257];
const [P256, ED25519] = [1, 6];
/** Those that a passkey may have. */
export const ALGORITHMS = [ES256, EDDSA, RS256];

/** `passkey_refused` for what the library says of what a browser sent. */
export const refusedWith = (cause: unknown): never => {
  throw new GateError('passkey_refused', foreignText(errorText(cause), 300), { cause });
};

/**
 * Refuses certificates of the device's maker, for which none were asked: the library would fetch the revocation lists that they name, from
 * wherever they say.
 */
export async function refuseAttestation({ response }: RegistrationJson): Promise<void> {
  const { decodeAttestationObject } = await helpers();
  const certified = (() => {
    try {
      const stated = decodeAttestationObject(new Uint8Array(Buffer.from(response.attestationObject, 'base64url')));
      const self = stated.get('fmt') === 'packed' && stated.get('attStmt').get('x5c') === undefined;
      return stated.get('fmt') !== 'none' && !self;
    } catch (error) {
      return refusedWith(error);
    }
  })();
  if (certified) throw new GateError('passkey_refused', 'a certificate of the device, which was not asked for');
}

/**
 * The same key as SubjectPublicKeyInfo, which every tool reads. Throws `passkey_refused` for whatever is no key that Gate accepts: its members
 * come from the browser, and may be of any type.
 */
export async function spkiOf(coseKey: Uint8Array<ArrayBuffer>): Promise<string> {
  const { decodeCredentialPublicKey, cose } = await helpers();
  const jwkOf = () => {
    const key = decodeCredentialPublicKey(coseKey);
    const { x, y, n, e, crv, alg } = cose.COSEKEYS;
    const algorithm = key.get(alg);
    if (cose.isCOSEPublicKeyEC2(key) && algorithm === ES256 && key.get(crv) === P256)
      return { kty: 'EC', crv: 'P-256', x: memberOf(key.get(x)), y: memberOf(key.get(y)) };
    if (cose.isCOSEPublicKeyRSA(key) && algorithm === RS256)
      return { kty: 'RSA', n: memberOf(key.get(n)), e: memberOf(key.get(e)) };
    if (cose.isCOSEPublicKeyOKP(key) && algorithm === EDDSA && key.get(crv) === ED25519)
      return { kty: 'OKP', crv: 'Ed25519', x: memberOf(key.get(x)) };
    throw new TypeError('a key of another kind');
  };
  try {
    const key = createPublicKey({ key: jwkOf(), format: 'jwk' });
    const usual = usualKey(key.export({ format: 'der', type: 'spki' }));
    if (usual === null) throw new TypeError('a key of another kind');
    return usual.toString('base64url');
  } catch (error) {
    return refusedWith(error);
  }
}

const memberOf = (bytes: unknown): string => {
  if (!(bytes instanceof Uint8Array)) throw new TypeError('a member of the key is no bytes');
  return Buffer.from(bytes).toString('base64url');
};
