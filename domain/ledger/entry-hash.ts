import { hash } from 'node:crypto';

/** What the first entry points back to. */
export const GENESIS_HASH = '0'.repeat(64);

/**
 * SHA-256 over the previous entry's hash, one `|`, and the entry's canonical bytes. Same entry, same hash, in every store and release;
 * a change here is a new chain version. docs/architecture/ledger-rows.md#canonical-bytes; test/vectors/ledger-entry.json.
 */
export const entryHash = (prevHash: string, canonical: string): string =>
  hash('sha256', `${prevHash}|${canonical}`, 'hex');

/** The same over bytes that hold all three already. */
export const renderedHash = (hashed: Uint8Array | string): string => hash('sha256', hashed, 'hex');
