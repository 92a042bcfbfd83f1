import { type MutatedPolicy, STORED_ALONE } from '../../../contracts/policy-library.js';
import { Foreign } from '../../ui/parts.js';
import type { Shown, Visit } from '../../visit.js';
import { policyAddress } from './address.js';
import { DELETED, policyShown } from './policy.js';

/**
 * Where a change leads: to the policy as it is now. What the engine warns of stands above that page at once, as no address carries it: whoever sends
 * the form again is refused, since it was made on the version before.
 */
export async function cameOf(
  visit: Visit,
  { name, current_version: version, event_kind: kind, warnings = [] }: MutatedPolicy,
): Promise<string | Shown> {
  // Without a copy the page is that of the policy for everybody, whose versions are counted apart.
  const came = kind === 'policy.deleted' ? DELETED : String(version);
  if (warnings.length === 0) return `${policyAddress(name)}?came=${came}`;
  const isLate = warnings.some((warning) => warning.startsWith(STORED_ALONE));
  const shown = await policyShown({ ...visit, params: { name }, query: { came } }, undefined, isLate);
  return {
    ...shown,
    keptForBack: true,
    notice: {
      kind: 'bad',
      text: (
        <>
          {shown.notice?.text ?? `Done: version ${version}.`}
          {warnings.map((warning) => (
            <>
              <br />
              Warning: <Foreign text={warning} />
            </>
          ))}
        </>
      ),
    },
  };
}
