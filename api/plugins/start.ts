import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { StartError } from '../../config/start-error.js';
import { errorText } from '../../domain/errors.js';
import { createSigner, type Signer } from '../../domain/identity/signer.js';
import { decisionVerifierFor, readDecisionKey, readDecisionPublicKey } from '../../domain/review/decision-signature.js';
import type { VerifyDecision } from '../../domain/review/approval.js';

/** What cannot be had at the start ends it in one line that names the neighbour, the store or the setting. */
export async function needed<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof StartError ? error : new StartError(`${what}: ${errorText(error)}`, { cause: error });
  }
}

/** Checks decisions with HIL's public key alone: whoever reaches the engine still cannot approve. */
export const decisionVerifier = (publicKeyFile: string): Promise<VerifyDecision> =>
  needed(
    'GATE_HIL_DECISION_PUBLIC_KEY_FILE',
    readFile(publicKeyFile, 'utf8').then((text) => decisionVerifierFor(readDecisionPublicKey(text))),
  );

export const readSigningKey = (file: string): Promise<KeyObject> =>
  needed('GATE_HIL_DECISION_KEY_FILE', readFile(file, 'utf8').then(readDecisionKey));

/** The key behind authorizations: an Ed25519 PEM file. */
export const readSigner = (file: string): Promise<Signer> =>
  needed(
    'GATE_SIGNING_KEY_FILE',
    readFile(file, 'utf8').then((text) => createSigner(createPrivateKey(text))),
  );
