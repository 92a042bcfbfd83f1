import { createHilService, type HilOptions } from '../../api/hil/app.js';
import { type DecisionParts, decisionParts } from '../../api/hil/decision-parts.js';
import type { Service } from '../../api/plugins/service.js';
import { ONE_APPROVER } from '../../domain/decision/quorum.js';
import type { OpenedReviews } from '../../domain/review/ports.js';

/** Every approval by one person of the tenant. A test that is about more says so. */
const ONE_PERSON_ALONE = {
  passkeyRequired: 'none',
  quorum: ONE_APPROVER,
  agentOwners: [],
} as const satisfies Partial<HilOptions>;

/** What a test says of its service. `sender` is watched here, as the composition does it. */
export type HilTestOptions = Omit<HilOptions, 'reviews' | keyof DecisionParts | keyof typeof ONE_PERSON_ALONE> & {
  readonly reviews: HilOptions['reviews'] & Pick<OpenedReviews, 'clockMs'>;
} & Partial<Pick<HilOptions, 'checkClock' | keyof typeof ONE_PERSON_ALONE>> &
  Pick<HilOptions, 'sender'>;

export function hilService(options: HilTestOptions): Service {
  const { decisionLifeSeconds = 10, clock = Date.now } = options;
  const parts = decisionParts({ ...options, decisionLifeMs: decisionLifeSeconds * 1000, clock });
  return createHilService({ ...ONE_PERSON_ALONE, ...parts, ...options, sender: parts.sender });
}
