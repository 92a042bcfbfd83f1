import {
  LONGEST_ASSIGNEE,
  MODIFICATION_CONTRACT,
  modificationDiff,
  type PendingRequest,
} from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import { isPersonsName } from '../../../domain/review/vouching.js';
import type { Deciding } from '../../services.js';
import { reviewAddress } from '../../ui/addresses.js';
import { type Action, CHANGED, type Form, REASON, type Visit } from '../../visit.js';
import { readingOf } from './arguments.js';
import { asShown, signatureIn } from './decision-fields.js';
import { changesIn, modifyShown } from './modify.js';
import { callIdOf, inList } from './list-address.js';
import { queueShown } from './queue.js';

/** By a link, where the form has one that leads to this call and still holds: anybody can write a form of his own. */
async function through(visit: Visit, form: Form): Promise<Pick<Deciding, 'via'>> {
  const link = form.get('link').slice(0, 512);
  if (link === '') return {};
  const { valid, pending_id: id } = await visit.services.hil.verifyLink(link);
  return valid && id === callIdOf(visit) ? { via: 'signed-link' } : {};
}

/** The row again, with the list as it was. */
const backTo = (visit: Visit, form: Form): string =>
  `${reviewAddress(callIdOf(visit))}?${new URLSearchParams([...new URLSearchParams(form.get('list')), ['done', callIdOf(visit)]]).toString()}`;

/** Who was faster, or what else became of it. The row says so, whatever the form was for; the list and what was typed stay. */
const refused: Action['refused'] = async (visit, form) => queueShown(inList(visit, form), callIdOf(visit), null, form);

/** The reason that was typed; `null` for none. */
export const reasonGiven = (form: Form): string | null => form.get('reason').trim() || null;

/** Approves a call that could be read here as a whole. */
export async function approve(
  { services: { hil } }: Visit,
  id: string,
  shown: Omit<Deciding, 'decision' | 'modificationDiff'>,
): Promise<PendingRequest> {
  const row = await hil.row(id);
  if (row === null) throw new GateError('not_found');
  if (row.status === 'pending' && !readingOf(row).isWhole)
    throw new GateError('invalid_request', 'the call is too large to be read here, so it is not approved here');
  return hil.decide(id, { decision: 'approve', ...shown });
}

export const APPROVE: Action = {
  path: '/hil/:id/approve',
  role: 'approver',
  does: 'approve a call',
  written: REASON,
  async act(visit, form) {
    await approve(visit, callIdOf(visit), {
      reason: reasonGiven(form),
      ...asShown(form),
      ...signatureIn(form),
      ...(await through(visit, form)),
    });
    return backTo(visit, form);
  },
  refused,
};

export const DENY: Action = {
  path: '/hil/:id/deny',
  role: 'approver',
  does: 'deny a call',
  written: REASON,
  async act(visit, form) {
    await visit.services.hil.decide(callIdOf(visit), {
      decision: 'deny',
      reason: reasonGiven(form),
      ...asShown(form),
      ...(await through(visit, form)),
    });
    return backTo(visit, form);
  },
  refused,
};

export const MODIFY: Action = {
  path: '/hil/:id/modify',
  role: 'approver',
  does: 'change the arguments of a call and approve it so',
  written: CHANGED,
  async act(visit, form) {
    const { hil } = visit.services;
    const row = await hil.row(callIdOf(visit));
    if (row === null) throw new GateError('not_found');
    if (!readingOf(row).isWhole)
      throw new GateError('invalid_request', 'the call is too large to be read here, so it is not changed here');
    const { replacements } = changesIn(row, form);
    const diff = modificationDiff.safeParse({ contract: MODIFICATION_CONTRACT, replacements });
    if (!diff.success)
      throw new GateError(
        'invalid_modification_diff',
        `nothing was changed, or more than can be: ${diff.error.issues[0]?.message ?? ''}`,
      );
    await hil.decide(callIdOf(visit), {
      decision: 'modify',
      reason: reasonGiven(form),
      modificationDiff: diff.data,
      ...asShown(form),
      ...signatureIn(form),
      ...(await through(visit, form)),
    });
    return backTo(visit, form);
  },
  refused: async (visit, form, why) => {
    // Where it does not answer, the page says that of the row; what is told is why the change was refused.
    const row = await visit.services.hil.row(callIdOf(visit)).catch(() => null);
    return row?.status === 'pending' ? modifyShown(visit, row, form) : refused(visit, form, why);
  },
};

export const ASSIGN: Action = {
  path: '/hil/:id/assign',
  role: 'approver',
  does: 'say who should decide a call, oneself or somebody else, or give it back',
  written: { assignee: 'Assign to' },
  async act(visit, form) {
    await visit.services.hil.assign(callIdOf(visit), assigneeIn(visit, form));
    return backTo(visit, form);
  },
  refused,
};

/** Whom the form names, as a decision would name him; nobody where it gives the call back, and whoever sends it where it says neither. */
function assigneeIn({ person }: Visit, form: Form): string | null {
  if (form.names().includes('nobody')) return null;
  if (!form.names().includes('assignee')) return person.subject;
  const to = form.get('assignee').trim();
  if (!isPersonsName(to) || to.length > LONGEST_ASSIGNEE)
    throw new GateError(
      'invalid_request',
      'Nobody decides under such a name: it is written as a decision names people, such as operator:ada or oidc:ada.',
    );
  return to;
}
