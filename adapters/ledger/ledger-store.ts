import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Ledger, VerifyResult } from '../../contracts/ledger.js';
import { ledgerMigrations } from '../../migrations/ledger.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { type ChainHead, EMPTY_CHAIN } from '../../domain/ledger/chain.js';
import { type Anchors, type AnchorTables, createAnchors } from './anchors/anchors.js';
import type { TimeStampTrust } from '../../domain/ledger/anchors/time-stamp.js';
import { type Assurance, createAssurance } from './assurance/assurance.js';
import { type ChainStore, reading } from '../../domain/ledger/chain-store.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { createErasure, type Erasure } from './erasure/erasure.js';
import { createPurgeSidecar, type PurgeSidecar } from './erasure/purge-sidecar.js';
import { createRetention, type PurgeSidecars } from './erasure/retention.js';
import { createLedgerReader } from './ledger-reader.js';
import { postgresChain } from './postgres-chain.js';
import { isSigned } from '../../domain/ledger/signatures/admission.js';
import type { KeySetSource } from '../../domain/ledger/signatures/key-set.js';
import { sqliteChain } from './sqlite-chain.js';
import type { LedgerTables } from '../../domain/ledger/tables.js';
import { createVacuum, type Vacuum, type VacuumTables } from './vacuum/vacuum.js';
import { createSinkCursors, type SinkCursors } from './sink-cursors.js';
import {
  type CheckpointKeys,
  checkpointedLength,
  createTransparencyLog,
  type LogTables,
  logKeyNow,
  type TransparencyLog,
} from './tlog/transparency-log.js';
import { createVerifier, verifiedHead, type Verifier } from '../../domain/ledger/verifier.js';
import { createWriter, type LedgerWriter } from '../../domain/ledger/writer.js';
import { type ThreadOptions, walkInThreads, type WalkThreads } from './walk-threads.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';

export interface LedgerOptions {
  /** Seals sidecars and the head. People who can edit the store must not hold this key. */
  readonly sidecarKeys: KeyRing;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  readonly logger?: Logger;
  /** The key that signs checkpoints; without it the ledger makes none. */
  readonly checkpoints?: CheckpointKeys;
  /** Keys that may have signed rows and bundles; without them no signature can be verified. */
  readonly keySet?: KeySetSource;
  /** Nothing may be deleted for now. */
  readonly legalHold?: boolean;
  /** Which authorities' time stamps of the chain's root are trusted, and whether one is required. */
  readonly timeStamps?: { readonly trust: TimeStampTrust | null; readonly required: boolean };
  /** Commit to a chain only when every signature in it was verified. */
  readonly requireCryptography?: boolean;
}

export interface OpenLedgerOptions extends LedgerOptions {
  readonly target: StoreTarget;
  /** Number of threads for long walks, each with its own connection. Without it walks run in this thread. */
  readonly verifyThreads?: ThreadOptions | undefined;
}

/** The chain's only writer. */
export interface ChainWriter extends Ledger, Pick<LedgerWriter, 'sealThrough' | 'observe'> {
  /** Throws unless the next append can succeed: the store is writable, and the newest entry is the retained head. */
  ready(): Promise<void>;
}

/** The chain's rows, and where it ends. */
export interface ChainRows extends LedgerReader {
  /** Place and hash of the newest entry, as retained beside the chain. */
  head(): Promise<ChainHead>;
}

/** Walks the chain, and checks the signatures in it. */
export interface ChainVerifier extends Verifier, Pick<Assurance, 'verifyAssured' | 'trustedKey'> {
  /** `listener` is called with the result of every walk, and immediately with the last one. */
  observeWalks(listener: (result: VerifyResult) => void): void;
}

/** Deletes old entries that are kept elsewhere. */
export interface ChainVacuum {
  readonly pass: Vacuum;
  /** `listener` is called after each batch with the number of removed entries. */
  observe(listener: (entries: number) => void): void;
}

/**
 * A ledger, as what opens it gets it: one part for each thing that is done with a chain. Who opens it hands to everyone else the parts they
 * need; nobody gets all of them. Every store fault is `ledger_store_unavailable`.
 */
export interface OpenedLedger {
  readonly writer: ChainWriter;
  readonly reader: ChainRows;
  readonly verifier: ChainVerifier;
  /** Checkpoints and proofs; `null` without a signing key. */
  readonly transparency: TransparencyLog | null;
  readonly anchors: Anchors;
  readonly erasure: Erasure;
  /** Deletes the bytes beside entries, one or all that were kept long enough. */
  readonly retention: { readonly purgeSidecar: PurgeSidecar; readonly purgeSidecars: PurgeSidecars };
  readonly vacuum: ChainVacuum;
  /** What each sink has confirmed; the vacuum waits for them. */
  readonly sinkCursors: SinkCursors;
  /** Answers the waiting appends, then closes the store. Safe to repeat. */
  close(): Promise<void>;
}

/**
 * Opens the ledger of a SQLite file or a Postgres schema, together with its store, for data that is kept beside the chain. The same rows
 * give the same chain in either, byte for byte. Throws when the store cannot be opened. Closing the ledger closes the store.
 */
export async function openLedger({
  target,
  verifyThreads,
  ...options
}: OpenLedgerOptions): Promise<{ readonly ledger: OpenedLedger; readonly store: Store<LedgerTables> }> {
  const store = await reading(() => openStore<LedgerTables>(target, ledgerMigrations));
  const threads = verifyThreads ? walkInThreads({ target, keys: options.sidecarKeys, ...verifyThreads }) : undefined;
  return { store, ledger: ledgerOver(store, options, threads) };
}

/** The ledger over an open, migrated store. Takes ownership: `close` closes the store. */
export function ledgerOver(store: Store<LedgerTables>, options: LedgerOptions, threads?: WalkThreads): OpenedLedger {
  const {
    sidecarKeys,
    clock = Date.now,
    logger,
    checkpoints,
    keySet,
    requireCryptography = false,
    legalHold = false,
    timeStamps,
  } = options;
  const chain = chainOf(store, sidecarKeys);
  // One database with several tables; each part types its own.
  const side = store as unknown as Store<AnchorTables & VacuumTables>;
  let closing: Promise<void> | null = null;
  const writer = createWriter(chain, { clock, logger });
  /** The ledger's own rows are not signed, so they skip admission. */
  const appendOwn: Ledger['append'] = async (rows) => writer.append(rows.map(prepareRow));
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
    append: appendOwn,
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
  // Rows are checked and rendered before the first await, so that later changes to the caller's objects have no effect.
  const append: Ledger['append'] = async (rows) => {
    const call = rows.map(prepareRow);
    if (call.length === 0) return [];
    // Unsigned rows are queued in the same turn, so that calls keep their order.
    if (call.some(isSigned)) await assurance.admit(call);
    return writer.append(call);
  };
  const reader = createLedgerReader(store, sidecarKeys);
  const transparency =
    checkpoints === undefined
      ? null
      : createTransparencyLog(store.db as unknown as Kysely<LogTables>, {
          by: logKeyNow(checkpoints),
          witnesses: checkpoints.witnesses,
          verifiedHead: () => verifiedHead(verifier),
          entry: (id) => reader.get(id),
          clock,
        });

  const vacuumListeners: ((entries: number) => void)[] = [];
  const purgeSidecar = createPurgeSidecar(store.db, sidecarKeys, clock);
  return {
    writer: {
      append,
      sealThrough: writer.sealThrough,
      observe: writer.observe,
      ready: () => reading(() => chain.probe()),
    },
    reader: { ...reader, head },
    verifier: {
      verify: verifier.verify,
      verifyAssured: assurance.verifyAssured,
      trustedKey: assurance.trustedKey,
      observeWalks: (listener) => {
        walkListeners.push(listener);
        if (lastWalk) listener(lastWalk);
      },
    },
    transparency,
    anchors,
    erasure: createErasure({ store, append: appendOwn, clock }),
    retention: { purgeSidecar, purgeSidecars: createRetention({ db: store.db, purgeSidecar, clock }) },
    vacuum: {
      pass: createVacuum({
        db: side.db,
        chain,
        keys: sidecarKeys,
        transparency,
        legalHold,
        onBatch(entries) {
          for (const listener of vacuumListeners) listener(entries);
        },
        clock,
      }),
      observe: (listener) => {
        vacuumListeners.push(listener);
      },
    },
    sinkCursors,
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
