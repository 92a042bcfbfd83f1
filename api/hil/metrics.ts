import { Counter, Gauge, type Registry } from 'prom-client';
import type { DecisionsOptions } from '../../domain/review/decisions.js';
import type { NotifierOptions } from '../../domain/notification/notifier.js';
import type { ReviewLists, ReviewSettling } from '../../domain/review/ports.js';

/**
 * Metrics for alerts on human review: how many rows wait, the age of the oldest, and the results of decisions. The gauges read the store
 * when they are scraped, so that replicas agree. They are NaN, not zero, when the store cannot be read.
 */
export function reviewMetrics(
  registry: Registry,
  reviews: { readonly lists: Pick<ReviewLists, 'backlog'>; readonly settling: Pick<ReviewSettling, 'onEscalated'> },
  clock: () => number,
): DecisionsOptions['observe'] {
  const backlog = async (value: (found: Awaited<ReturnType<ReviewLists['backlog']>>) => number): Promise<number> => {
    try {
      return value(await reviews.lists.backlog());
    } catch {
      return Number.NaN;
    }
  };
  const registers = [registry];
  new Gauge({
    name: 'gate_hil_pending_rows',
    help: 'Reviews that wait for a decision.',
    registers,
    async collect() {
      this.set(await backlog(({ pending }) => pending));
    },
  });
  new Gauge({
    name: 'gate_hil_oldest_pending_age_seconds',
    help: 'Age of the oldest review that waits for a decision; 0 when none does.',
    registers,
    async collect() {
      this.set(
        await backlog(({ oldest_created_ms }) =>
          oldest_created_ms === null ? 0 : Math.max(0, clock() - oldest_created_ms) / 1000,
        ),
      );
    },
  });
  const decisions = new Counter({
    name: 'gate_hil_decisions_total',
    help: 'Decisions on existing rows: applied, refused by code, or failed.',
    labelNames: ['decision', 'outcome'],
    registers,
  });
  const escalations = new Counter({
    name: 'gate_hil_escalations_total',
    help: 'Reviews that nobody had decided at a share of their time.',
    registers,
  });
  reviews.settling.onEscalated(() => escalations.inc());
  return (decision, outcome) => decisions.inc({ decision, outcome });
}

/** Counts the sweeps of what reviews hold beyond its date; `failed` says that something may be left. */
export function retentionMetrics(registry: Registry): (outcome: 'done' | 'failed') => void {
  const sweeps = new Counter({
    name: 'gate_hil_retention_sweeps_total',
    help: 'Sweeps of what reviews hold beyond its date: done, or failed where something of it may be left.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['done', 'failed']) sweeps.inc({ outcome }, 0);
  return (outcome) => sweeps.inc({ outcome });
}

/** Counts the attempts to tell people; `dead` is the last one of a message that nobody gets, `partial` of one that some do not get. */
export function notificationMetrics(registry: Registry): NotifierOptions['observe'] {
  const deliveries = new Counter({
    name: 'gate_hil_notification_deliveries_total',
    help: 'Attempts to tell a channel of a review: delivered, failed, limited by the receiver, or when none follows dead, partial where some of the receivers got it.',
    labelNames: ['channel', 'phase', 'outcome'],
    registers: [registry],
  });
  return (channel, phase, outcome) => deliveries.inc({ channel, phase, outcome });
}
