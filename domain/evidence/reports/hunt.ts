import type { Hunt } from '../../../contracts/ledger-reports.js';
import { type ReportRow } from './report-rows.js';
import { isDenial } from './outcome.js';

/**
 * Classes of signals, gravest first (docs/architecture/ledger-reads.md#hunt-and-corpus). A signal belongs to the first class that holds its
 * name or, for names that end in `_`, its prefix. Other signals rank lowest.
 */
const GRAVITY: readonly (readonly string[])[] = [
  ['decoy_tripped'],
  ['egress_violation', 'egress_stream_exfil'],
  ['tool_definition_injection', 'tool_schema_poisoned', 'tool_name_misleading', 'tool_name_lookalike'],
  ['review_approved_but_suspended'],
  ['agent_revoked', 'agent_suspended', 'agent_decommissioned'],
  ['scope_', 'yellow_scope_'],
  ['attestation_'],
  ['grant_'],
  ['upstream_'],
  ['quota_', 'rate_'],
];

/** Every signal that is known by name, or by its beginning where that ends with `_`. */
export const KNOWN_SIGNALS: readonly string[] = GRAVITY.flat();

/** 0 is the gravest. `…_degraded` (could not be checked) and `would_…` (did not happen) rank below everything that happened. */
export function gravity(signal: string): number {
  if (signal.endsWith('_degraded')) return GRAVITY.length;
  if (signal.startsWith('would_')) return GRAVITY.length + 1;
  const found = GRAVITY.findIndex((names) =>
    names.some((name) => (name.endsWith('_') ? signal.startsWith(name) : signal === name)),
  );
  return found === -1 ? GRAVITY.length + 2 : found;
}

interface Hits {
  readonly agentId: string;
  agentName: string | null;
  count: number;
  denied: number;
  worst: string | null;
  latest: ReportRow;
  readonly methods: Set<string>;
}

/** Method names come from the author of a row, so the list is limited. */
const MAX_METHODS = 100;

/** The agents behind the matching rows: gravest signal first, then most hits. Pages must come in chain order. */
export async function huntAgents(
  reportRows: AsyncIterable<readonly ReportRow[]>,
  { limit, from, to }: { readonly limit: number; readonly from?: string | undefined; readonly to?: string | undefined },
): Promise<Hunt> {
  const agents = new Map<string, Hits>();
  for await (const page of reportRows) {
    for (const reportRow of page) {
      let hits = agents.get(reportRow.agentId);
      if (!hits) {
        hits = {
          agentId: reportRow.agentId,
          agentName: null,
          count: 0,
          denied: 0,
          worst: null,
          latest: reportRow,
          methods: new Set(),
        };
        agents.set(reportRow.agentId, hits);
      }
      hits.count += 1;
      if (isDenial(reportRow)) hits.denied += 1;
      if (reportRow.signal !== null && (hits.worst === null || gravity(reportRow.signal) < gravity(hits.worst)))
        hits.worst = reportRow.signal;
      hits.agentName = reportRow.agentName ?? hits.agentName;
      hits.latest = reportRow;
      if (hits.methods.size < MAX_METHODS) hits.methods.add(reportRow.method);
    }
  }
  const rank = ({ worst }: Hits) => (worst === null ? Number.MAX_SAFE_INTEGER : gravity(worst));
  const found = [...agents.values()]
    .toSorted((a, b) => rank(a) - rank(b) || b.count - a.count || (a.agentId < b.agentId ? -1 : 1))
    .slice(0, limit)
    .map((hits) => ({
      agent_id: hits.agentId,
      agent_name: hits.agentName,
      hit_count: hits.count,
      deny_count: hits.denied,
      worst_signal: hits.worst,
      latest_hit_ts: hits.latest.at,
      latest_correlation_id: hits.latest.correlationId,
      methods: [...hits.methods].toSorted(),
    }));
  return { agents: found, returned: found.length, from: from ?? null, to: to ?? null };
}
