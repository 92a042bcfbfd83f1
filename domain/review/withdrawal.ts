import { uuidFromDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import type { OpenedReviews, WithdrawCall } from './ports.js';
import { createSystemDenials, type SystemDenialOptions } from './system-denial.js';
import { WITHDRAWN_BY_AGENT } from '../decision/transitions.js';

/** Withdraws calls where their rows are: a denial in Gate's own name, under an id of the row's own. */
export function createWithdrawals(
  options: SystemDenialOptions & { readonly reviews: Pick<OpenedReviews, 'reads' | 'settling'> },
): WithdrawCall {
  const deny = createSystemDenials(options);
  return async ({ correlation_id, tenant, agent_id }) => {
    // To take a call back nobody has to read it: its denial is of its digest.
    const row = await options.reviews.reads.anyway(correlation_id, tenant);
    if (row === null || row.agent_id !== agent_id) throw new GateError('not_found');
    if (row.status !== 'pending') return;
    await deny(row, {
      by: WITHDRAWN_BY_AGENT,
      reason: 'the agent withdrew its call',
      request_id: uuidFromDigest('gate.withdrawal', row.id),
    });
  };
}
