import type { Hunt } from '../../../contracts/ledger-reports.js';
import { STOPPED_CODES } from '../../identity/standing.js';
import { isReservedPrincipal, principalOf } from '../own-principals.js';
import { type ReportRow } from './report-rows.js';

/**
 * Classes of signals, gravest first (docs/architecture/ledger-reads.md#hunt-and-corpus). A signal belongs to the first class that holds its
 * name or, for names that end in `_`, its prefix. Other signals rank lowest.
 */
const GRAVITY: readonly (readonly string[])[] = [
  ['decoy_tripped'],
  ['egress_violation', 'egress_stream_exfil'],
  ['tool_definition_injection', 'tool_schema_poisoned', 'tool_name_misleading', 'tool_name_lookalike'],
  ['review_approved_but_suspended'],
  ['agent_revoked', ...STOPPED_CODES],
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

/** What is read of a row for a hunt. */
export interface HuntRow
  extends Pick<
    ReportRow,
    'seq' | 'at' | 'agentId' | 'agentName' | 'method' | 'authorized' | 'correlationId' | 'signal'
  > {
  /** Whether the call was refused for good (`isDenial`). */
  readonly denied: boolean;
}

/** Rows of one agent that are alike in everything that a hunt may ask for, counted. */
interface Alike extends Pick<HuntRow, 'agentId' | 'method' | 'authorized' | 'signal'> {
  readonly count: number;
  readonly denied: number;
  /** Of the last of them. */
  readonly seq: number;
  readonly at: string;
  readonly correlationId: string | null;
  /** The last name that one of them has, and the place of that row. */
  readonly agentName: string | null;
  readonly namedSeq: number;
}

/**
 * What a stretch of the chain comes to for any hunt. The sums of stretches that follow each other add up to that of the whole, so that
 * one that is closed need not be read again.
 */
export interface HuntSum {
  /** In the order of the first row of each. */
  readonly alike: ReadonlyMap<string, Alike>;
  /** The earliest and the latest time of a row; `null` without rows. Signed rows carry their signer's time, so these may be of any row. */
  readonly times: { readonly least: string; readonly most: string } | null;
}

/** Rows in chain order, summed. */
export function huntSumOf(rows: Iterable<HuntRow>): HuntSum {
  const alike = new Map<string, Alike>();
  let times: HuntSum['times'] = null;
  for (const { seq, at, agentId, agentName, method, authorized, correlationId, signal, denied } of rows) {
    add(alike, JSON.stringify([agentId, method, authorized, signal]), {
      agentId,
      method,
      authorized,
      signal,
      count: 1,
      denied: denied ? 1 : 0,
      seq,
      at,
      correlationId,
      agentName,
      namedSeq: agentName === null ? 0 : seq,
    });
    times = spanning(times, { least: at, most: at });
  }
  return { alike, times };
}

/** Sums of stretches in chain order, added up. */
export function huntSumOfAll(sums: Iterable<HuntSum>): HuntSum {
  const alike = new Map<string, Alike>();
  let times: HuntSum['times'] = null;
  for (const sum of sums) {
    for (const [key, next] of sum.alike) add(alike, key, next);
    times = spanning(times, sum.times);
  }
  return { alike, times };
}

/** Adds later rows to those that they are like. */
function add(alike: Map<string, Alike>, key: string, next: Alike): void {
  const known = alike.get(key);
  if (!known) {
    alike.set(key, next);
    return;
  }
  const named = next.agentName === null ? known : next;
  alike.set(key, {
    ...next,
    count: known.count + next.count,
    denied: known.denied + next.denied,
    agentName: named.agentName,
    namedSeq: named.namedSeq,
  });
}

function spanning(one: HuntSum['times'], other: HuntSum['times']): HuntSum['times'] {
  if (one === null || other === null) return one ?? other;
  return {
    least: one.least < other.least ? one.least : other.least,
    most: one.most > other.most ? one.most : other.most,
  };
}

interface Hits {
  readonly agentId: string;
  count: number;
  denied: number;
  worst: string | null;
  latest: Alike;
  named: Alike | null;
  readonly methods: Set<string>;
}

/** Method names come from the author of a row, so the list is limited. */
const MAX_METHODS = 100;

export interface HuntQuery {
  readonly methods?: readonly string[] | undefined;
  readonly signal?: string | undefined;
  readonly authorized?: boolean | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly limit: number;
}

/** The agents behind the matching rows of a sum: gravest signal first, then most hits. */
export function huntAgents({ alike }: HuntSum, { methods, signal, authorized, limit, from, to }: HuntQuery): Hunt {
  const agents = new Map<string, Hits>();
  /** The kinds of all rows under a name of Gate's own, whichever fit. */
  const ofOwnNames = new Map<string, Set<string>>();
  for (const rows of alike.values()) {
    if (isReservedPrincipal(rows.agentId))
      ofOwnNames.set(rows.agentId, (ofOwnNames.get(rows.agentId) ?? new Set<string>()).add(rows.method));
    if (methods !== undefined && !methods.includes(rows.method)) continue;
    if (signal !== undefined && rows.signal !== signal) continue;
    if (authorized !== undefined && rows.authorized !== authorized) continue;
    let hits = agents.get(rows.agentId);
    if (!hits) {
      hits = { agentId: rows.agentId, count: 0, denied: 0, worst: null, latest: rows, named: null, methods: new Set() };
      agents.set(rows.agentId, hits);
    }
    hits.count += rows.count;
    hits.denied += rows.denied;
    if (rows.signal !== null && (hits.worst === null || gravity(rows.signal) < gravity(hits.worst)))
      hits.worst = rows.signal;
    if (rows.agentName !== null && (hits.named === null || hits.named.namedSeq < rows.namedSeq)) hits.named = rows;
    if (hits.latest.seq < rows.seq) hits.latest = rows;
    if (hits.methods.size < MAX_METHODS) hits.methods.add(rows.method);
  }
  const rank = ({ worst }: Hits) => (worst === null ? Number.MAX_SAFE_INTEGER : gravity(worst));
  const found = [...agents.values()]
    .toSorted((a, b) => rank(a) - rank(b) || b.count - a.count || (a.agentId < b.agentId ? -1 : 1))
    .slice(0, limit)
    .map((hits) => ({
      agent_id: hits.agentId,
      agent_name: hits.named?.agentName ?? null,
      principal: principalOf(hits.agentId, ofOwnNames.get(hits.agentId) ?? []),
      hit_count: hits.count,
      deny_count: hits.denied,
      worst_signal: hits.worst,
      latest_hit_ts: hits.latest.at,
      latest_correlation_id: hits.latest.correlationId,
      methods: [...hits.methods].toSorted(),
    }));
  return { agents: found, returned: found.length, from: from ?? null, to: to ?? null };
}
