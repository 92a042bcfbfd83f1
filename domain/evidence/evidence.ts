import type { Kysely } from 'kysely';
import { type LedgerStore, openLedgerStore, type OpenLedgerOptions } from '../ledger/ledger-store.js';
import type { BlobSigner } from '../ledger/signatures/blob-signer.js';
import type { LedgerTables } from '../ledger/tables.js';
import { createGoneFrom } from '../ledger/vacuum/gone.js';
import type { VacuumPass } from '../ledger/vacuum/vacuum.js';
import type { Store } from '../store/database.js';
import { type ActiveAgentMeter, createActiveAgentMeter } from './active-agents/active-agents.js';
import type { CaseTables } from './cases/case-tables.js';
import { type Cases, createCases } from './cases/cases.js';
import { type ColdSink, type ColdTables, type ColdTier, createColdTier } from './cold-tier/cold-tier.js';
import { type ComplianceEvidence, createComplianceEvidence } from './compliance/evidence.js';
import { createBundleMaker, type MakeBundle } from './regulatory/bundle.js';
import { createRegulatoryExport } from './regulatory/export.js';
import { createLedgerReports, type LedgerReports } from './reports/reports.js';
import { createSilenceAllowlist, type SilenceAllowlist, type SilenceTables } from './silence/silence-allowlist.js';
import {
  createTenantLifecycle,
  type LifecycleTables,
  type TenantLifecycle,
} from './tenant-lifecycle/tenant-lifecycle.js';
import { createWatchdogs, type FlagKind, type Watchdogs } from './watchdogs/watchdogs.js';

export interface EvidenceOptions {
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
  /** Where cold copies go; without it there are none. */
  readonly coldSink?: ColdSink | undefined;
  /** Signs regulatory bundles; without it none leaves. */
  readonly signer?: BlobSigner;
  /** Nothing is to be erased for now; exports say so. */
  readonly legalHold?: boolean;
}

/**
 * What is read from the ledger or kept beside it, and can be made again from its rows. It appends through the ledger like anybody else.
 * Every store fault is `ledger_store_unavailable`.
 */
export interface Evidence {
  readonly activeAgents: ActiveAgentMeter;
  readonly cases: Cases;
  readonly coldTier: ColdTier;
  readonly complianceEvidence: ComplianceEvidence;
  readonly exportRegulatory: MakeBundle;
  readonly reports: LedgerReports;
  readonly silence: SilenceAllowlist;
  readonly tenantLifecycle: TenantLifecycle;
  /** The ledger's vacuum, which takes away only what the cold tier holds. */
  vacuum(pass: VacuumPass): Promise<number>;
  readonly watchdogs: Watchdogs;
  /** Called with what the watchdogs flagged, when they did. */
  observeFlags(listener: (kind: FlagKind, flags: number) => void): void;
}

/** A ledger and its evidence over one store. */
export interface LedgerWithEvidence {
  readonly ledger: LedgerStore;
  readonly evidence: Evidence;
}

/**
 * Opens the ledger of a SQLite file or a Postgres schema, and its evidence in the same place. Throws when the store cannot be opened.
 * Closing the ledger closes both.
 */
export async function openLedgerWithEvidence(
  options: OpenLedgerOptions & EvidenceOptions,
): Promise<LedgerWithEvidence> {
  const { ledger, store } = await openLedgerStore(options);
  return { ledger, evidence: evidenceOver(store, ledger, options) };
}

/** The evidence in a store that is open and migrated, of the ledger in it. */
export function evidenceOver(
  store: Store<LedgerTables>,
  ledger: LedgerStore,
  { clock = Date.now, coldSink, signer, legalHold = false }: EvidenceOptions,
): Evidence {
  // One database with several tables; each part knows its own.
  const side = store as unknown as Store<CaseTables & SilenceTables & LifecycleTables>;
  const { db } = store;
  const { append, head } = ledger;
  const goneFrom = createGoneFrom(db);
  const flagListeners: ((kind: FlagKind, flags: number) => void)[] = [];
  const coldTier = createColdTier(db as unknown as Kysely<ColdTables>, { sink: coldSink ?? null, goneFrom, clock });
  const makeBundle = createBundleMaker({
    db,
    assurance: ledger,
    head,
    signer: signer ?? null,
    coldExports: coldTier.overlapping,
    anchorLines: ledger.anchors.lines,
    goneFrom,
    clock,
  });
  const silence = createSilenceAllowlist(side, clock);
  const reports = createLedgerReports({
    db,
    reader: ledger,
    allowedSilence: async () => new Set((await silence.list()).map((entry) => entry.agent_id)),
    clock,
  });
  return {
    activeAgents: createActiveAgentMeter({
      db,
      assurance: ledger,
      head,
      append,
      sealThrough: ledger.sealThrough,
      goneFrom,
      clock,
    }),
    cases: createCases(side, clock),
    coldTier,
    complianceEvidence: createComplianceEvidence({
      reader: ledger,
      assurance: ledger,
      coldExports: async (window) => (await coldTier.overlapping(window)).length,
      goneFrom,
      clock,
    }),
    exportRegulatory: createRegulatoryExport(makeBundle, append, { legalHold }),
    reports,
    silence,
    tenantLifecycle: createTenantLifecycle({ store: side, append, erasure: ledger.erasure, makeBundle, clock }),
    vacuum: (pass) => ledger.vacuum(pass, coldTier),
    watchdogs: createWatchdogs({
      db,
      reports,
      append,
      onFlags(kind, flags) {
        for (const listener of flagListeners) listener(kind, flags);
      },
      clock,
    }),
    observeFlags: (listener) => {
      flagListeners.push(listener);
    },
  };
}
