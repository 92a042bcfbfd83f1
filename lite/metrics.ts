import { Counter, type Registry } from 'prom-client';
import type { CallRecord } from '../domain/call-record/record.js';

/** What lite counts beside the proxy's own metrics (lite sheet 17). */
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
  return {
    answered({ evidence: { verdict } }: CallRecord): void {
      if (verdict) verdicts.inc({ verdict: verdict.would ? `would_${verdict.would}` : WORDS[verdict.outcome] });
    },
    limited: () => limited.inc(),
    noticed: (kind: string, outcome: 'sent' | 'failed' | 'dropped') => notices.inc({ kind, outcome }),
  };
}
export type LiteMetrics = ReturnType<typeof liteMetrics>;

const WORDS = { allow: 'allow', deny: 'deny', park: 'pending' } as const;
