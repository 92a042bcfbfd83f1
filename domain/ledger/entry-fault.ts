import type { Json } from '../../contracts/json.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import { canonicalJson } from '../crypto/digest.js';
import { canonicalContent, canonicalEntry, CHAIN_VERSION, CONTENT_FIELDS } from './canonical-bytes.js';
import { entryHash } from './entry-hash.js';

/** Why the fields of a row that was read are not those of its `entry_hash`; `null` when they are. Says nothing about other rows. */
export function entryFault(entry: LedgerEntry): string | null {
  if (entry.chain_version !== CHAIN_VERSION)
    return `the row is of chain version ${entry.chain_version}, not known here`;
  const { chain_version: chainVersion, id, timestamp, seq, prev_hash: prevHash } = entry;
  try {
    const content = canonicalContent(CONTENT_FIELDS.map(([name, kind]) => cellOf(kind, entry[name] as Json)));
    const hash = entryHash(prevHash, canonicalEntry({ chainVersion, id, timestamp, seq, prevHash }, content));
    return hash === entry.entry_hash ? null : 'the row is not what its hash says';
  } catch {
    return 'the row has a field of the wrong type';
  }
}

/** A field as it is stored. */
function cellOf(kind: (typeof CONTENT_FIELDS)[number][1], value: Json | undefined): string | number | null {
  if (value === null || value === undefined) return null;
  if (kind === 'json') return canonicalJson(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'object' ? canonicalJson(value) : value;
}
