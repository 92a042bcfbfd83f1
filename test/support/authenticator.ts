import { generateKeyPairSync, hash, randomBytes, sign } from 'node:crypto';
import type { AssertionJson, RegistrationJson } from '../../contracts/approval.js';

const PRESENT = 0x01;
const VERIFIED = 0x04;
const ATTESTED = 0x40;

/** What an assertion can have wrong. */
export interface AssertionFaults {
  readonly origin?: string;
  readonly rpId?: string;
  readonly counter?: number;
  readonly flags?: number;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  /** The same key with its members in another order, which the library reads too. */
  readonly yFirst?: boolean;
  /** Any bytes in place of its own COSE_Key. */
  readonly key?: Buffer;
}

export const authenticatorKeys = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** An authenticator in software (WebAuthn, 6): one ES256 key, which counts its uses. It signs what it is told, also what none would. */
export function softwareAuthenticator(
  { rpId, origin }: { readonly rpId: string; readonly origin: string },
  { privateKey, publicKey } = authenticatorKeys(),
) {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(32);
  let counter = 0;
  const data = (flags: number, count: number, rp: string, more = Buffer.alloc(0)) => {
    const head = Buffer.alloc(5);
    head.writeUInt8(flags, 0);
    head.writeUInt32BE(count, 1);
    return Buffer.concat([hash('sha256', rp, 'buffer'), head, more]);
  };
  const client = (type: string, challenge: string, from: string, crossOrigin: boolean) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: from, crossOrigin }));

  return {
    id: id.toString('base64url'),
    publicKeyPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),

    create(challenge: string, { flags = PRESENT | VERIFIED, ...faults }: AssertionFaults = {}): RegistrationJson {
      const [ofX, ofY] = [
        Buffer.concat([Buffer.from('215820', 'hex'), Buffer.from(x, 'base64url')]),
        Buffer.concat([Buffer.from('225820', 'hex'), Buffer.from(y, 'base64url')]),
      ];
      // COSE_Key (RFC 9053, 7.1.1): EC2, ES256, P-256.
      const own = Buffer.concat([Buffer.from('a5010203262001', 'hex'), ...(faults.yFirst ? [ofY, ofX] : [ofX, ofY])]);
      const key = faults.key ?? own;
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key]);
      const authData = data(flags | ATTESTED, counter, faults.rpId ?? rpId, attested);
      const attestation = Buffer.concat([
        // {"fmt": "none", "attStmt": {}, "authData": bytes}
        Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
        Buffer.from([0x59, authData.length >> 8, authData.length & 0xff]),
        authData,
      ]);
      const said = client(faults.type ?? 'webauthn.create', challenge, faults.origin ?? origin, false);
      return {
        id: id.toString('base64url'),
        rawId: id.toString('base64url'),
        type: 'public-key',
        response: {
          clientDataJSON: said.toString('base64url'),
          attestationObject: attestation.toString('base64url'),
        },
      };
    },

    /** Signs the challenge; the counter grows with each use. */
    get(challenge: string, faults: AssertionFaults = {}): AssertionJson {
      counter += 1;
      const said = client(
        faults.type ?? 'webauthn.get',
        challenge,
        faults.origin ?? origin,
        faults.crossOrigin ?? false,
      );
      const authData = data(faults.flags ?? PRESENT | VERIFIED, faults.counter ?? counter, faults.rpId ?? rpId);
      const signature = sign('sha256', Buffer.concat([authData, hash('sha256', said, 'buffer')]), privateKey);
      return {
        id: id.toString('base64url'),
        rawId: id.toString('base64url'),
        type: 'public-key',
        response: {
          clientDataJSON: said.toString('base64url'),
          authenticatorData: authData.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      };
    },
  };
}
