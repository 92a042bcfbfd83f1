import type { Json } from '../../contracts/json.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import type { Store } from '../store/database.js';
import { CONTENT_FIELDS, type ContentField } from './canonical-bytes.js';
import { reading, sidecarContext } from './chain-store.js';
import type { SidecarKind } from './entry.js';

/** Values as both stores give them: Postgres hands integers over as digits. */
interface EntryTable extends Record<Exclude<ContentField, 'authorized' | 'cost_micros'>, string | null> {
  seq: number | string;
  chain_version: number | string;
  id: string;
  timestamp: string;
  prev_hash: string;
  authorized: number | string;
  cost_micros: number | string | null;
  entry_hash: string;
  /** Outside the hash: when a tenant's rows, or the demonstration's, were hidden from readers. */
  deleted_at: string | null;
  demo_deleted_at: string | null;
}
interface PayloadTable {
  entry_seq: number | string;
  kind: SidecarKind;
  entry_id: string;
  sealed: Uint8Array | null;
  purged_at: string | null;
  purge_seal: Uint8Array | null;
}
export interface LedgerTables {
  ledger_entries: EntryTable;
  entry_payloads: PayloadTable;
}

/** Ledger sheet 5, row 2. Without `limit` every row, oldest first; `offset` and `before` page from the newest, `after` from the oldest. */
export interface AgentQuery {
  readonly limit?: number;
  readonly offset?: number;
  readonly before?: number;
  readonly after?: number;
  /** Half-open window of commit times. */
  readonly from?: string;
  readonly to?: string;
  readonly seqFrom?: number;
  readonly seqTo?: number;
  readonly methods?: readonly string[];
  readonly signal?: string;
  readonly source?: string;
  readonly tenant?: string;
}

/** The bytes an entry committed to, or when they were purged. */
export type Sidecar =
  | { readonly kind: SidecarKind; readonly text: string; readonly purged_at: null }
  | { readonly kind: SidecarKind; readonly text: null; readonly purged_at: string };

/** Reads for people and reports; none of them is evidence, `verify` is. A store that cannot be read is `ledger_store_unavailable`. */
export interface LedgerReader {
  /** Every row of one call, in chain order; `[]` when the id is unknown, or known to another tenant only. */
  byCorrelation(correlationId: string, scope?: { readonly tenant?: string }): Promise<LedgerEntry[]>;
  byAgent(agentId: string, query?: AgentQuery): Promise<LedgerEntry[]>;
  /** Distinct agent labels, sorted. */
  agents(): Promise<string[]>;
  get(id: string): Promise<LedgerEntry | null>;
  /** Newest first. */
  newest(limit: number): Promise<LedgerEntry[]>;
  /** `null` when the entry is unknown or committed to nothing. Throws when no key of the ring opens it. */
  sidecar(id: string): Promise<Sidecar | null>;
}

export function createLedgerReader({ db }: Store<LedgerTables>, keys: KeyRing | null): LedgerReader {
  // Hidden rows are nobody's to read; the chain keeps them (ledger sheet 5 and 7.1).
  const visible = () =>
    db.selectFrom('ledger_entries').where('deleted_at', 'is', null).where('demo_deleted_at', 'is', null);
  const entries = () => visible().selectAll();
  return {
    byCorrelation: (correlationId, { tenant } = {}) =>
      reading(async () => {
        let query = entries().where('correlation_id', '=', correlationId).orderBy('seq', 'asc');
        if (tenant !== undefined) query = query.where('tenant', '=', tenant);
        return (await query.execute()).map(toEntry);
      }),
    byAgent: (agentId, asked = {}) =>
      reading(async () => {
        const { limit, offset, before, after, from, to, seqFrom, seqTo, methods, signal, source, tenant } = asked;
        let query = entries().where('agent_id', '=', agentId);
        if (before !== undefined) query = query.where('seq', '<', before);
        if (after !== undefined) query = query.where('seq', '>', after);
        if (from !== undefined) query = query.where('timestamp', '>=', from);
        if (to !== undefined) query = query.where('timestamp', '<', to);
        if (seqFrom !== undefined) query = query.where('seq', '>=', seqFrom);
        if (seqTo !== undefined) query = query.where('seq', '<=', seqTo);
        if (methods !== undefined) query = query.where('method', 'in', methods);
        if (signal !== undefined) query = query.where('signal', '=', signal);
        if (source !== undefined) query = query.where('source', '=', source);
        if (tenant !== undefined) query = query.where('tenant', '=', tenant);
        query = query.orderBy('seq', limit !== undefined && after === undefined ? 'desc' : 'asc');
        if (limit !== undefined) query = query.limit(limit).offset(offset ?? 0);
        return (await query.execute()).map(toEntry);
      }),
    agents: () =>
      reading(async () => {
        const rows = await visible().select('agent_id').distinct().orderBy('agent_id').execute();
        return rows.map((row) => row.agent_id as string);
      }),
    get: (id) =>
      reading(async () => {
        const row = await entries().where('id', '=', id).executeTakeFirst();
        return row ? toEntry(row) : null;
      }),
    newest: (limit) =>
      reading(async () => (await entries().orderBy('seq', 'desc').limit(limit).execute()).map(toEntry)),
    sidecar: (id) =>
      reading(async () => {
        const row = await db
          .selectFrom('entry_payloads as p')
          .innerJoin('ledger_entries as e', 'e.seq', 'p.entry_seq')
          .select(['p.kind', 'p.sealed', 'p.purged_at'])
          .where('e.id', '=', id)
          .where('e.deleted_at', 'is', null)
          .where('e.demo_deleted_at', 'is', null)
          .executeTakeFirst();
        if (!row) return null;
        if (row.sealed === null) return { kind: row.kind, text: null, purged_at: row.purged_at ?? '' };
        if (!keys) throw new Error('no key was given to open sidecars');
        const text = keys.open(row.sealed, sidecarContext(id, row.kind)).toString('utf8');
        return { kind: row.kind, text, purged_at: null };
      }),
  };
}

/** A row as the read routes return it: JSON columns parsed, and the three readable projections of ledger sheet 4.2. */
function toEntry(row: EntryTable): LedgerEntry {
  const content: Record<string, Json> = {};
  for (const [name, kind] of CONTENT_FIELDS) {
    const value = row[name];
    if (value === null) content[name] = null;
    else if (kind === 'bool') content[name] = Number(value) === 1;
    else if (kind === 'int') content[name] = Number(value);
    else content[name] = kind === 'json' ? (JSON.parse(value as string) as Json) : value;
  }
  const detail = content['policy_decision'] as Record<string, Json> | null;
  const shown = (key: string) => (typeof detail?.[key] === 'string' ? detail[key] : null);
  return {
    chain_version: Number(row.chain_version),
    id: row.id,
    timestamp: row.timestamp,
    seq: Number(row.seq),
    prev_hash: row.prev_hash,
    ...content,
    entry_hash: row.entry_hash,
    tool_type: row.tool_name,
    decided_by: shown('decided_by'),
    status: shown('status'),
  } as LedgerEntry;
}
