import type { Json } from '../../contracts/json.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import { CONTENT_FIELDS } from './canonical-bytes.js';
import type { EntryTable } from './tables.js';

/**
 * A row as the read routes return it: JSON columns parsed, and three values of `policy_decision` under names of their own: tool, decider,
 * status.
 */
export function toEntry(row: EntryTable): LedgerEntry {
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
