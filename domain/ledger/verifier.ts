import type { VerifyResult } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import { type ChainHead, EMPTY_CHAIN } from './chain.js';
import { asUnavailable, type ChainReader, ENTRY_COLUMNS } from './chain-store.js';
import { type Checkpoint, type InvalidReason, verifyChain, type WalkRange } from './verify.js';

export interface Verifier {
  /**
   * Walks the whole chain, or with `sinceCheckpoint` only what came after the last walk of this process that found everything valid. What
   * a walk found valid must still be there in every later one, so that a chain put back to an earlier head is not valid. Callers share a
   * walk that is running. An invalid chain is a result; only an unreadable store throws, `ledger_store_unavailable`.
   */
  verify(options?: { readonly sinceCheckpoint?: boolean }): Promise<VerifyResult>;
}

export interface ForgetfulVerifier extends Verifier {
  /** What was walked may never have been: a transaction was undone. Nothing is compared with it any more. */
  forget(): void;
}

export interface VerifierOptions {
  /** How long stretches are walked where it is not in this thread. */
  readonly walkElsewhere?: WalkRange | undefined;
  /** How long the chain once was by a durable word about it, such as a signed checkpoint or what a sink confirmed. Asked before a walk. */
  readonly promisedLength?: (() => Promise<number>) | undefined;
  /** Told what every walk found. */
  readonly onResult?: ((result: VerifyResult) => void) | undefined;
}

export function createVerifier(
  reader: ChainReader,
  keys: KeyRing | null,
  { walkElsewhere, promisedLength, onResult }: VerifierOptions = {},
): ForgetfulVerifier {
  /** Up to where the chain was found valid; kept when a later walk finds otherwise. */
  let good: Checkpoint | null = null;
  /** Whether a walk may go on from there: after an invalid one only the whole tells. */
  let continuable = false;
  let forgotten = 0;
  let invalidWalks = 0;
  const running: { full?: Promise<VerifyResult>; quick?: Promise<VerifyResult> } = {};

  /** What a walk found, unless the chain is not the one that was there before, grown. */
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
    // Vacuumed since: what stayed of it is that entry's, or its cursor is a lie.
    const [gone] = await reader.vacuumed(length, length, 1);
    return gone && gone.entryHash !== hash ? invalid(length, 'vacuum') : result;
  }

  async function walk(from: Checkpoint | null): Promise<VerifyResult> {
    const before = { good, forgotten, invalidWalks };
    try {
      const promised = (await promisedLength?.()) ?? 0;
      const result = await compared(await verifyChain(reader, keys, from, walkElsewhere), promised, before.good);
      // Another walk found something meanwhile: this one may have passed the place before, or not have looked at it.
      if (result.commitment && invalidWalks !== before.invalidWalks) return await walk(null);
      if (!result.commitment) invalidWalks += 1;
      continuable = result.commitment !== undefined && forgotten === before.forgotten;
      if (result.commitment && continuable) {
        const { length, head_hash: hash } = result.commitment;
        // A longer one may have been walked meanwhile.
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

/** The newest entry of a chain that holds up to it. Only what is new since the last walk of this process is walked. Throws
 * `chain_verification_incomplete` otherwise. */
export async function verifiedHead(verifier: Verifier): Promise<ChainHead> {
  const { commitment, first_invalid_seq: seq } = await verifier.verify({ sinceCheckpoint: true });
  if (!commitment)
    throw new GateError(
      'chain_verification_incomplete',
      `the chain does not hold${seq === null ? '' : ` at seq ${seq}`}`,
    );
  return { length: commitment.length, hash: commitment.head_hash };
}
