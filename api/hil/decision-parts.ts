import type { KeyObject } from 'node:crypto';
import { createClockWatch, type ClockWatchOptions } from '../../domain/review/clock-watch.js';
import type { DecisionSender, OpenedReviews, WithdrawCall } from '../../domain/review/ports.js';
import { createRuleDecisions, type RuleDecision } from '../../domain/review/rule-decision.js';
import { createWithdrawals } from '../../domain/review/withdrawal.js';

/** What decides of calls without a person, and the way by which every decision is sent. A process has them once: its routes and its port share them. */
export interface DecisionParts {
  /** Tells a decision that came late from clocks that are apart. */
  readonly sender: DecisionSender;
  /** Throws while the clock of HIL is known to be wrong. */
  checkClock(): Promise<void>;
  readonly decideByRule: RuleDecision;
  readonly withdrawCall: WithdrawCall;
}

export function decisionParts({
  reviews,
  sender: unwatched,
  decisionKey,
  decisionLifeMs,
  clock,
  logger,
}: {
  readonly reviews: Pick<OpenedReviews, 'reads' | 'settling' | 'clockMs'>;
  readonly sender: DecisionSender;
  /** Ed25519 private key. The workers hold its public half. */
  readonly decisionKey: KeyObject;
  readonly decisionLifeMs: number;
  readonly clock: () => number;
  readonly logger: ClockWatchOptions['logger'];
}): DecisionParts {
  const clocks = createClockWatch({ decisionKey, clock, storeMs: () => reviews.clockMs(), logger });
  const sender = clocks.over(unwatched);
  return {
    sender,
    checkClock: () => clocks.check(),
    decideByRule: createRuleDecisions({ reviews, decisionKey, clock, decisionLifeMs }),
    withdrawCall: createWithdrawals({ reviews, sender, decisionKey, clock, decisionLifeMs }),
  };
}
