import { type KeptFile, settled } from '../../services.js';
import { Foreign } from '../../ui/parts.js';
import type { Visit } from '../../visit.js';

/** Why the engine does not judge by what is stored, of which a page is about to say that it is in force; null where it does, or does not say. */
export async function whyNotInForce({ services }: Visit): Promise<string | null> {
  const list = await settled('The policy engine', services.policy.list());
  return list.ok ? list.value.not_in_force : null;
}

/** Stands above whatever says of something stored that it is in force. */
export const NotInForce = ({ why }: { readonly why: string | null }) =>
  why === null ? null : (
    <p class="notice bad" role="alert">
      The policy engine judges by other policies than are stored, or takes no change: <Foreign text={why} />. Health of
      the service and its log say which row; what is edited is mended by <code>gate policy rollback</code> or a new
      text.
    </p>
  );

/** What becomes of a new version. */
export const whenSaved = ({ active, not_in_force: late }: Pick<KeptFile, 'active' | 'not_in_force'>): string => {
  if (!active) return 'It stays switched off.';
  return late === null
    ? 'It is in force: what you save judges calls at once.'
    : 'It is stored as in force: what you save judges calls once the engine does by what is stored.';
};
