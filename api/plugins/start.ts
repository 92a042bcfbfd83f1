import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { StartError } from '../../config/start-error.js';
import { errorText } from '../../domain/errors.js';
import { createSigner, type PublicJwk, publicJwkOf, type Signer } from '../../domain/identity/signer.js';
import { decisionVerifierFor, readDecisionKey, readDecisionPublicKey } from '../../domain/review/decision-signature.js';
import type { VerifyDecision } from '../../domain/review/approval.js';

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

/** Public keys of authorizations beside the one that signs (PEM, each after the other), without that one. */
export const readOtherKeys = (file: string | undefined, signer: Signer): Promise<readonly PublicJwk[]> =>
  needed(
    'GATE_SIGNING_OTHER_KEYS_FILE',
    (file === undefined ? Promise.resolve('') : readFile(file, 'utf8')).then((text) => {
      const keys = new Map(publicKeysOf(text).map((jwk) => [jwk.kid, jwk]));
      if (file !== undefined && keys.size === 0) throw new Error('has no public key in PEM');
      keys.delete(signer.publicJwk.kid);
      return [...keys.values()];
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

/** The key that signs authorizations: an Ed25519 PEM file. */
export const readSigner = (file: string): Promise<Signer> =>
  needed(
    'GATE_SIGNING_KEY_FILE',
    readFile(file, 'utf8').then((text) => createSigner(createPrivateKey(text))),
  );
