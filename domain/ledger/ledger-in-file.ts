import type { AppendReceipt, Ledger } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import type { LocalFile } from '../store/local-file.js';
import { asUnavailable } from './chain-store.js';
import { prepareRow } from './entry.js';
import { createLedgerReader, type LedgerReader } from './ledger-reader.js';
import { sqliteChainReader, sqliteChainWriter } from './sqlite-chain.js';
import type { LedgerTables } from './tables.js';
import { createVerifier, type Verifier } from './verifier.js';

/**
 * The ledger inside a file that it shares with the calls it records: rows become part of the open transaction, so a call and its rows
 * are durable together. A receipt says where the row stands; that it stays there, `durable()` of the file says.
 */
export interface LedgerInFile extends Ledger, LedgerReader, Verifier {
  /** Throws unless the file takes writes and the newest entry is the retained head. */
  ready(): void;
}

export function ledgerInFile(
  file: LocalFile,
  { sidecarKeys, clock = Date.now }: { readonly sidecarKeys: KeyRing; readonly clock?: () => number },
): LedgerInFile {
  const writer = sqliteChainWriter(file.connection, sidecarKeys);
  file.beforeCommit(() => writer.save());
  file.onUndone(() => writer.forget());
  const verifier = createVerifier(sqliteChainReader(file.connection), sidecarKeys);
  return {
    ...createLedgerReader(file.store<LedgerTables>(), sidecarKeys),
    async append(rows) {
      if (rows.length === 0) return [];
      const call = rows.map(prepareRow);
      const [answer] = appended(() => file.apply(() => writer.append([call], clock()))).answers;
      if (answer instanceof GateError) throw answer;
      return answer as AppendReceipt[];
    },
    async verify(options) {
      // The walk compares with the retained head, which is written at the commit.
      await file.durable();
      return verifier.verify(options);
    },
    ready: () => file.apply(() => writer.check()),
  };
}

function appended<Result>(append: () => Result): Result {
  try {
    return append();
  } catch (error) {
    throw asUnavailable(error);
  }
}
