import type { PolicyStanding } from '../../../contracts/policy.js';
import { type KeptFile, settled } from '../../services.js';
import { Foreign } from '../../ui/parts.js';
import type { Visit } from '../../visit.js';

/** How the engine stands to what is stored, of which a page is about to say that it is in force. Null where it does not say. */
export async function engineStands({ services }: Visit): Promise<PolicyStanding | null> {
  const standing = await settled('policy', services.policy.standing());
  return standing.ok ? standing.value : null;
}

/** Stands above whatever says of something stored that it is in force, or offers to change it. */
export const Standing = ({ of }: { readonly of: PolicyStanding | null }) => (
  <>
    {of && of.not_in_force !== null && (
      <p class="notice bad" role="alert">
        The policy engine judges by other policies than are stored: <Foreign text={of.not_in_force} />. {MENDED}
      </p>
    )}
    {of && of.takes_no_change !== null && (
      <p class="notice bad" role="alert">
        The policy engine takes no change: <Foreign text={of.takes_no_change} />. {MENDED}
      </p>
    )}
  </>
);
const MENDED = (
  <>
    Health of the service and its log say which row; what is edited is mended by <code>gate policy rollback</code> or a
    new text.
  </>
);

/** What becomes of a new version. */
export const whenSaved = ({ active, not_in_force: late }: Pick<KeptFile, 'active' | 'not_in_force'>): string => {
  if (!active) return 'It stays switched off.';
  return late === null
    ? 'It is in force: a new version judges calls at once.'
    : 'It is stored as in force: a new version judges calls once the engine does by what is stored.';
};
