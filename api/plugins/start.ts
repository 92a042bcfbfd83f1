import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createKeyStores, type KeyStores } from '../../adapters/signing/key-stores.js';
import { StartError } from '../../config/start-error.js';
import { errorText } from '../../domain/errors.js';
import type { HeldKey } from '../../domain/identity/held-key.js';
import { type PublicJwk, publicJwkOf } from '../../domain/identity/signer.js';
import { decisionVerifierFor, readDecisionKey, readDecisionPublicKey } from '../../domain/review/decision-signature.js';
import type { VerifyDecision } from '../../domain/review/approval.js';
import type { Opening } from './declaration.js';

/** Ends the start with a one-line error that names the missing service, store or setting. */
export async function needed<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof StartError ? error : new StartError(`${what}: ${errorText(error)}`, { cause: error });
  }
}

/** Verifies decisions with HIL's public key only, so access to the engine is not enough to approve. */
export const decisionVerifier = (publicKeyFile: string): Promise<VerifyDecision> =>
  needed(
    'GATE_HIL_DECISION_PUBLIC_KEY_FILE',
    readFile(publicKeyFile, 'utf8').then((text) => decisionVerifierFor(readDecisionPublicKey(text))),
  );

export const readSigningKey = (file: string): Promise<KeyObject> =>
  needed('GATE_HIL_DECISION_KEY_FILE', readFile(file, 'utf8').then(readDecisionKey));

/** Public keys of authorizations beside those that Gate has (PEM, each after the other). */
export const readOtherKeys = (file: string | undefined): Promise<readonly PublicJwk[]> =>
  needed(
    'GATE_SIGNING_OTHER_KEYS_FILE',
    (file === undefined ? Promise.resolve('') : readFile(file, 'utf8')).then((text) => {
      const keys = publicKeysOf(text);
      if (file !== undefined && keys.length === 0) throw new Error('has no public key in PEM');
      return keys;
    }),
  );
const END_OF_KEY = '-----END PUBLIC KEY-----';
function publicKeysOf(text: string): readonly PublicJwk[] {
  const parts = text.split(END_OF_KEY);
  if ((parts.pop() ?? '').trim() !== '') throw new Error('has something else than public keys in PEM');
  return parts.map((part) => {
    const key = createPublicKey(`${part}${END_OF_KEY}`);
    if (key.asymmetricKeyType !== 'ed25519') throw new Error('has a key that is not Ed25519');
    return publicJwkOf(key);
  });
}

/** The stores of keys of one service, closed with it. */
export function openKeyStores({ onStop }: Pick<Opening<never>, 'onStop'>): {
  readonly keyStores: KeyStores;
  /** A readiness check: throws, naming the place, where one of its keys does not sign. */
  assertSigns(): void;
} {
  const stores = createKeyStores();
  onStop('connections', 'the stores of keys', async () => stores.close());
  const opened = new Set<HeldKey>();
  return {
    keyStores: {
      ...stores,
      async open(text) {
        const key = await stores.open(text);
        opened.add(key);
        return key;
      },
    },
    assertSigns() {
      for (const key of opened) {
        const fault = key.fault();
        if (fault !== null) throw new Error(fault);
      }
    },
  };
}
