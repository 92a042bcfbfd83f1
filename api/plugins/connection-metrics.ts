import { Counter, type Registry } from 'prom-client';

const FULL = 'gate_connections_full_total';
const STALLED = 'gate_connections_stalled_total';

interface ConnectionMetrics {
  readonly full: Counter<'service' | 'what'>;
  readonly stalled: Counter<'service'>;
}

/** Counts what becomes of connections at a listener that is full, and of those that nobody takes anything from. Several services of a process may share a registry. */
export function connectionMetrics(registry: Registry): ConnectionMetrics {
  const registers = [registry];
  return {
    full:
      (registry.getSingleMetric(FULL) as ConnectionMetrics['full'] | undefined) ??
      new Counter({
        name: FULL,
        help: 'Connections at a listener that is full: an older one closed for a new one, or the new one refused',
        labelNames: ['service', 'what'],
        registers,
      }),
    stalled:
      (registry.getSingleMetric(STALLED) as ConnectionMetrics['stalled'] | undefined) ??
      new Counter({
        name: STALLED,
        help: 'Connections that were closed because the other side took nothing of its answer for five minutes',
        labelNames: ['service'],
        registers,
      }),
  };
}
