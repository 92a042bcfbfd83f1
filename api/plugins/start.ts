import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { StartError } from '../../config/start-error.js';
import { errorText } from '../../domain/errors.js';
import { createSigner, type Signer } from '../../domain/identity/signer.js';
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

/** The key that signs authorizations: an Ed25519 PEM file. */
export const readSigner = (file: string): Promise<Signer> =>
  needed(
    'GATE_SIGNING_KEY_FILE',
    readFile(file, 'utf8').then((text) => createSigner(createPrivateKey(text))),
  );
