import { CONTENT_FIELDS, type FieldKind } from '../../ledger/canonical-bytes.js';
import type { EntryTable } from '../../ledger/tables.js';

type ColumnKind = FieldKind | 'instant';

/**
 * The columns of a cold file in hash order (docs/architecture/ledger-reads.md#cold-tier), `entry_hash` last. JSON columns hold the
 * canonical text, and `timestamp_text` holds the text that was hashed, so every hash can be recomputed from the file alone. `id` is the
 * Iceberg field id and never changes.
 */
export const COLD_COLUMNS: readonly {
  readonly id: number;
  readonly name: string;
  readonly from: keyof EntryTable;
  readonly kind: ColumnKind;
  readonly required: boolean;
}[] = [
  ['chain_version', 'chain_version', 'int', true] as const,
  ['id', 'id', 'text', true] as const,
  ['timestamp', 'timestamp', 'instant', true] as const,
  ['timestamp_text', 'timestamp', 'text', true] as const,
  ['seq', 'seq', 'int', true] as const,
  ['prev_hash', 'prev_hash', 'text', true] as const,
  ...CONTENT_FIELDS.map(
    ([name, kind]) =>
      [
        name,
        name,
        kind,
        ['agent_id', 'method', 'intent_category', 'authorized', 'reasoning', 'state_namespace'].includes(name),
      ] as const,
  ),
  ['entry_hash', 'entry_hash', 'text', true] as const,
].map(([name, from, kind, required], index) => ({ id: index + 1, name, from, kind, required }));

export const SEQ_FIELD_ID = COLD_COLUMNS.find(({ name }) => name === 'seq')?.id as number;
