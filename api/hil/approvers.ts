import { createApprovers } from '../../domain/review/approvers.js';
import { createStandingApprovals } from '../../domain/review/standing-approvals.js';
import { vouchedApprovers } from '../../domain/review/vouched-people.js';
import { errorText } from '../../domain/errors.js';
import type { HilOptions } from './app.js';
import { operatorsOf, ownersOf } from './scope.js';

/** How long the console's word about somebody holds. */
export const vouchedLifeMs = ({ vouchedSeconds = 3_600 }: Pick<HilOptions, 'vouchedSeconds'>): number =>
  vouchedSeconds * 1000;

/** Who may approve now, by the settings and the store, and what approvals are shown as by that. */
export function approversIn(
  options: Pick<HilOptions, 'operators' | 'agentOwners' | 'vouchedSeconds' | 'clock' | 'logger'> & {
    readonly reviews: Pick<HilOptions['reviews'], 'vouchings' | 'passkeys'>;
  },
) {
  const { reviews, operators, clock = Date.now } = options;
  const owners = ownersOf(options.agentOwners ?? []);
  const approvers = createApprovers({
    operators: operatorsOf({ operators }),
    vouched: vouchedApprovers({ store: reviews.vouchings, lifeMs: vouchedLifeMs(options), clock }),
    passkeys: reviews.passkeys,
    owners,
  });
  const standing = createStandingApprovals({
    approversOf: approvers.ofRows,
    failed: (error) =>
      options.logger.warn({ reason: errorText(error) }, 'whether approvals still count could not be looked up'),
  });
  return { owners, everybody: approvers.everybody, standing };
}
