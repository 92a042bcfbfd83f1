import type { Json } from '../../contracts/json.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import { canonicalJson } from '../crypto/digest.js';
import { canonicalContent, canonicalEntry, CHAIN_VERSION, CONTENT_FIELDS } from './canonical-bytes.js';
import { entryHash } from './entry-hash.js';

/** Why the fields of a row that was read are not those of its `entry_hash`; `null` when they are. Says nothing about other rows. */
export function entryFault(entry: LedgerEntry): string | null {
  if (entry.chain_version !== CHAIN_VERSION)
    return `the row is of chain version ${entry.chain_version}, not known here`;
  try {
    return hashOfEntry(entry) === entry.entry_hash ? null : 'the row is not what its hash says';
  } catch {
    return 'the row has a field of the wrong type';
  }
}

/** The hash that the fields of a row have. Throws where one is of the wrong type. */
export function hashOfEntry(entry: LedgerEntry): string {
  const { chain_version: chainVersion, id, timestamp, seq, prev_hash: prevHash } = entry;
  const content = canonicalContent(CONTENT_FIELDS.map(([name, kind]) => cellOf(kind, entry[name] as Json)));
  return entryHash(prevHash, canonicalEntry({ chainVersion, id, timestamp, seq, prevHash }, content));
}

/** A field as it is stored. */
function cellOf(kind: (typeof CONTENT_FIELDS)[number][1], value: Json | undefined): string | number | null {
  if (value === null || value === undefined) return null;
  if (kind === 'json') return canonicalJson(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'object' ? canonicalJson(value) : value;
}
