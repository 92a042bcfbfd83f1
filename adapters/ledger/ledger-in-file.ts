import type { AppendReceipt, Ledger } from '../../contracts/ledger.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { LocalFile } from '../store/local-file.js';
import { assertWritable } from '../store/writable.js';
import { asUnavailable } from '../../domain/ledger/chain-store.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { createLedgerReader } from './ledger-reader.js';
import { sqliteChainReader, sqliteChainWriter } from './sqlite-chain.js';
import { checkpointedLength, type LogTables } from './tlog/transparency-log.js';
import type { LedgerTables } from '../../domain/ledger/tables.js';
import { createVerifier, type Verifier } from '../../domain/ledger/verifier.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';

/**
 * The ledger inside a file that it shares with the calls it records. Rows become part of the open transaction, so a call and its rows
 * become durable together. A receipt states a row's place; the file's `durable()` says when it is final.
 */
export interface LedgerInFile extends Ledger, LedgerReader, Verifier {
  /** Rejects unless the disk takes writes, also when it is full, and the newest entry is the retained head. */
  ready(): Promise<void>;
  /** Whether a row with this id exists, including rows of the open transaction and hidden rows. */
  holds(id: string): boolean;
  /** From now on no row gets a commit time up to `ms`. Resolves when all rows that have one are on disk. */
  sealThrough(ms: number): Promise<void>;
}

export function ledgerInFile(
  file: LocalFile,
  { sidecarKeys, clock = Date.now }: { readonly sidecarKeys: KeyRing; readonly clock?: () => number },
): LedgerInFile {
  const writer = sqliteChainWriter(file.connection, sidecarKeys);
  file.beforeCommit(() => writer.save());
  file.onUndone(() => writer.forget());
  const reader = sqliteChainReader(file.connection);
  const byId = file.connection.prepare('select 1 from ledger_entries where id = ?');
  let undone = 0;
  let sealedThrough = 0;
  const verifier = createVerifier(
    {
      ...reader,
      bounds() {
        // The head is usually written at commit. The walk also sees rows of the open transaction, so write the head now: both must match.
        writer.save();
        return reader.bounds();
      },
    },
    sidecarKeys,
    { promisedLength: () => checkpointedLength(file.store<LogTables>().db) },
  );
  file.onUndone(() => {
    undone += 1;
    verifier.forget();
  });
  return {
    ...createLedgerReader(file.store<LedgerTables>(), sidecarKeys),
    async append(rows) {
      if (rows.length === 0) return [];
      const call = rows.map(prepareRow);
      const [answer] = appended(() =>
        file.apply(() => writer.append([call], Math.max(clock(), sealedThrough + 1))),
      ).answers;
      if (answer instanceof GateError) throw answer;
      return answer as AppendReceipt[];
    },
    async verify(options) {
      await file.durable();
      const before = undone;
      const result = await verifier.verify(options);
      // Rows were rolled back during the walk, so it may have missed entries or seen some that never were.
      return undone === before ? result : verifier.verify(options);
    },
    async ready() {
      await assertWritable(file.connection).catch((error: unknown) => {
        throw asUnavailable(error);
      });
      file.apply(() => writer.check());
    },
    sealThrough(ms) {
      sealedThrough = Math.max(sealedThrough, ms);
      return file.durable();
    },
    holds: (id) => byId.get(id) !== undefined,
  };
}

function appended<Result>(append: () => Result): Result {
  try {
    return append();
  } catch (error) {
    throw asUnavailable(error);
  }
}
