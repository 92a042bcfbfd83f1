import type { Upstream } from '../../domain/pipeline/upstream.js';
import type { ReadinessChecks } from '../plugins/health.js';

const MAX_NAMED = 20;

/**
 * How several upstreams stand, as they answered last. It is reported and no reason to refuse what goes to the others; nothing is asked for
 * it. Nothing where there is one upstream.
 */
export function upstreamReadiness({ standings }: Upstream): ReadinessChecks {
  if (!standings) return {};
  return {
    upstreams() {
      const all = standings();
      const failing = all.filter(({ fault }) => fault !== null);
      const unknown = all.filter(({ state }) => state === 'unknown').length;
      const since = (ms: number | null) => (ms === null ? '' : ` since ${new Date(ms).toISOString()}`);
      return [
        `${all.length - failing.length - unknown} of ${all.length} answer`,
        ...(unknown > 0 ? [`${unknown} not asked yet`] : []),
        ...failing.slice(0, MAX_NAMED).map(({ name, fault, sinceMs }) => `${name} fails${since(sinceMs)} (${fault})`),
      ].join('; ');
    },
  };
}
