import { Counter, type Registry } from 'prom-client';

const FULL = 'gate_connections_full_total';

/** Counts what becomes of connections at a listener that is full. Several services of a process may share a registry. */
export function connectionMetrics(registry: Registry): Counter<'service' | 'what'> {
  const known = registry.getSingleMetric(FULL) as Counter<'service' | 'what'> | undefined;
  return (
    known ??
    new Counter({
      name: FULL,
      help: 'Connections at a listener that is full: an older one closed for a new one, or the new one refused',
      labelNames: ['service', 'what'],
      registers: [registry],
    })
  );
}
