import type { MutatedPolicy } from '../../../contracts/policy-library.js';
import { type Action, type Form, REASON, type Visit, type WrittenFields } from '../../visit.js';
import { cameOf } from './came.js';
import { policyShown } from './policy.js';
import { reasonIn, seenIn } from './told.js';

/** A change of a policy, which is recorded with its reason. It leads to the policy as it is then. */
export const policyChange = (
  form: Pick<Action, 'path' | 'does' | 'refused' | 'holdsPolicy'> & { readonly written?: WrittenFields },
  change: (visit: Visit, form: Form) => Promise<MutatedPolicy>,
): Action => ({
  of: 'policy-changes',
  role: 'admin',
  written: REASON,
  ...form,
  act: async (visit, filled) => cameOf(visit, await change(visit, filled)),
});

const nameOf = ({ params: { name = '' } }: Visit): string => name;
const refused: Action['refused'] = (visit, form) => policyShown(visit, form);

export const ACTIVATE = policyChange(
  { path: '/policies/:name/activate', does: 'put a policy in force', refused },
  (visit, form) => visit.services.policy.setState(nameOf(visit), 'activate', seenIn(form), reasonIn(form)),
);

export const DEACTIVATE = policyChange(
  { path: '/policies/:name/deactivate', does: 'switch a policy off', refused },
  (visit, form) => visit.services.policy.setState(nameOf(visit), 'deactivate', seenIn(form), reasonIn(form)),
);

export const REMOVE = policyChange(
  { path: '/policies/:name/delete', does: 'delete a policy', refused },
  (visit, form) => visit.services.policy.remove(nameOf(visit), seenIn(form), form.get('back') || null, reasonIn(form)),
);
