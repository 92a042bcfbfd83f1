import type { RegulatoryQuery } from '../../console/services.js';
import type { Download } from '../../console/download.js';
import { GateError } from '../../domain/errors.js';
import type { AskLimits } from './ask-limits.js';
import { neighbourOf, type NeighbourOver, type NeighbourQuestion } from './neighbour.js';
import { untilRead } from './watched.js';

export type RegulatoryBundles = (tenant: string, query: RegulatoryQuery) => Promise<Download>;

/**
 * The ledger's signed archive of one tenant's window, passed on as it comes. Each keeps files at the ledger until it is read or given up, so a
 * tenant has one at a time: throws `rate_limited` for another one, `console_neighbour_away`, or what the ledger refused.
 */
export function regulatoryBundles(
  over: NeighbourOver,
  limits: Pick<AskLimits, 'readMs' | 'archiveMs'>,
): RegulatoryBundles {
  const busy = new Set<string>();
  return async (tenant, query) => {
    if (busy.has(tenant))
      throw new GateError('rate_limited', 'A bundle of your tenant is being made or read: wait until it is there.', {
        fields: { retry_after_secs: 30 },
      });
    busy.add(tenant);
    const ended = new AbortController();
    const free = () => {
      if (ended.signal.aborted) return;
      busy.delete(tenant);
      ended.abort();
    };
    AbortSignal.timeout(limits.archiveMs).addEventListener('abort', free);
    try {
      const ledger = neighbourOf('ledger', over, { tenant, limits });
      const answer = await ledger.stream(questionOf(query), { signal: ended.signal, answerMs: limits.archiveMs });
      if (answer.status !== 200) throw await ledger.refusal(answer);
      return {
        type: 'application/gzip',
        filename: `gate-${tenant}-${query.from.slice(0, 10)}-${query.to.slice(0, 10)}.tar.gz`,
        headers: {},
        body: untilRead(answer.body, free),
      };
    } catch (error) {
      free();
      throw error;
    }
  };
}

const questionOf = (query: RegulatoryQuery): NeighbourQuestion => ({
  method: 'POST',
  path: '/export/regulatory',
  query: {
    from: query.from,
    to: query.to,
    include_exports: String(query.includeExports),
    include_compliance: String(query.includeCompliance),
    annex_iv: String(query.annexIv),
    include_post_market_plan: String(query.postMarketPlan),
  },
  ...(query.documentation !== '' && {
    headers: { 'content-type': 'text/markdown; charset=utf-8' },
    body: query.documentation,
  }),
});
