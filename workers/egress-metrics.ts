import { Counter, Gauge, type Registry } from 'prom-client';
import type { EgressOptions } from '../activities/egress.js';

/** Metrics for alerts on the streams to sinks: how far each is behind, and how often it failed. */
export function egressMetrics(registry: Registry): NonNullable<EgressOptions['onSweep']> {
  const registers = [registry];
  const labelNames = ['sink'];
  const lag = new Gauge({
    name: 'gate_ledger_egress_lag_rows',
    help: 'Entries behind the cursor of a sink, when it was last looked at.',
    labelNames,
    registers,
  });
  const failures = new Counter({
    name: 'gate_ledger_egress_failures_total',
    help: 'Attempts to deliver rows that a sink did not confirm.',
    labelNames,
    registers,
  });
  const rows = new Counter({
    name: 'gate_ledger_egress_rows_total',
    help: 'Rows that a sink confirmed.',
    labelNames,
    registers,
  });
  return (sink, sweep) => {
    if (sweep.lag !== null) lag.set({ sink }, sweep.lag);
    if (sweep.delivered) rows.inc({ sink }, sweep.rows);
    else failures.inc({ sink });
  };
}
