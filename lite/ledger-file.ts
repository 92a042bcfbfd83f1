import { rmSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import type { VerifyResult } from '../contracts/ledger.js';
import { GateError } from '../domain/errors.js';
import { openLedgerReadOnly } from '../adapters/ledger/read-only.js';
import { createFile, PRIVATE_FILE } from '../adapters/store/durable-file.js';
import { storeFaultText } from '../domain/store-faults.js';
import { keysBeside } from './keys.js';

/** Verifies a ledger file without touching it; with the keys of `keysOf` beside it, the seal and the sidecars too. */
export async function verifyFile(file: string, keysOf = file): Promise<VerifyResult> {
  const ledger = openLedgerReadOnly(file, { sidecarKeys: keysBeside(keysOf) });
  try {
    return await ledger.verify();
  } finally {
    await ledger.close();
  }
}

/** Copies the file as it stands at one moment, also while it is written; returns the pages. An existing copy is overwritten. */
export async function backupLedger(file: string, output: string): Promise<number> {
  const connection = new DatabaseSync(file, { readOnly: true });
  try {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${output}${suffix}`, { force: true });
    // An empty file is one that may be written to; so the copy is never readable by others, not even while it is made.
    createFile(output, '', PRIVATE_FILE);
    connection.prepare('vacuum into ?').run(output);
    const { page_count: pages } = connection.prepare('pragma page_count').get() as { page_count: number };
    return pages;
  } catch (error) {
    throw new GateError('store_unavailable', `${file}: ${storeFaultText(error)}`, { cause: error });
  } finally {
    connection.close();
  }
}
