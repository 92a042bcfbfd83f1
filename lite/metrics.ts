import { Counter, Histogram, type Registry } from 'prom-client';
import type { CallState } from '../contracts/call.js';
import type { CallRecord } from '../domain/call/record.js';

/** What lite counts beside the proxy's own metrics (docs/architecture/lite.md#metrics). */
export function liteMetrics(registry: Registry) {
  const registers = [registry];
  const verdicts = new Counter({
    name: 'gate_lite_verdicts_total',
    help: 'Calls by verdict: allow, deny, pending, and in observe mode would_deny and would_pend.',
    labelNames: ['verdict'],
    registers,
  });
  const limited = new Counter({
    name: 'gate_lite_rate_limit_denied_total',
    help: 'Calls refused because their agent calls faster than it may.',
    registers,
  });
  const notices = new Counter({
    name: 'gate_lite_notification_total',
    help: 'Notices to the verdict webhook and the chat, by what became of them: sent, failed or dropped.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const inspected = new Counter({
    name: 'gate_lite_inspect_total',
    help: 'Tool calls that were inspected.',
    registers,
  });
  const ledgerQueue = new Histogram({
    name: 'gate_lite_ledger_queue_seconds',
    help: 'How long an answer waited until the file had its rows on disk.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2],
    registers,
  });
  const escalations = new Counter({
    name: 'gate_hil_escalations_total',
    help: 'Reviews that nobody had decided at a share of their time.',
    registers,
  });
  const reconciled = new Counter({
    name: 'gate_forensic_reconciliation_total',
    help: 'Calls that an earlier life of the process left open, by the state they were found in.',
    labelNames: ['outcome'],
    registers,
  });
  return {
    inspected: () => inspected.inc(),
    reconciled: (state: CallState) => reconciled.inc({ outcome: state }),
    /** Measures how long `written` takes; rejects as it does. */
    async queued(written: Promise<void>): Promise<void> {
      const done = ledgerQueue.startTimer();
      await written;
      done();
    },
    answered({ evidence: { verdict } }: CallRecord): void {
      if (verdict) verdicts.inc({ verdict: verdict.would ? `would_${verdict.would}` : WORDS[verdict.outcome] });
    },
    limited: () => limited.inc(),
    escalated: () => escalations.inc(),
    noticed: (kind: string, outcome: 'sent' | 'failed' | 'dropped') => notices.inc({ kind, outcome }),
  };
}
export type LiteMetrics = ReturnType<typeof liteMetrics>;

const WORDS = { allow: 'allow', deny: 'deny', park: 'pending' } as const;
