import type { MutatedPolicy } from '../../../contracts/policy-library.js';
import type { SeenVersion } from '../../services.js';
import { type Action, type Form, REASON, type Visit } from '../../visit.js';
import { cameOf } from './came.js';
import { policyShown } from './policy.js';
import { reasonIn, seenIn } from './told.js';

type Changed = Promise<MutatedPolicy>;

/** A change of a policy as somebody looked at it: of another version than was shown it is refused. */
const changing = (
  what: string,
  does: string,
  change: (visit: Visit, name: string, on: SeenVersion, form: Form) => Changed,
): Action => ({
  of: 'policy-changes',
  path: `/policies/:name/${what}`,
  role: 'admin',
  does,
  written: REASON,
  async act(visit, form) {
    const name = visit.params['name'] ?? '';
    return cameOf(visit, name, await change(visit, name, seenIn(form), form));
  },
  refused: (visit, form) => policyShown(visit, form),
});

export const ACTIVATE = changing('activate', 'put a policy in force', ({ services }, name, on, form) =>
  services.policy.setState(name, 'activate', on, reasonIn(form)),
);
export const DEACTIVATE = changing('deactivate', 'switch a policy off', ({ services }, name, on, form) =>
  services.policy.setState(name, 'deactivate', on, reasonIn(form)),
);
export const REMOVE = changing('delete', 'delete a policy', ({ services }, name, on, form) =>
  services.policy.remove(name, on, form.get('back') || null, reasonIn(form)),
);
