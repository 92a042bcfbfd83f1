import type { Kysely } from 'kysely';
import { type OpenedLedger, openLedger, type OpenLedgerOptions } from '../ledger/ledger-store.js';
import type { BlobSigner } from '../../domain/ledger/signatures/blob-signer.js';
import type { LedgerTables } from '../../domain/ledger/tables.js';
import { createGoneFrom } from '../ledger/vacuum/gone.js';
import type { ColdCopies, VacuumPass } from '../ledger/vacuum/vacuum.js';
import type { Store } from '../store/database.js';
import type { CaseTables } from './cases/case-tables.js';
import { type Cases, createCases } from './cases/cases.js';
import { type ColdPlace, coldSinkAt } from './cold-tier/cold-place.js';
import { type ColdSink, type ColdTables, createColdTier } from './cold-tier/cold-tier.js';
import { type Derived, derivedOver, type EvidenceLedger } from './derived.js';
import { derivedInThread } from './derived-in-thread.js';
import type { SharedTime } from './derived-thread-input.js';
import { createSilenceAllowlist, type SilenceAllowlist, type SilenceTables } from './silence/silence-allowlist.js';
import type { FlagKind } from './watchdogs/watchdogs.js';

export interface EvidenceOptions {
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Where cold copies go; without it there are none. */
  readonly coldSink?: ColdSink | undefined;
  /** Signs regulatory bundles; without it none can be made. */
  readonly signer?: BlobSigner;
  /** Nothing may be erased for now; exports state it. */
  readonly legalHold?: boolean;
  /** Folder for rows of a bundle until its manifest is signed; by default the system's temporary folder. */
  readonly scratch?: string;
}

/**
 * Everything that is derived from the ledger's rows or kept beside them. It appends through the ledger like any other caller. Every store
 * fault is `ledger_store_unavailable`.
 */
export interface Evidence extends Derived {
  readonly cases: Cases;
  readonly silence: SilenceAllowlist;
  /** What the vacuum asks of the cold copies before it deletes anything. */
  readonly coldCopies: ColdCopies;
  /** The ledger's vacuum. It deletes only what the cold tier holds. */
  vacuum(pass: VacuumPass): Promise<number>;
  /** `listener` is called with the number of flags that a watchdog raised. */
  observeFlags(listener: (kind: FlagKind, flags: number) => void): void;
}

/** A ledger and its evidence over one store. */
export interface LedgerWithEvidence {
  readonly ledger: OpenedLedger;
  readonly evidence: Evidence;
}

/**
 * Opens the ledger of a SQLite file or a Postgres schema, and its evidence in the same store. Throws when the store cannot be opened.
 * Closing the ledger closes both.
 */
export async function openLedgerWithEvidence(
  options: OpenLedgerOptions & EvidenceOptions,
): Promise<LedgerWithEvidence> {
  const { ledger, store } = await openLedger(options);
  const { coldSink = null, clock = Date.now, legalHold = false, scratch } = options;
  const derive = (link: EvidenceLedger): Derived =>
    derivedOver(store, ledger.reader, link, { clock, coldSink, legalHold, scratch });
  return { ledger, evidence: evidenceOver(store, ledger, { ...options, derive }) };
}

/**
 * The same, but everything that reads many rows runs in a thread with its own connection, so that appends never wait for a report. The
 * thread starts with the first question.
 */
export async function openLedgerWithEvidenceThread({
  coldPlace,
  heapMb,
  time,
  ...options
}: OpenLedgerOptions &
  Omit<EvidenceOptions, 'clock' | 'coldSink'> & {
    readonly coldPlace?: ColdPlace | undefined;
    readonly heapMb?: number | undefined;
    readonly time?: SharedTime | undefined;
  }): Promise<LedgerWithEvidence> {
  const { ledger, store } = await openLedger(options);
  const { target, sidecarKeys, legalHold = false, scratch } = options;
  let close: () => Promise<void> = () => Promise.resolve();
  const evidence = evidenceOver(store, ledger, {
    ...options,
    ...(coldPlace && { coldSink: coldSinkAt(coldPlace) }),
    derive(link) {
      const thread = derivedInThread({ target, sidecarKeys, coldPlace, legalHold, scratch, heapMb, time }, link);
      close = thread.close;
      return thread;
    },
  });
  return {
    evidence,
    ledger: {
      ...ledger,
      async close() {
        // The thread calls the ledger, so it must end first.
        await close();
        await ledger.close();
      },
    },
  };
}

function evidenceOver(
  store: Store<LedgerTables>,
  { writer, reader, verifier, erasure, anchors, vacuum }: OpenedLedger,
  {
    clock = Date.now,
    coldSink,
    signer,
    derive,
  }: EvidenceOptions & { readonly derive: (link: EvidenceLedger) => Derived },
): Evidence {
  // One database with several tables; each part types its own.
  const side = store as unknown as Store<LedgerTables & CaseTables & SilenceTables>;
  const flagListeners: ((kind: FlagKind, flags: number) => void)[] = [];
  const derived = derive({
    append: writer.append,
    head: reader.head,
    verifyAssured: verifier.verifyAssured,
    trustedKey: verifier.trustedKey,
    sealThrough: writer.sealThrough,
    tombstoneTenant: erasure.tombstoneTenant,
    anchorLines: anchors.lines,
    signer: signer ?? null,
    flagged(kind, flags) {
      for (const listener of flagListeners) listener(kind, flags);
    },
  });
  const coldCopies = createColdTier(store.db as unknown as Kysely<ColdTables>, {
    sink: coldSink ?? null,
    goneFrom: createGoneFrom(store.db),
    clock,
  });
  return {
    activeAgents: derived.activeAgents,
    coldTier: derived.coldTier,
    complianceEvidence: derived.complianceEvidence,
    exportRegulatory: derived.exportRegulatory,
    reports: derived.reports,
    tenantLifecycle: derived.tenantLifecycle,
    watchdogs: derived.watchdogs,
    caseEvidence: derived.caseEvidence,
    cases: createCases(side, derived.caseEvidence, clock),
    silence: createSilenceAllowlist(side, clock),
    coldCopies,
    vacuum: (pass) => vacuum.pass(pass, coldCopies),
    observeFlags: (listener) => {
      flagListeners.push(listener);
    },
  };
}
