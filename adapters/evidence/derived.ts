import type { Kysely } from 'kysely';
import type { Ledger } from '../../contracts/ledger.js';
import type { Assurance } from '../ledger/assurance/assurance.js';
import type { ChainHead } from '../../domain/ledger/chain.js';
import type { Erasure } from '../ledger/erasure/erasure.js';
import type { BlobSigner } from '../../domain/ledger/signatures/blob-signer.js';
import type { LedgerTables } from '../../domain/ledger/tables.js';
import { createGoneFrom } from '../ledger/vacuum/gone.js';
import type { Store } from '../store/database.js';
import { type ActiveAgentMeter, createActiveAgentMeter } from './active-agents/active-agents.js';
import { type CaseEvidence, createCaseEvidence } from './cases/case-evidence.js';
import { type ColdSink, type ColdTables, type ColdTier, createColdTier } from './cold-tier/cold-tier.js';
import { type ComplianceEvidence, createComplianceEvidence } from './compliance/evidence.js';
import { createBundleMaker, type MakeBundle } from './regulatory/bundle.js';
import { createRegulatoryExport } from './regulatory/export.js';
import { createLedgerReports, type LedgerReports } from './reports/reports.js';
import { createSilenceAllowlist, type SilenceTables } from './silence/silence-allowlist.js';
import {
  createTenantLifecycle,
  type LifecycleTables,
  type TenantLifecycle,
} from './tenant-lifecycle/tenant-lifecycle.js';
import { createWatchdogs, type FlagKind, type Watchdogs } from './watchdogs/watchdogs.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';

/** Everything that is computed from many rows. It takes long, so it may run in a thread of its own. */
export interface Derived {
  readonly activeAgents: ActiveAgentMeter;
  readonly caseEvidence: CaseEvidence;
  readonly coldTier: ColdTier;
  readonly complianceEvidence: ComplianceEvidence;
  readonly exportRegulatory: MakeBundle;
  readonly reports: LedgerReports;
  readonly tenantLifecycle: TenantLifecycle;
  readonly watchdogs: Watchdogs;
}

/** What evidence needs of the ledger besides its rows. Another thread may answer these calls. */
export interface EvidenceLedger extends Ledger, Pick<Assurance, 'verifyAssured' | 'trustedKey'> {
  head(): Promise<ChainHead>;
  sealThrough(ms: number): Promise<void>;
  tombstoneTenant: Erasure['tombstoneTenant'];
  anchorLines(seqLo: number, seqHi: number): AsyncIterable<readonly string[]>;
  /** Signs bundles; `null` when no signing key is configured. */
  readonly signer: BlobSigner | null;
  /** Called with the number of flags that a watchdog raised. */
  flagged(kind: FlagKind, flags: number): unknown;
}

export interface DerivedOptions {
  readonly clock: () => number;
  readonly coldSink: ColdSink | null;
  readonly legalHold: boolean;
  /** Folder for rows of a bundle until its manifest is signed; by default the system's temporary folder. */
  readonly scratch?: string | undefined;
}

export function derivedOver(
  store: Store<LedgerTables>,
  reader: Pick<LedgerReader, 'pages' | 'sidecar'>,
  ledger: EvidenceLedger,
  { clock, coldSink, legalHold, scratch }: DerivedOptions,
): Derived {
  // One database with several tables; each part types its own.
  const side = store as unknown as Store<SilenceTables & LifecycleTables>;
  const { db } = store;
  const { append, head, signer } = ledger;
  const goneFrom = createGoneFrom(db);
  const coldTier = createColdTier(db as unknown as Kysely<ColdTables>, { sink: coldSink, goneFrom, clock });
  const makeBundle = createBundleMaker({
    db,
    assurance: ledger,
    head,
    signer,
    coldExports: coldTier.overlapping,
    anchorLines: ledger.anchorLines,
    goneFrom,
    clock,
    folder: scratch,
  });
  const silence = createSilenceAllowlist(side, clock);
  const reports = createLedgerReports({
    db,
    reader,
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
    caseEvidence: createCaseEvidence(db),
    coldTier,
    complianceEvidence: createComplianceEvidence({
      reader,
      assurance: ledger,
      head,
      coldExports: async (window) => (await coldTier.overlapping(window)).length,
      goneFrom,
      clock,
    }),
    exportRegulatory: createRegulatoryExport(makeBundle, append, { legalHold }),
    reports,
    tenantLifecycle: createTenantLifecycle({ store: side, append, erasure: ledger, makeBundle, clock }),
    watchdogs: createWatchdogs({ db, reports, append, onFlags: ledger.flagged, clock }),
  };
}
