import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Ledger, VerifyResult } from '../../contracts/ledger.js';
import { ledgerMigrations } from '../../migrations/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { type ActiveAgentMeter, createActiveAgentMeter } from './active-agents/active-agents.js';
import { type ChainHead, EMPTY_CHAIN } from './chain.js';
import { type Anchors, type AnchorTables, createAnchors } from './anchors/anchors.js';
import type { TimeStampTrust } from './anchors/time-stamp.js';
import { type Assurance, createAssurance } from './assurance/assurance.js';
import { type ChainStore, purgeContext, reading } from './chain-store.js';
import type { CaseTables } from './cases/case-tables.js';
import { type Cases, createCases } from './cases/cases.js';
import { type ComplianceEvidence, createComplianceEvidence } from './compliance/evidence.js';
import { prepareRow } from './entry.js';
import { type ColdSink, type ColdTables, type ColdTier, createColdTier } from './cold-tier/cold-tier.js';
import { createErasure, type Erasure } from './erasure/erasure.js';
import { createRetention, type PurgeSidecars } from './erasure/retention.js';
import { createTenantLifecycle, type LifecycleTables, type TenantLifecycle } from './erasure/tenant-lifecycle.js';
import { type CommitObservation, createGroupCommit } from './group-commit.js';
import { createLedgerReader, type LedgerReader } from './ledger-reader.js';
import { createBundleMaker, type MakeBundle } from './regulatory/bundle.js';
import { createRegulatoryExport } from './regulatory/export.js';
import { postgresChain } from './postgres-chain.js';
import type { BlobSigner } from './signatures/blob-signer.js';
import { isSigned } from './signatures/admission.js';
import type { KeySetSource } from './signatures/key-set.js';
import { createLedgerReports, type LedgerReports } from './reads/reports.js';
import { createSilenceAllowlist, type SilenceAllowlist, type SilenceTables } from './silence/silence-allowlist.js';
import { sqliteChain } from './sqlite-chain.js';
import type { LedgerTables } from './tables.js';
import { createGoneFrom } from './vacuum/gone.js';
import { createWatchdogs, type FlagKind, type Watchdogs } from './watchdogs/watchdogs.js';
import { createVacuum, type Vacuum, type VacuumTables } from './vacuum/vacuum.js';
import { createSinkCursors, type SinkCursors } from './egress/sink-cursors.js';
import {
  type CheckpointKeys,
  checkpointedLength,
  createTransparencyLog,
  type LogTables,
  signingLogKey,
  type TransparencyLog,
} from './tlog/transparency-log.js';
import { createVerifier, verifiedHead, type Verifier } from './verifier.js';
import { type ThreadOptions, walkInThreads, type WalkThreads } from './walk-threads.js';

export interface LedgerOptions {
  /** Seals sidecars and the head. Whoever may edit the store must not hold it. */
  readonly sidecarKeys: KeyRing;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  readonly logger?: Logger;
  /** Where cold copies go; without it there are none. */
  readonly coldSink?: ColdSink | undefined;
  /** What checkpoints are signed with; without it the ledger has none. */
  readonly checkpoints?: CheckpointKeys;
  /** Signs regulatory bundles; without it none leaves. */
  readonly signer?: BlobSigner;
  /** Keys that may have signed rows and bundles; without it no signature can be verified. */
  readonly keySet?: KeySetSource;
  /** Nothing is to be erased for now; exports say so. */
  readonly legalHold?: boolean;
  /** Whose time stamps of the chain's root count, and whether there has to be one. */
  readonly timeStamps?: { readonly trust: TimeStampTrust | null; readonly required: boolean };
  /** Commit to a chain only when every signature in it was verified. */
  readonly requireCryptography?: boolean;
}

/** So many entries, of one kind of work that nobody asked for. */
export interface SweepObservation {
  readonly kind: 'vacuumed' | FlagKind;
  readonly entries: number;
}

/** The ledger over its store: the one place that appends, and the reads. Every store fault is `ledger_store_unavailable`. */
export interface LedgerStore extends Ledger, LedgerReader, Verifier, Assurance {
  readonly erasure: Erasure;
  /** Checkpoints and proofs; `null` where no key to sign with was given. */
  readonly transparency: TransparencyLog | null;
  readonly tenantLifecycle: TenantLifecycle;
  readonly anchors: Anchors;
  readonly coldTier: ColdTier;
  readonly cases: Cases;
  readonly silence: SilenceAllowlist;
  readonly complianceEvidence: ComplianceEvidence;
  readonly activeAgents: ActiveAgentMeter;
  readonly reports: LedgerReports;
  readonly exportRegulatory: MakeBundle;
  /** The newest entry's place and hash as retained beside the chain. */
  head(): Promise<ChainHead>;
  /** Throws unless the next append can be taken: the store takes writes and the newest entry is the retained head. */
  ready(): Promise<void>;
  /**
   * Deletes the bytes an entry committed to and leaves a sealed note; the entry and the chain stay as they are. False when there
   * was nothing to delete. Safe to repeat.
   */
  purgeSidecar(id: string): Promise<boolean>;
  readonly purgeSidecars: PurgeSidecars;
  readonly vacuum: Vacuum;
  readonly watchdogs: Watchdogs;
  /** How far each sink has confirmed; the vacuum waits for them. */
  readonly sinkCursors: SinkCursors;
  /** Called after every commit. */
  observe(listener: (observation: CommitObservation) => void): void;
  /** Called with what every walk found, and at once with what the last one did. */
  observeWalks(listener: (result: VerifyResult) => void): void;
  /** Called with what the vacuum took away and the watchdogs flagged, when they did. */
  observeSweeps(listener: (done: SweepObservation) => void): void;
  /** Answers the waiting appends, then lets the store go. Safe to repeat. */
  close(): Promise<void>;
}

/**
 * Opens the ledger of a SQLite file or a Postgres schema; the same rows give the same chain, byte for byte, in either. Throws when the
 * store cannot be opened.
 */
export async function openLedger({
  target,
  verifyThreads,
  ...options
}: LedgerOptions & {
  readonly target: StoreTarget;
  /** Long walks run in so many threads with connections of their own, beside the appends; without it in this thread. */
  readonly verifyThreads?: ThreadOptions | undefined;
}): Promise<LedgerStore> {
  const store = await reading(() => openStore<LedgerTables>(target, ledgerMigrations));
  const threads = verifyThreads ? walkInThreads({ target, keys: options.sidecarKeys, ...verifyThreads }) : undefined;
  return ledgerOver(store, options, threads);
}

/** The ledger over a store that is open and migrated. Takes the store over: `close` closes it. */
export function ledgerOver(store: Store<LedgerTables>, options: LedgerOptions, threads?: WalkThreads): LedgerStore {
  const {
    sidecarKeys,
    clock = Date.now,
    logger,
    checkpoints,
    coldSink,
    signer,
    keySet,
    requireCryptography = false,
    legalHold = false,
    timeStamps,
  } = options;
  const chain = chainOf(store, sidecarKeys);
  // One database with several tables; each part knows its own.
  const side = store as unknown as Store<CaseTables & SilenceTables & LifecycleTables & AnchorTables & VacuumTables>;
  const goneFrom = createGoneFrom(store.db);
  let closing: Promise<void> | null = null;
  /** No row is committed at or before this moment any more: an invoice was issued through it. */
  let sealedThrough = 0;
  let committing: Promise<unknown> = Promise.resolve();
  const listeners: ((observation: CommitObservation) => void)[] = [];
  const writer = createGroupCommit(
    async (calls) => {
      try {
        const outcome = chain.commit(calls, Math.max(clock(), sealedThrough + 1));
        committing = outcome.catch(() => undefined);
        return await outcome;
      } catch (error) {
        logger?.error({ err: error, calls: calls.length }, 'ledger commit failed');
        throw error;
      }
    },
    (observation) => {
      if (observation.conflicts > 0)
        logger?.error({ conflicts: observation.conflicts }, 'ledger row id offered with other content');
      for (const listener of listeners) listener(observation);
    },
  );

  // Rows are checked and rendered before the first await: what the caller does to its objects afterwards changes nothing.
  const append: Ledger['append'] = async (rows) => {
    const call = rows.map(prepareRow);
    if (call.length === 0) return [];
    // Unsigned rows go on in the same turn, so that calls keep their order.
    if (call.some(isSigned)) await assurance.admit(call);
    return writer.append(call);
  };
  const walkListeners: ((result: VerifyResult) => void)[] = [];
  let lastWalk: VerifyResult | null = null;
  const sinkCursors = createSinkCursors(side.db, clock);
  const verifier = createVerifier(chain, sidecarKeys, {
    walkElsewhere: threads?.walk,
    promisedLength: async () =>
      Math.max(await checkpointedLength(store.db as unknown as Kysely<LogTables>), await sinkCursors.farthest()),
    onResult(result) {
      lastWalk = result;
      if (!result.valid) logger?.error({ result }, 'the chain of the ledger does not hold');
      for (const listener of walkListeners) listener(result);
    },
  });
  const head = () =>
    reading(async () => {
      const { length, hash } = (await chain.bounds()).head ?? EMPTY_CHAIN;
      return { length, hash };
    });
  const anchors = createAnchors({
    db: side.db,
    head,
    append,
    trust: timeStamps?.trust ?? null,
    timeStampsRequired: timeStamps?.required ?? false,
    clock,
  });
  const assurance = createAssurance({
    db: store.db,
    verifier,
    keySet: keySet ?? null,
    requireCryptography,
    anchors,
    clock,
  });
  const reader = createLedgerReader(store, sidecarKeys);
  const transparency =
    checkpoints === undefined
      ? null
      : createTransparencyLog(store.db as unknown as Kysely<LogTables>, {
          ...signingLogKey(checkpoints.origin, checkpoints.privateKey),
          witnesses: checkpoints.witnesses,
          verifiedHead: () => verifiedHead(verifier),
          entry: (id) => reader.get(id),
          clock,
        });

  const makeBundle = createBundleMaker({
    db: store.db,
    assurance,
    head,
    signer: signer ?? null,
    coldExports: (window) => coldTier.overlapping(window),
    anchorLines: (seqLo, seqHi) => anchors.lines(seqLo, seqHi),
    goneFrom,
    clock,
  });

  const erasure = createErasure({ store, append, clock });

  const coldTier = createColdTier(store.db as unknown as Kysely<ColdTables>, {
    sink: coldSink ?? null,
    goneFrom,
    clock,
  });
  const silence = createSilenceAllowlist(side, clock);

  const sweepListeners: ((done: SweepObservation) => void)[] = [];
  const swept = (kind: SweepObservation['kind'], entries: number): void => {
    for (const listener of sweepListeners) listener({ kind, entries });
  };

  const reports = createLedgerReports({
    db: store.db,
    reader,
    allowedSilence: async () => new Set((await silence.list()).map((entry) => entry.agent_id)),
    clock,
  });

  const purgeSidecar = (id: string): Promise<boolean> =>
    reading(async () => {
      const held = await store.db
        .selectFrom('entry_payloads as p')
        .innerJoin('ledger_entries as e', 'e.seq', 'p.entry_seq')
        .select(['p.entry_seq', 'p.kind'])
        .where('e.id', '=', id)
        .where('p.sealed', 'is not', null)
        .executeTakeFirst();
      if (!held) return false;
      const purgedAt = new Date(clock()).toISOString();
      const purgeSeal = sidecarKeys.seal(purgedAt, purgeContext(id, held.kind));
      const { numUpdatedRows } = await store.db
        .updateTable('entry_payloads')
        .set({ sealed: null, purged_at: purgedAt, purge_seal: purgeSeal })
        .where('entry_seq', '=', held.entry_seq)
        .where('kind', '=', held.kind)
        .where('sealed', 'is not', null)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    });

  return {
    append,
    erasure,
    tenantLifecycle: createTenantLifecycle({ store: side, append, erasure, makeBundle, clock }),
    transparency,
    ...verifier,
    ...assurance,
    ...reader,
    anchors,
    coldTier,
    cases: createCases(side, clock),
    complianceEvidence: createComplianceEvidence({
      reader,
      assurance,
      coldExports: async (window) => (await coldTier.overlapping(window)).length,
      goneFrom,
      clock,
    }),
    activeAgents: createActiveAgentMeter({
      db: store.db,
      assurance,
      head,
      append,
      sealThrough: async (ms) => {
        sealedThrough = Math.max(sealedThrough, ms);
        await committing;
      },
      goneFrom,
      clock,
    }),
    silence,
    reports,
    watchdogs: createWatchdogs({ db: store.db, reports, append, onFlags: swept, clock }),
    exportRegulatory: createRegulatoryExport(makeBundle, append, { legalHold }),
    head,
    ready: () => reading(() => chain.probe()),
    purgeSidecar,
    purgeSidecars: createRetention({ db: store.db, purgeSidecar, clock }),
    vacuum: createVacuum({
      db: side.db,
      chain,
      keys: sidecarKeys,
      transparency,
      coldTier,
      legalHold,
      onBatch: (entries) => swept('vacuumed', entries),
      clock,
    }),
    observeSweeps: (listener) => {
      sweepListeners.push(listener);
    },
    sinkCursors,
    observe: (listener) => {
      listeners.push(listener);
    },
    observeWalks: (listener) => {
      walkListeners.push(listener);
      if (lastWalk) listener(lastWalk);
    },
    close() {
      closing ??= (async () => {
        await writer.close();
        await threads?.close();
        try {
          await chain.close();
        } finally {
          await store.close();
        }
      })();
      return closing;
    },
  };
}

function chainOf(store: Store<LedgerTables>, keys: KeyRing): ChainStore {
  if (store.sqlite) return sqliteChain(store.sqlite, keys);
  if (store.pool) return postgresChain(store.pool, keys);
  throw new TypeError('a store has a SQLite connection or a Postgres pool');
}
