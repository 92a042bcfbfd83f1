import type { Logger } from 'pino';
import type { AgentOwner, Operator } from '../../config/hil.js';
import { createApprovers } from '../../domain/review/approvers.js';
import type { OpenedReviews } from '../../domain/review/ports.js';
import { createStandingApprovals } from '../../domain/review/standing-approvals.js';
import { vouchedApprovers } from '../../domain/review/vouched-people.js';
import { errorText } from '../../domain/errors.js';
import { operatorsOf, ownersOf } from './scope.js';

interface ApproversInOptions {
  readonly reviews: Pick<OpenedReviews, 'vouchings' | 'passkeys'>;
  readonly operators: readonly Operator[];
  /** Whose agents they are. */
  readonly agentOwners: readonly AgentOwner[];
  /** How long the console's word about somebody holds. */
  readonly vouchedSeconds?: number;
  readonly clock?: () => number;
  readonly logger: Logger;
}

export const vouchedLifeMs = ({ vouchedSeconds = 3_600 }: Pick<ApproversInOptions, 'vouchedSeconds'>): number =>
  vouchedSeconds * 1000;

/** Who may approve now, by the settings and the store, and what approvals are shown as by that. */
export function approversIn(options: ApproversInOptions) {
  const { reviews, operators, clock = Date.now } = options;
  const owners = ownersOf(options.agentOwners);
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
