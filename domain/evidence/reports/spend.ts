import type { Spend } from '../../../contracts/ledger-reports.js';
import type { ReportRow } from './report-rows.js';

/** Rows that count for spend: a verdict is a request, and the inspections of it and of its answer hold their estimated cost. */
export const SPEND_KINDS = ['proxy.verdict', 'brain.inspection', 'response.inspected'] as const;

interface Spender {
  agentName: string | null;
  micros: number;
  requests: number;
  priced: number;
  latest: string;
}

/** Estimated cost by agent, highest first. The totals cover every agent, also those beyond `limit`. */
export async function spendOf(
  reportRows: AsyncIterable<readonly ReportRow[]>,
  { window, limit }: { readonly window: string | null; readonly limit: number },
): Promise<Spend> {
  const spenders = new Map<string, Spender>();
  let [micros, requests, priced] = [0, 0, 0];
  for await (const page of reportRows) {
    for (const reportRow of page) {
      const known = spenders.get(reportRow.agentId) ?? {
        agentName: null,
        micros: 0,
        requests: 0,
        priced: 0,
        latest: reportRow.at,
      };
      spenders.set(reportRow.agentId, known);
      known.latest = reportRow.at;
      known.agentName = reportRow.agentName ?? known.agentName;
      if (reportRow.kind === 'proxy.verdict') {
        known.requests += 1;
        requests += 1;
      }
      if (reportRow.costMicros !== null) {
        known.micros += reportRow.costMicros;
        known.priced += 1;
        micros += reportRow.costMicros;
        priced += 1;
      }
    }
  }
  const agents = [...spenders]
    .toSorted(
      ([a, { micros: less, requests: few }], [b, { micros: more, requests: many }]) =>
        more - less || many - few || (a < b ? -1 : 1),
    )
    .slice(0, limit)
    .map(([agentId, spender]) => ({
      agent_id: agentId,
      agent_name: spender.agentName,
      spend_micros: spender.micros,
      request_count: spender.requests,
      priced_count: spender.priced,
      latest_ts: spender.latest,
    }));
  return {
    window,
    agents,
    total_spend_micros: micros,
    total_requests: requests,
    total_priced: priced,
    returned: agents.length,
  };
}
