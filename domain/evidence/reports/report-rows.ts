import type { JsonObject } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { EntryTable } from '../../ledger/tables.js';

/** The part of an entry that reports use. */
export interface ReportRow {
  readonly seq: number;
  /** Commit time, as the chain writes it. */
  readonly at: string;
  readonly id: string;
  readonly agentId: string;
  readonly agentName: string | null;
  readonly tenant: string | null;
  /** Event kind; the method for a row without one. */
  readonly kind: string;
  readonly method: string;
  readonly authorized: boolean;
  readonly intent: string;
  readonly reasoning: string;
  readonly decision: JsonObject | null;
  readonly correlationId: string | null;
  readonly signal: string | null;
  readonly tool: string | null;
  readonly costMicros: number | null;
}

/** The columns of a report row that are always read. */
export const LIGHT_COLUMNS = [
  'seq',
  'timestamp',
  'id',
  'agent_id',
  'agent_name',
  'tenant',
  'event_kind',
  'method',
  'authorized',
  'intent_category',
  'correlation_id',
  'signal',
  'tool_name',
  'cost_micros',
] as const satisfies readonly (keyof EntryTable)[];

type StoredReportRow = Pick<EntryTable, (typeof LIGHT_COLUMNS)[number]> &
  Partial<Pick<EntryTable, 'reasoning' | 'policy_decision'>>;

export const toReportRow = (row: StoredReportRow): ReportRow => ({
  seq: Number(row.seq),
  at: row.timestamp,
  id: row.id,
  agentId: row.agent_id as string,
  agentName: row.agent_name,
  tenant: row.tenant,
  kind: row.event_kind ?? (row.method as string),
  method: row.method as string,
  authorized: Number(row.authorized) === 1,
  intent: row.intent_category as string,
  reasoning: row.reasoning ?? '',
  decision: row.policy_decision ? (JSON.parse(row.policy_decision) as JsonObject) : null,
  correlationId: row.correlation_id,
  signal: row.signal,
  tool: row.tool_name,
  costMicros: row.cost_micros === null ? null : Number(row.cost_micros),
});

/** The same part of an entry as read routes return it. */
export const reportRowOf = (entry: LedgerEntry): ReportRow => {
  const text = (name: string): string | null => {
    const value = entry[name];
    return typeof value === 'string' ? value : null;
  };
  const cost = entry['cost_micros'];
  return {
    seq: entry.seq,
    at: entry.timestamp,
    id: entry.id,
    agentId: entry.agent_id,
    agentName: text('agent_name'),
    tenant: text('tenant'),
    kind: entry.event_kind ?? entry.method,
    method: entry.method,
    authorized: entry.authorized,
    intent: entry.intent_category,
    reasoning: entry.reasoning,
    decision: entry.policy_decision,
    correlationId: entry.correlation_id,
    signal: text('signal'),
    tool: text('tool_name') ?? entry.tool_type,
    costMicros: typeof cost === 'number' ? cost : null,
  };
};

/**
 * The intent score of an inspection (docs/architecture/verdict.md#the-fold), in basis points so that a sum does not depend on its order.
 * Taken from the row; when the row does not state it, derived from the inspection's result. `null` for a row that is no inspection.
 */
export function intentBasisPoints({ kind, decision, authorized }: ReportRow): number | null {
  const replay = decision?.['input_replay'];
  if (
    typeof replay === 'object' &&
    replay !== null &&
    !Array.isArray(replay) &&
    typeof replay['intent_score'] === 'number'
  )
    return Math.round(replay['intent_score'] * 10_000);
  if (kind !== 'brain.inspection') return null;
  return authorized || decision?.['available'] === false ? 1_000 : 5_000;
}

/** Counts by key. Keys beyond the limit are counted together, so that text from agents cannot fill memory. */
export interface Tally {
  add(key: string): void;
  get(key: string): number;
  /** Sorted by count, highest first, then by key. */
  top(most?: number): { readonly key: string; readonly count: number }[];
  /** All counts in key order. Safe for any key, also `__proto__`. */
  byKey(): Record<string, number>;
  /** Number of keys that are counted separately. */
  size(): number;
  /** Sum of the counts of all keys beyond the limit. */
  others(): number;
}

const OTHERS = '(others)';

export function tally(limit = 5_000): Tally {
  const counts = new Map<string, number>();
  return {
    add(key) {
      const counted = counts.has(key) || counts.size < limit ? key : OTHERS;
      counts.set(counted, (counts.get(counted) ?? 0) + 1);
    },
    get: (key) => counts.get(key) ?? 0,
    top: (most = Number.POSITIVE_INFINITY) =>
      [...counts]
        .map(([key, count]) => ({ key, count }))
        .toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1))
        .slice(0, most),
    byKey: () => Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    size: () => counts.size - (counts.has(OTHERS) ? 1 : 0),
    others: () => counts.get(OTHERS) ?? 0,
  };
}

/** Rounded to four places: readable, and the same text on every machine. */
export const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
