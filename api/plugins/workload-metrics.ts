import { Counter, Gauge, type Registry } from 'prom-client';

const RENEWED = 'gate_workload_certificate_renewals_total';
const FAILED = 'gate_workload_certificate_failures_total';
const ENDS = 'gate_workload_certificate_ends_seconds';

export interface WorkloadMetrics {
  readonly renewed: Counter<'service'>;
  readonly failed: Counter<'service'>;
  readonly ends: Gauge<'service'>;
}

/** How the certificate of a service stands. Several services of a process may share a registry. */
export function workloadMetrics(registry: Registry): WorkloadMetrics {
  const registers = [registry];
  const labelNames = ['service'] as const;
  const known = <Metric>(name: string) => registry.getSingleMetric(name) as Metric | undefined;
  return {
    renewed:
      known<WorkloadMetrics['renewed']>(RENEWED) ??
      new Counter({ name: RENEWED, help: 'Certificates that identity gave this service.', labelNames, registers }),
    failed:
      known<WorkloadMetrics['failed']>(FAILED) ??
      new Counter({
        name: FAILED,
        help: 'Times that this service asked identity for a certificate and got none.',
        labelNames,
        registers,
      }),
    ends:
      known<WorkloadMetrics['ends']>(ENDS) ??
      new Gauge({
        name: ENDS,
        help: "When this service's certificate of identity ends, in seconds since 1970; nothing connects from then on.",
        labelNames,
        registers,
      }),
  };
}
