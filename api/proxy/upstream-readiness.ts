import type { ProxyStanding } from '../../contracts/proxy-standing.js';
import type { NamedStanding, Upstream } from '../../domain/pipeline/upstream.js';
import { Partly, type ReadinessChecks } from '../plugins/health.js';

const MAX_NAMED = 20;

/**
 * How several upstreams stand, as they answered last. It is reported and no reason to refuse what goes to the others; nothing is asked for
 * it. Nothing where there is one upstream.
 */
export function upstreamReadiness({ standings }: Upstream): ReadinessChecks {
  if (!standings) return {};
  const since = (ms: number | null) => (ms === null ? '' : ` since ${new Date(ms).toISOString()}`);
  return {
    upstreams: () => told(standings(), ({ name, fault, sinceMs }) => `${name} fails${since(sinceMs)} (${fault})`),
  };
}

/** The same for people who look on: which fail, and not how. `null` where there is one upstream. */
export function upstreamsTold({ standings }: Upstream): ProxyStanding['upstreams'] {
  if (!standings) return null;
  const all = standings();
  const failing = all.filter(({ fault }) => fault !== null).length;
  const partly = failing > 0 && failing < all.length;
  return { ok: failing === 0, ...(partly && { partly }), words: told(all, ({ name }) => `${name} fails`) };
}

/** As a check of a page of health, which is on no way of calls. */
export const upstreamsSeen = (upstream: Upstream): { readonly upstreams?: ReadinessChecks[string] } =>
  upstream.standings
    ? {
        upstreams() {
          const { ok, words, partly = false } = upstreamsTold(upstream) ?? { ok: true, words: '' };
          if (!ok) throw partly ? new Partly(words) : new Error(words);
          return words;
        },
      }
    : {};

function told(all: readonly NamedStanding[], failure: (standing: NamedStanding) => string): string {
  const failing = all.filter(({ fault }) => fault !== null);
  const unknown = all.filter(({ state }) => state === 'unknown').length;
  return [
    `${all.length - failing.length - unknown} of ${all.length} answer`,
    ...(unknown > 0 ? [`${unknown} not asked yet`] : []),
    ...failing.slice(0, MAX_NAMED).map(failure),
  ].join('; ');
}
