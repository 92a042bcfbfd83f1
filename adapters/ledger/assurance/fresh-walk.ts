import type { AssuredVerifyResult } from '../../../contracts/ledger-evidence.js';
import { GateError } from '../../../domain/errors.js';
import type { Assurance } from './assurance.js';

/** A walk that found everything valid, with its commitment. */
export type CommittedWalk = AssuredVerifyResult & {
  readonly commitment: NonNullable<AssuredVerifyResult['commitment']>;
};

const MAX_WALKS = 5;

/**
 * Walks the chain until a walk covers its first `length` entries; a walk that others started earlier may be too short. Throws
 * `chain_verification_incomplete` when the chain does not verify or there is no commitment to it.
 */
export async function freshWalk(assurance: Pick<Assurance, 'verifyAssured'>, length: number): Promise<CommittedWalk> {
  for (let walks = 0; walks < MAX_WALKS; walks++) {
    const { commitment, ...verification } = await assurance.verifyAssured();
    if (!commitment)
      throw new GateError(
        'chain_verification_incomplete',
        verification.valid
          ? 'not every signature in the chain could be verified; nothing leaves in its name'
          : 'the chain does not verify; nothing leaves in its name (see GET /verify)',
      );
    if (commitment.length >= length) return { ...verification, commitment };
  }
  throw new GateError('chain_verification_incomplete', 'the chain grows faster than it is walked');
}
