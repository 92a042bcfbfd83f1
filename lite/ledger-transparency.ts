import type { KeyObject } from 'node:crypto';
import type { LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import {
  createTransparencyLog,
  type LogTables,
  signingLogKey,
  type TransparencyLog,
} from '../adapters/ledger/tlog/transparency-log.js';
import type { LocalFile } from '../adapters/store/local-file.js';
import { verifiedHead } from '../domain/ledger/verifier.js';

/** The name of lite's log: that of the full edition's ledger in the same trust domain. */
export const LOG_ORIGIN = 'gate.local/ledger';

interface LiteTransparencyOptions {
  readonly file: LocalFile;
  readonly ledger: LedgerInFile;
  readonly checkpointKey: KeyObject;
  readonly now: () => number;
}

/**
 * The ledger of lite's file as a transparency log. A log never signs two histories, and lite's open transaction may be undone: so an undo
 * between reading the rows and keeping the signature ends the work, and no signature leaves before it is on disk.
 */
export function liteTransparency({ file, ledger, checkpointKey, now }: LiteTransparencyOptions): TransparencyLog {
  const key = signingLogKey(LOG_ORIGIN, checkpointKey);
  const anew = (): TransparencyLog =>
    createTransparencyLog(file.storeUntilUndone<LogTables>().db, {
      by: () => key,
      witnesses: [],
      verifiedHead: () => verifiedHead(ledger),
      entry: ledger.get,
      clock: now,
    });
  let log = anew();
  // What it has in memory may have been undone.
  file.onUndone(() => {
    log = anew();
  });
  async function settled<Result>(work: () => Promise<Result>): Promise<Result> {
    const onDisk = file.durableFromHere();
    const result = await work();
    await onDisk();
    return result;
  }
  return {
    vkey: log.vkey,
    checkpoint: () => settled(() => log.checkpoint()),
    inclusion: (...asked) => settled(() => log.inclusion(...asked)),
    consistency: (...asked) => settled(() => log.consistency(...asked)),
    cosign: (note) => settled(() => log.cosign(note)),
  };
}
