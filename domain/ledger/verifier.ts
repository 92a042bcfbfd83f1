import type { VerifyResult } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import { type ChainHead, EMPTY_CHAIN } from './chain.js';
import { asUnavailable, type ChainReader, ENTRY_COLUMNS } from './chain-store.js';
import { type Checkpoint, type InvalidReason, verifyChain, type WalkRange } from './verify.js';

export interface Verifier {
  /**
   * Walks the whole chain or, with `sinceCheckpoint`, only what was appended since the last valid walk of this process. Entries that one
   * walk found valid must still be there in every later walk, so a chain restored to an earlier head is invalid. Callers share a running
   * walk. An invalid chain is a result; only an unreadable store throws, with `ledger_store_unavailable`.
   */
  verify(options?: { readonly sinceCheckpoint?: boolean }): Promise<VerifyResult>;
}

export interface ForgetfulVerifier extends Verifier {
  /** Forgets earlier walks, because a rolled-back transaction may have been part of them. */
  forget(): void;
}

export interface VerifierOptions {
  /** Walks long ranges outside this thread. */
  readonly walkElsewhere?: WalkRange | undefined;
  /**
   * The length that the chain must have had, by durable evidence such as a signed checkpoint or a sink's confirmation. Read before each
   * walk.
   */
  readonly promisedLength?: (() => Promise<number>) | undefined;
  /** Called with the result of every walk. */
  readonly onResult?: ((result: VerifyResult) => void) | undefined;
}

export function createVerifier(
  reader: ChainReader,
  keys: KeyRing | null,
  { walkElsewhere, promisedLength, onResult }: VerifierOptions = {},
): ForgetfulVerifier {
  /** How far the chain was found valid. Kept when a later walk finds it invalid. */
  let good: Checkpoint | null = null;
  /** Whether a quick walk may continue from there. After an invalid walk only a full one may. */
  let continuable = false;
  let forgotten = 0;
  let invalidWalks = 0;
  const running: { full?: Promise<VerifyResult>; quick?: Promise<VerifyResult> } = {};

  /** The result of a walk, made invalid unless the chain is the earlier one, grown. */
  async function compared(result: VerifyResult, promised: number, before: Checkpoint | null): Promise<VerifyResult> {
    if (!result.commitment) return result;
    const { commitment, ...walked } = result;
    const invalid = (seq: number, reason: InvalidReason): VerifyResult => ({
      ...walked,
      valid: false,
      first_invalid_seq: seq,
      first_invalid_reason: reason,
    });
    const { length, hash } = before?.head ?? EMPTY_CHAIN;
    if (commitment.length < Math.max(length, promised)) return invalid(commitment.length + 1, 'head');
    const [row] = await reader.page(length, length);
    if (row) return row.cells[ENTRY_COLUMNS.indexOf('entry_hash')] === hash ? result : invalid(length, 'entry_hash');
    // Vacuumed since then: either what is kept of the entry has its hash, or the cursor is forged.
    const [gone] = await reader.vacuumed(length, length, 1);
    return gone && gone.entryHash !== hash ? invalid(length, 'vacuum') : result;
  }

  async function walk(from: Checkpoint | null): Promise<VerifyResult> {
    const before = { good, forgotten, invalidWalks };
    try {
      const promised = (await promisedLength?.()) ?? 0;
      const result = await compared(await verifyChain(reader, keys, from, walkElsewhere), promised, before.good);
      // Another walk found the chain invalid meanwhile. This one may have passed the place before it changed, or not have read it.
      if (result.commitment && invalidWalks !== before.invalidWalks) return await walk(null);
      if (!result.commitment) invalidWalks += 1;
      continuable = result.commitment !== undefined && forgotten === before.forgotten;
      if (result.commitment && continuable) {
        const { length, head_hash: hash } = result.commitment;
        // Another walk may have covered a longer chain meanwhile.
        if (!good || length >= good.head.length) good = { head: { length, hash }, checked: result.entries_checked };
      }
      onResult?.(result);
      return result;
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  return {
    verify({ sinceCheckpoint = false } = {}) {
      const kind = sinceCheckpoint && continuable ? 'quick' : 'full';
      running[kind] ??= walk(kind === 'quick' ? good : null).finally(() => {
        delete running[kind];
      });
      return running[kind];
    },
    forget() {
      good = null;
      continuable = false;
      forgotten += 1;
    },
  };
}

/**
 * The head of the chain if it is valid. Walks only what is new since this process's last walk. Throws `chain_verification_incomplete`
 * otherwise.
 */
export async function verifiedHead(verifier: Verifier): Promise<ChainHead> {
  const { commitment, first_invalid_seq: seq } = await verifier.verify({ sinceCheckpoint: true });
  if (!commitment)
    throw new GateError(
      'chain_verification_incomplete',
      `the chain does not hold${seq === null ? '' : ` at seq ${seq}`}`,
    );
  return { length: commitment.length, hash: commitment.head_hash };
}
