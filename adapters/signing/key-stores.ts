import { createPrivateKey } from 'node:crypto';
import { guardedKey } from '../../domain/identity/guarded-key.js';
import { type HeldKey, type KeyAlgorithm, keyInMemory } from '../../domain/identity/held-key.js';
import {
  isKeyReference,
  type KeyReference,
  keyReferenceIn,
  type Pkcs11Reference,
  readKeyReference,
} from '../../domain/identity/key-reference.js';
import { openKms } from './kms.js';
import { openPkcs11Token, type Pkcs11Token } from './pkcs11.js';

/** Where private keys lie: in the text of a file, or in a store that signs by itself. */
export interface KeyStores {
  /** The key of a text: in PEM, or where it lies (`readKeyReference`). The same text is the same key. Throws where it cannot be used. */
  open(text: string): Promise<HeldKey>;
  /**
   * A new key in a place (`keyReferenceIn`), and where it lies from now on. In a token the same name again is the same key; KMS makes another one,
   * and tells them apart by its own ids.
   */
  make(place: string, name: string, algorithm: KeyAlgorithm): Promise<string>;
  close(): void;
}

export interface KeyStoreOptions {
  /** How long a store may take for an answer. */
  readonly limitMs?: number;
  readonly clock?: () => number;
}

const LIMIT_MS = 5_000;

export function createKeyStores({ limitMs = LIMIT_MS, clock = Date.now }: KeyStoreOptions = {}): KeyStores {
  const tokens = new Map<string, Pkcs11Token>();
  const kept = new Map<string, Promise<HeldKey>>();
  async function opened(reference: KeyReference): Promise<HeldKey> {
    if (reference.store === 'awskms')
      return guardedKey('KMS', await openKms(reference, limitMs, clock).key(reference.key), clock);
    return guardedKey(`the token ${reference.token}`, await tokenOf(reference).key(reference.object), clock);
  }
  /** A token has one process, whatever the number of its keys. */
  function tokenOf(reference: Pkcs11Reference): Pkcs11Token {
    const place = JSON.stringify([reference.module, reference.token, reference.pinFile]);
    const token = tokens.get(place) ?? openPkcs11Token(reference, limitMs);
    tokens.set(place, token);
    return token;
  }
  return {
    async open(text) {
      if (!isKeyReference(text)) return keyInMemory(createPrivateKey(text));
      const known = kept.get(text);
      if (known) return known;
      const opening = opened(readKeyReference(text));
      kept.set(text, opening);
      // What could not be opened may be there the next time.
      opening.catch(() => kept.delete(text));
      return opening;
    },
    async make(place, name, algorithm) {
      const named = keyReferenceIn(place, name);
      const reference = readKeyReference(named);
      if (reference.store === 'awskms')
        return keyReferenceIn(place, await openKms(reference, limitMs, clock).make(algorithm, name));
      await tokenOf(reference).make(reference.object, algorithm);
      return named;
    },
    close() {
      for (const token of tokens.values()) token.close();
    },
  };
}
