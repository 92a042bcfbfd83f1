import type { CallInput } from '../contracts/call.js';
import { callStoreInFile } from '../adapters/call/call-store.js';
import type { StagedRequest, VerdictEvidence } from '../domain/call/record.js';
import { rowsOf } from '../domain/call/rows.js';
import { keyRing } from '../domain/crypto/key-ring.js';
import { ledgerInFile } from '../adapters/ledger/ledger-in-file.js';
import { openLocalFile } from '../adapters/store/local-file.js';
import { liteMigrations } from '../lite/migrations.js';

/** What lite's file does for a denied call, in the two pieces that a thread of its own could be asked for. */
export interface WriterStore {
  /** Stages the request, and counts the call. */
  begin(call: CallInput, request: StagedRequest): Promise<void>;
  /** Record and rows, sealed and chained; resolves when they are on disk. */
  commit(evidence: VerdictEvidence, request: StagedRequest): Promise<void>;
  close(): Promise<void>;
}

export async function openWriterStore(path: string): Promise<WriterStore> {
  const keys = keyRing(new Map([['bench', Buffer.alloc(32, 7)]]));
  const file = await openLocalFile({ file: path, migrations: liteMigrations });
  const ledger = ledgerInFile(file, { sidecarKeys: keys });
  const calls = callStoreInFile(file, { keys, now: Date.now, ledger });
  return {
    async begin(call, request) {
      await calls.admit(call, request, { limit: 0, windowMs: 60_000 });
    },
    async commit(evidence, request) {
      const record = await calls.commitVerdict('denied', evidence);
      await ledger.append(rowsOf(record, request));
      await calls.rowsAppended(record.correlation_id, record.updated_ms);
      await file.durable();
    },
    async close() {
      await file.close();
    },
  };
}
