import { Counter, Histogram, type Registry } from 'prom-client';
import type { Sandbox } from '../../domain/sandbox/port.js';

/** Wraps a sandbox with metrics: reports by what they say, requests without a report, and time. */
export function observedSandbox(sandbox: Sandbox, registry: Registry): Sandbox {
  const registers = [registry];
  const reports = new Counter({
    name: 'gate_sandbox_reports_total',
    help: 'Reports by operation class and severity.',
    labelNames: ['operation_class', 'severity'],
    registers,
  });
  const missed = new Counter({
    name: 'gate_sandbox_unanswered_total',
    help: 'Requests that had no report in time.',
    registers,
  });
  const seconds = new Histogram({
    name: 'gate_sandbox_analysis_seconds',
    help: 'Time of one analysis.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 2],
    registers,
  });
  return {
    async analyze(request) {
      const stop = seconds.startTimer();
      try {
        const report = await sandbox.analyze(request);
        reports.inc({ operation_class: report.operation_class, severity: report.severity });
        return report;
      } catch (error) {
        missed.inc();
        throw error;
      } finally {
        stop();
      }
    },
  };
}
