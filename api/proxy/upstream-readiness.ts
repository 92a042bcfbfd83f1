import type { ProxyStanding } from '../../contracts/proxy-standing.js';
import type { NamedStanding, Upstream } from '../../domain/upstream/upstream.js';
import { asCheck, type ReadinessChecks, type Standing } from '../plugins/health.js';

const MAX_NAMED = 20;

/**
 * How several upstreams stand, as they answered last. It is reported and no reason to refuse what goes to the others; nothing is asked for
 * it. Nothing where nobody keeps that, as of one upstream in the full edition.
 */
export function upstreamReadiness({ standings }: Pick<Upstream, 'standings'>): ReadinessChecks {
  if (!standings) return {};
  const since = (ms: number | null) => (ms === null ? '' : ` since ${new Date(ms).toISOString()}`);
  return {
    upstreams: () => told(standings(), ({ name, fault, sinceMs }) => `${name} fails${since(sinceMs)} (${fault})`),
  };
}

/** The same for people who look on: which fail, and not how. `null` where there is one upstream. */
export const upstreamsTold = ({ standings }: Upstream): ProxyStanding['upstreams'] =>
  standings ? toldOf(standings()) : null;

/** As a check of a page of health, which is on no way of calls. */
export const upstreamsSeen = ({ standings }: Upstream): { readonly upstreams?: ReadinessChecks[string] } =>
  standings ? { upstreams: () => asCheck(toldOf(standings())) } : {};

function toldOf(all: readonly NamedStanding[]): Standing {
  const failing = all.filter(({ fault }) => fault !== null).length;
  const partly = failing > 0 && failing < all.length;
  return { ok: failing === 0, ...(partly && { partly }), words: told(all, ({ name }) => `${name} fails`) };
}

function told(all: readonly NamedStanding[], failure: (standing: NamedStanding) => string): string {
  const failing = all.filter(({ fault }) => fault !== null);
  const unknown = all.filter(({ state }) => state === 'unknown').length;
  return [
    `${all.length - failing.length - unknown} of ${all.length} answer`,
    ...(unknown > 0 ? [`${unknown} not asked yet`] : []),
    ...failing.slice(0, MAX_NAMED).map(failure),
  ].join('; ');
}
