import { hash } from 'node:crypto';

/** What the first entry points back to. */
export const GENESIS_HASH = '0'.repeat(64);

/**
 * SHA-256 over the previous entry's hash, one `|`, and the entry's canonical bytes. The same entry has the same hash in every store and
 * release; a change here is a new chain version. docs/architecture/ledger-rows.md#canonical-bytes; test/vectors/ledger-entry.json.
 */
export const entryHash = (prevHash: string, canonical: string): string =>
  hash('sha256', `${prevHash}|${canonical}`, 'hex');

/** The same hash, over bytes that already hold all three parts. */
export const renderedHash = (hashed: Uint8Array | string): string => hash('sha256', hashed, 'hex');
