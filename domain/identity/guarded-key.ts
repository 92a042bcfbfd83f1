import { verify } from 'node:crypto';
import { errorText, GateError } from '../errors.js';
import { createUpstreamCircuit, type UpstreamFault } from '../upstream/upstream-circuit.js';
import type { HeldKey } from './held-key.js';

/** Why a store of keys did not sign: a word, and what it said, without a secret. */
export class KeyStoreError extends Error {
  override readonly name = 'KeyStoreError';
  constructor(
    readonly fault: UpstreamFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A key that lies in a store, which signs by it. */
export interface StoredKey extends Omit<HeldKey, 'fault'> {
  /** What it signs at most, in bytes, where its store says so. */
  readonly longestText?: number;
}

/** A text that is no statement of anybody's, signed to see whether a key answers again. */
const PROBE = Buffer.from('gate.key-probe/1\n');

/**
 * A key that lies elsewhere, asked with care (docs/architecture/identity.md#where-keys-lie): what comes back is checked under the public key before
 * anybody sees it, and a store that fails is not asked by everybody. Whatever goes wrong is `signing_unavailable`, which names `where`.
 */
export function guardedKey(where: string, key: StoredKey, now: () => number = Date.now): HeldKey {
  const circuit = createUpstreamCircuit(now);
  let probing = false;
  const unavailable = (why: string, cause?: unknown) =>
    new GateError('signing_unavailable', `the key of ${where} does not sign: ${why}`, { cause });
  const holds = (bytes: Uint8Array, signature: Buffer): boolean =>
    signature.length === 64 &&
    (key.algorithm === 'Ed25519'
      ? verify(null, bytes, key.publicKey, signature)
      : verify('sha256', bytes, { key: key.publicKey, dsaEncoding: 'ieee-p1363' }, signature));

  const isHeld = (): boolean => circuit.standing().state === 'held';
  /** All who waited when a store failed were told of the same failure. Only an attempt made after it makes the pause longer. */
  const failed = (fault: UpstreamFault, isTrial: boolean): void => {
    if (isTrial || !isHeld()) circuit.failed(fault);
  };

  async function sign(bytes: Uint8Array): Promise<Buffer> {
    const { longestText = Number.POSITIVE_INFINITY } = key;
    // A text that is too long says nothing about the store, and takes nobody's turn.
    if (bytes.length > longestText) throw unavailable(`it signs texts of ${longestText} bytes at most`);
    const held = circuit.held();
    if (held !== null) throw unavailable(`${held}; it is asked again in a moment`);
    const isTrial = isHeld();
    let signature: Buffer;
    try {
      signature = await key.sign(bytes);
    } catch (error) {
      failed(error instanceof KeyStoreError ? error.fault : 'unreachable', isTrial);
      throw unavailable(errorText(error), error);
    }
    if (!holds(bytes, signature)) {
      failed('invalid_answer', isTrial);
      throw unavailable('what came back is no signature of this key');
    }
    circuit.answered();
    return signature;
  }

  return {
    algorithm: key.algorithm,
    publicKey: key.publicKey,
    sign,
    fault() {
      const { fault } = circuit.standing();
      if (fault === null) return null;
      // Nobody else may ask for a while, and who is not ready is asked for nothing.
      if (!probing) {
        probing = true;
        void sign(PROBE)
          .catch(() => undefined)
          .finally(() => (probing = false));
      }
      return `${where}: ${fault}`;
    },
  };
}
