import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { eachLane } from '../../domain/inspection/lane-table.js';
import type { Inspector } from '../../domain/inspection/port.js';

/** Wraps an inspector with metrics: outcomes, time, cache look-ups, and which detectors answered with a fallback. */
export function observedInspector(inspector: Inspector, registry: Registry): Inspector {
  const registers = [registry];
  const detectors = eachLane().flatMap(([name, { fallsBack }]) => (fallsBack ? [name] : []));
  const inspections = new Counter({
    name: 'gate_brain_inspections_total',
    help: 'Inspections by outcome: authorized, rejected, or unavailable where no verdict could be had.',
    labelNames: ['outcome'],
    registers,
  });
  const lookups = new Counter({
    name: 'gate_brain_cache_lookups_total',
    help: 'Look-ups in the verdict cache by layer and outcome.',
    labelNames: ['layer', 'outcome'],
    registers,
  });
  const degraded = new Gauge({
    name: 'gate_brain_detector_degraded',
    help: '1 while the most recent inspection used a fallback for this detector.',
    labelNames: ['detector'],
    registers,
  });
  const seconds = new Histogram({
    name: 'gate_brain_inspection_seconds',
    help: 'Time of one inspection.',
    buckets: [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1],
    registers,
  });
  for (const detector of detectors) degraded.set({ detector }, 0);

  return {
    async inspect(request) {
      const stop = seconds.startTimer();
      try {
        const verdict = await inspector.inspect(request);
        inspections.inc({ outcome: verdict.authorized ? 'authorized' : 'rejected' });
        lookups.inc({ layer: 'exact', outcome: verdict.evidence.cache_served ? 'hit' : 'miss' });
        for (const detector of detectors) degraded.set({ detector }, verdict.degraded?.includes(detector) ? 1 : 0);
        return verdict;
      } catch (error) {
        inspections.inc({ outcome: 'unavailable' });
        throw error;
      } finally {
        stop();
      }
    },
  };
}
