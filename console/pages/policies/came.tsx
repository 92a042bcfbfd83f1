import type { MutatedPolicy } from '../../../contracts/policy-library.js';
import { Foreign } from '../../ui/parts.js';
import type { Shown, Visit } from '../../visit.js';
import { policyAddress } from './address.js';
import { policyShown } from './policy.js';

/**
 * Where a change leads: to the policy as it is now. What the engine warns of stands above that page at once, as no address carries it: whoever sends
 * the form again is refused, since it was made on the version before.
 */
export async function cameOf(
  visit: Visit,
  name: string,
  { current_version: version, warnings = [] }: Pick<MutatedPolicy, 'current_version' | 'warnings'>,
): Promise<string | Shown> {
  if (warnings.length === 0) return `${policyAddress(name)}?came=${version}`;
  const shown = await policyShown({ ...visit, params: { name }, query: { came: String(version) } });
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
