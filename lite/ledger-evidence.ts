import { derivedInThread } from '../adapters/evidence/derived-in-thread.js';
import type { Derived, EvidenceLedger } from '../adapters/evidence/derived.js';
import { createCases } from '../adapters/evidence/cases/cases.js';
import type { CaseTables } from '../adapters/evidence/cases/case-tables.js';
import { createSilenceAllowlist, type SilenceTables } from '../adapters/evidence/silence/silence-allowlist.js';
import type { Assurance } from '../adapters/ledger/assurance/assurance.js';
import type { LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import type { LocalFile } from '../adapters/store/local-file.js';
import type { LedgerReadParts } from '../api/ledger/reads.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { GateError } from '../domain/errors.js';
import type { ChainHead } from '../domain/ledger/chain.js';
import type { LedgerTables } from '../domain/ledger/tables.js';

export interface LiteEvidence {
  readonly evidence: LedgerReadParts['evidence'];
  /** Called with each request; reports take their time from it. */
  tick(): void;
  /** Ends the reports that are being made. */
  close(): Promise<void>;
}

interface LiteEvidenceOptions {
  readonly file: LocalFile;
  readonly ledger: LedgerInFile;
  readonly assurance: Assurance;
  readonly head: () => Promise<ChainHead>;
  readonly sidecarKeys: KeyRing;
  readonly now: () => number;
}

/**
 * What is derived from the rows of lite's file, by the code of the full edition. As there, whatever reads many rows runs in a thread with a
 * connection of its own, so that no call waits for a report. That connection cannot write, and sees only what was committed.
 */
export async function liteEvidence(options: LiteEvidenceOptions): Promise<LiteEvidence> {
  const { file, sidecarKeys, now } = options;
  const link = linkTo(options);
  const place = file.connection.location();
  const time = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  const derived =
    place === null
      ? await derivedHere(options, link)
      : derivedInThread(
          { target: { file: place }, readOnly: true, sidecarKeys, coldPlace: undefined, legalHold: false, time },
          link,
        );
  return {
    evidence: {
      ...derived,
      cases: createCases(file.store<CaseTables>(), derived.caseEvidence, now),
      silence: createSilenceAllowlist(file.store<SilenceTables>(), now),
    },
    tick: () => void time.fill(now()),
    close: derived.close,
  };
}

/** Only its own connection can see a ledger in memory. */
async function derivedHere(
  { file, ledger, now }: LiteEvidenceOptions,
  link: EvidenceLedger,
): Promise<Derived & { close(): Promise<void> }> {
  const { derivedOver } = await import('../adapters/evidence/derived.js');
  const derived = derivedOver(file.store<LedgerTables>(), ledger, link, {
    clock: now,
    coldSink: null,
    legalHold: false,
  });
  return { ...derived, close: () => Promise.resolve() };
}

/** What reports ask of the ledger besides rows; what only changes the chain is refused. */
function linkTo({ ledger, assurance, head }: LiteEvidenceOptions): EvidenceLedger {
  const refused = () => Promise.reject(new GateError('not_found', 'lite does not have this'));
  return {
    append: refused,
    tombstoneTenant: refused,
    anchorLines() {
      throw new GateError('not_found', 'lite does not have this');
    },
    signer: null,
    flagged: () => undefined,
    head,
    sealThrough: ledger.sealThrough,
    verifyAssured: assurance.verifyAssured,
    trustedKey: assurance.trustedKey,
  };
}
