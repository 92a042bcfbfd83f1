import type { VerifyResult } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { asUnavailable, type ChainReader } from './chain-store.js';
import { type Checkpoint, verifyChain, type WalkRange } from './verify.js';

export interface Verifier {
  /**
   * Walks the whole chain, or with `sinceCheckpoint` only what came after the last walk of this process that found everything valid.
   * Callers share a walk that is running. An invalid chain is a result; only an unreadable store throws, `ledger_store_unavailable`.
   */
  verify(options?: { readonly sinceCheckpoint?: boolean }): Promise<VerifyResult>;
}

export interface VerifierOptions {
  /** How long stretches are walked where it is not in this thread. */
  readonly walkElsewhere?: WalkRange | undefined;
  /** Told what every walk found. */
  readonly onResult?: ((result: VerifyResult) => void) | undefined;
}

export function createVerifier(
  reader: ChainReader,
  keys: KeyRing | null,
  { walkElsewhere, onResult }: VerifierOptions = {},
): Verifier {
  let checkpoint: Checkpoint | null = null;
  const running: { full?: Promise<VerifyResult>; quick?: Promise<VerifyResult> } = {};

  async function walk(from: Checkpoint | null): Promise<VerifyResult> {
    try {
      const result = await verifyChain(reader, keys, from, walkElsewhere);
      checkpoint = result.commitment
        ? {
            head: { length: result.commitment.length, hash: result.commitment.head_hash },
            checked: result.entries_checked,
          }
        : null;
      onResult?.(result);
      return result;
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  return {
    verify({ sinceCheckpoint = false } = {}) {
      const kind = sinceCheckpoint && checkpoint ? 'quick' : 'full';
      running[kind] ??= walk(kind === 'quick' ? checkpoint : null).finally(() => {
        delete running[kind];
      });
      return running[kind];
    },
  };
}
