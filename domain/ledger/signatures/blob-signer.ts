import { type KeyObject, verify } from 'node:crypto';
import { type HeldKey, heldKey } from '../../identity/held-key.js';
import type { KeySetDocument, KeySetSource } from './key-set.js';
import { lineageOf } from './key-set.js';
import { sha256Hex } from '../../crypto/digest.js';

/** What a digest is signed for. The signer may refuse unknown purposes. */
export interface BlobBinding {
  readonly tenant: string;
  readonly audience: 'ledger';
  readonly purpose: 'regulatory-export-manifest';
  readonly operation: 'ledger.export.regulatory';
  readonly lifetime_seconds: number;
}

/** Ed25519 over the 32 bytes of the digest, as 128 hex digits. */
export interface BlobSignature {
  readonly signature: string;
  readonly key_id: string;
  readonly algorithm: 'ed25519';
  readonly signed_at: string;
}

/**
 * Signs digests for the ledger (docs/decisions/bundle-signer.md). Throws when nothing can be signed.
 */
export interface BlobSigner {
  sign(binding: BlobBinding, digestSha256: string): Promise<BlobSignature>;
}

/** Whether a signature over a digest verifies under that key. */
export const blobSignatureHolds = (digestSha256: string, signature: string, key: KeyObject): boolean =>
  /^[0-9a-f]{128}$/.test(signature) &&
  verify(null, Buffer.from(digestSha256, 'hex'), key, Buffer.from(signature, 'hex'));

export interface KeyFileSigner extends BlobSigner {
  /** A fresh key set with only this key, so that signatures made here can be verified before identity publishes it. */
  readonly keySet: KeySetSource;
}

export interface KeyFileSignerOptions {
  /** In memory, or held elsewhere. */
  readonly privateKey: KeyObject | HeldKey;
  /** `<name>:v<version>`. */
  readonly keyId: string;
  readonly issuer: string;
  readonly clock?: () => number;
}

const KEY_SET_LIFE_MS = 60_000;

/** A signer with one Ed25519 key (RFC 8032). Throws on another kind of key and on an id without a version. */
export function keyFileSigner({ privateKey, keyId, issuer, clock = Date.now }: KeyFileSignerOptions): KeyFileSigner {
  const held = heldKey(privateKey);
  if (held.algorithm !== 'Ed25519') throw new Error('the signing key is not Ed25519');
  const version = /^[A-Za-z0-9._:-]+:v([1-9][0-9]*)$/.exec(keyId)?.[1];
  if (version === undefined) throw new Error(`a key id is written <name>:v<version>, not ${keyId}`);
  const pem = held.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const lineage: Pick<KeySetDocument, 'audience' | 'issuer' | 'keys' | 'sequence'> = {
    issuer,
    audience: [issuer],
    sequence: Number(version),
    keys: [
      {
        kid: keyId,
        algorithm: 'Ed25519',
        public_key_pem: pem,
        public_key_sha256: sha256Hex(pem),
        activated_at: '1970-01-01T00:00:00.000Z',
        state: 'active',
      },
    ],
  };
  return {
    async sign(_binding, digestSha256) {
      if (!/^[0-9a-f]{64}$/.test(digestSha256)) throw new Error('not a SHA-256 digest');
      return {
        signature: (await held.sign(Buffer.from(digestSha256, 'hex'))).toString('hex'),
        key_id: keyId,
        algorithm: 'ed25519',
        signed_at: new Date(clock()).toISOString(),
      };
    },
    async keySet(): Promise<KeySetDocument> {
      return {
        contract: 'gate.historical-signing-keys/v1',
        generated_at: new Date(clock()).toISOString(),
        expires_at: new Date(clock() + KEY_SET_LIFE_MS).toISOString(),
        lineage_sha256: lineageOf(lineage),
        ...lineage,
      };
    },
  };
}
