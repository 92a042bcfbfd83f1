import type { ContentField } from './canonical-bytes.js';
import type { SidecarKind } from './entry.js';

/** Values as both stores return them: Postgres returns integers as digits. */
export interface EntryTable extends Record<Exclude<ContentField, 'authorized' | 'cost_micros'>, string | null> {
  seq: number | string;
  chain_version: number | string;
  id: string;
  timestamp: string;
  prev_hash: string;
  authorized: number | string;
  cost_micros: number | string | null;
  entry_hash: string;
  /** Not hashed: when the rows of a tenant, or of the demonstration, were hidden from readers. */
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
interface CursorTable {
  seq: number | string;
  entry_hash: string;
  rows_sha256: string;
  time_lo: string;
  time_hi: string;
  vacuumed_at: string;
  seal: Uint8Array;
}
/** What is kept of a vacuumed entry. */
interface VacuumedTable {
  seq: number | string;
  id: string;
  timestamp: string;
  tenant: string | null;
  entry_hash: string;
}
export interface LedgerTables {
  ledger_entries: EntryTable;
  entry_payloads: PayloadTable;
  ledger_vacuum_cursors: CursorTable;
  ledger_vacuumed_rows: VacuumedTable;
}
