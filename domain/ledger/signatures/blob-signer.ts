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
  /** A fresh key set of its own keys, by which signatures made here are verified. */
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

/** Keys of which one signs now, and the others did. */
export interface SigningKeysNow {
  readonly signing: { readonly id: string; readonly key: HeldKey };
  /** The oldest first. */
  readonly keys: readonly {
    readonly id: string;
    readonly publicKey: KeyObject;
    readonly state: 'announced' | 'signing' | 'retiring' | 'withdrawn';
    readonly signsFrom: string | null;
  }[];
}

const KEY_SET_LIFE_MS = 60_000;

/** A signer with one Ed25519 key (RFC 8032). Throws on another kind of key and on an id without a version. */
export function keyFileSigner({ privateKey, keyId, issuer, clock }: KeyFileSignerOptions): KeyFileSigner {
  const key = heldKey(privateKey);
  if (key.algorithm !== 'Ed25519') throw new Error('the signing key is not Ed25519');
  const { publicKey } = key;
  const now: SigningKeysNow = {
    signing: { id: keyId, key },
    keys: [{ id: keyId, publicKey, state: 'signing', signsFrom: null }],
  };
  return keysSigner({ now: () => now, issuer, ...(clock && { clock }) });
}

const versionOf = (keyId: string): number => {
  const version = /^[A-Za-z0-9._:-]+:v([1-9][0-9]*)$/.exec(keyId)?.[1];
  if (version === undefined) throw new Error(`a key id is written <name>:v<version>, not ${keyId}`);
  return Number(version);
};

function lineageNow(
  { keys }: SigningKeysNow,
  issuer: string,
): Pick<KeySetDocument, 'audience' | 'issuer' | 'keys' | 'sequence'> {
  // Those that signed: nothing verifies yet with one that is announced.
  const known = keys.flatMap(({ id, publicKey, state, signsFrom }) => {
    if (state !== 'signing' && state !== 'retiring') return [];
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    return {
      kid: id,
      algorithm: 'Ed25519' as const,
      public_key_pem: pem,
      public_key_sha256: sha256Hex(pem),
      activated_at: signsFrom ?? '1970-01-01T00:00:00.000Z',
      state: state === 'signing' ? ('active' as const) : ('historical_trusted' as const),
    };
  });
  return {
    issuer,
    audience: [issuer],
    sequence: Math.max(...known.map(({ kid }) => versionOf(kid))),
    keys: known.reverse(),
  };
}

/** A signer whose keys may be others each time. Throws where an id has no version. */
export function keysSigner({
  now,
  issuer,
  clock = Date.now,
}: {
  readonly now: () => SigningKeysNow;
  readonly issuer: string;
  readonly clock?: () => number;
}): KeyFileSigner {
  for (const { id } of now().keys) versionOf(id);
  return {
    async sign(_binding, digestSha256) {
      if (!/^[0-9a-f]{64}$/.test(digestSha256)) throw new Error('not a SHA-256 digest');
      const { id, key } = now().signing;
      return {
        signature: (await key.sign(Buffer.from(digestSha256, 'hex'))).toString('hex'),
        key_id: id,
        algorithm: 'ed25519',
        signed_at: new Date(clock()).toISOString(),
      };
    },
    async keySet(): Promise<KeySetDocument> {
      const lineage = lineageNow(now(), issuer);
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
