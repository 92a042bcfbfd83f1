import type { KeyObject } from 'node:crypto';
import { CLOCKS_APART_MS, clocksNow } from '../clocks.js';
import { signedAgain } from './decision-signature.js';
import type { DecisionOutcome, DecisionSender } from './ports.js';

export interface ClockWatchOptions {
  readonly decisionKey: KeyObject;
  readonly clock: () => number;
  /** What the clock of HIL's database says; `null` where there is none to ask. */
  readonly storeMs: () => Promise<number | null>;
  readonly logger: { error(fields: object, line: string): void };
}

const seconds = (ms: number): number => Math.round(ms / 1_000);

/**
 * A decision is signed by HIL's clock and held against that of the worker. Where a worker refused one as late, this tells late from clocks that
 * are apart (docs/architecture/reviews.md#clocks-that-are-apart).
 */
export function createClockWatch({ decisionKey, clock, storeMs, logger }: ClockWatchOptions) {
  let doubt: string | null = null;

  /** What the worker's clock was ahead of HIL's while it looked; negative where it was behind, 0 where the way of the decision may explain it. */
  const aheadBy = (workerMs: number, sentMs: number, answeredMs: number): number => {
    if (workerMs > answeredMs) return workerMs - answeredMs;
    return Math.min(0, workerMs - sentMs);
  };

  function apart(outcome: Refused, aheadMs: number, whose = 'the worker'): DecisionOutcome {
    const by = `${seconds(Math.abs(aheadMs))} s ${aheadMs > 0 ? 'behind' : 'ahead of'}`;
    const said = `the clock of HIL is ${by} that of ${whose}`;
    if (doubt === null)
      logger.error({ clocks_apart_ms: aheadMs }, `${said}: decisions are refused until that is put right`);
    doubt = said;
    return {
      ...outcome,
      code: 'clocks_apart',
      reason: `Nothing was decided: ${said}, and at most ${seconds(CLOCKS_APART_MS)} s are allowed. Put the clocks right (NTP), then decide again.`,
    };
  }

  return {
    /** The same sender. A decision that came late by the worker's clock alone is signed again for as much longer. */
    over: (sender: DecisionSender): DecisionSender => ({
      async decide(decision) {
        const sentMs = clock();
        const outcome = await sender.decide(decision);
        if (outcome.outcome !== 'refused') doubt = null;
        if (outcome.outcome !== 'refused' || outcome.clock_ms === undefined) return outcome;
        const aheadMs = aheadBy(outcome.clock_ms, sentMs, clock());
        if (Math.abs(aheadMs) > CLOCKS_APART_MS) return apart(outcome, aheadMs);
        const isLate = outcome.clock_ms > Date.parse(decision.not_after);
        if (aheadMs <= 0 || !isLate) {
          // Both are late by one clock that is wrong: that of a host which the database is not on.
          const asked = await clocksNow('HIL', clock, storeMs).catch(() => null);
          return asked !== null && asked.fault !== null && asked.storeMs !== null
            ? apart(outcome, asked.storeMs - asked.nowMs, 'its database')
            : outcome;
        }
        const again = await sender.decide(
          await signedAgain(decision, { key: decisionKey, laterMs: outcome.clock_ms - sentMs }),
        );
        if (again.outcome !== 'refused') doubt = null;
        return again;
      },
    }),

    /**
     * Readiness: throws where the database says that HIL's clock is wrong; and while a decision was refused because of the clocks, no other was
     * taken since, and the database does not say that HIL's is right.
     */
    async check(): Promise<void> {
      const asked = await clocksNow('HIL', clock, storeMs).catch(() => null);
      const fault = asked?.fault ?? null;
      if (fault !== null) throw new Error(doubt ?? fault);
      if (doubt !== null && (asked?.storeMs ?? null) === null) throw new Error(doubt);
      doubt = null;
    },
  };
}

type Refused = Extract<DecisionOutcome, { outcome: 'refused' }>;
