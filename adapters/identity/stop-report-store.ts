import type { Kysely, Selectable } from 'kysely';
import {
  STOP_REPORTS_LISTED,
  type StopReportContent,
  stopReport as stopReportShape,
} from '../../contracts/identity.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import type { StopReportEvent } from '../../domain/identity/identity-rows.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import {
  countsOf,
  type DueReport,
  HEARD_MS,
  type KeptReport,
  stopReportIdOf,
  type StopReportStore,
  stopReportText,
  type StoppedKind,
} from '../../domain/identity/stop-reports.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_stop_reports']>;
type Marked = Row & { readonly mac: string };

/** What was stopped, in the transaction that stops it. */
export interface NewReport {
  readonly kind: StoppedKind;
  readonly stoppedId: string;
  readonly tenant: string;
  readonly name: string | null;
  /** As the row of what is stopped has it. */
  readonly stoppedMs: number;
  /** Certificates that the same transaction took back; `null`: those of a tenant, which follow. */
  readonly revoked: number | null;
}

/** What the store of identity has for reports of stops. */
export interface StopReportParts {
  readonly db: Database;
  intact(table: 'identity_stop_reports', row: Marked): Marked;
  marked<Values extends object>(table: 'identity_stop_reports', values: Values): Values & { readonly mac: string };
  /** `false` where somebody changed it since. */
  change(within: Database, table: 'identity_stop_reports', was: Marked, changes: Partial<Row>): Promise<boolean>;
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: StopReportEvent): Promise<unknown>;
  /** An agent of the tenant with a certificate that counts, a token that it has not used, or a request that is open. */
  agentToTakeBack(within: Database, tenant: string, nowMs: number): Promise<string | null>;
  /** Takes all of that back, and says how many certificates that were. */
  takeBack(within: Database, agentId: string, by: RevokedBy): Promise<number>;
}

export interface StopReports extends StopReportStore {
  /** The report of a stop, to be made when it is known what was running. */
  beginReport(within: Database, stopped: NewReport, by: RevokedBy): Promise<void>;
  /** Whether certificates of the tenant's agents are still to be taken back. */
  isTakingBack(within: Database, tenant: string): Promise<boolean>;
}

/** What was running at each stop (docs/architecture/identity.md#reports). */
export function openStopReportStore(parts: StopReportParts): StopReports {
  const { db, intact, marked, change, inTransaction, asked } = parts;
  const find = async (within: Database, id: string): Promise<Marked | undefined> => {
    const row = await within.selectFrom('identity_stop_reports').selectAll().where('id', '=', id).executeTakeFirst();
    return row && intact('identity_stop_reports', row);
  };
  const ofState = (within: Database, state: KeptReport['state']) =>
    within
      .selectFrom('identity_stop_reports')
      .selectAll()
      .where('state', '=', state)
      .orderBy('stopped_ms')
      .orderBy('id');

  return {
    async beginReport(within, { kind, stoppedId, tenant, name, stoppedMs, revoked }, { by, reason }) {
      await within
        .insertInto('identity_stop_reports')
        .values({
          ...marked('identity_stop_reports', {
            id: stopReportIdOf(stoppedId, stoppedMs),
            tenant,
            kind,
            stopped_id: stoppedId,
            name,
            stopped_ms: stoppedMs,
            stopped_by: by,
            reason,
            state: revoked === null ? 'taking-back' : 'due',
            revoked_count: revoked ?? 0,
            made_ms: null,
            report_sha256: null,
          }),
          report: null,
        })
        // Stopped, let go and stopped again in one millisecond: one report.
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
    },

    isTakingBack: async (within, tenant) =>
      (await ofState(within, 'taking-back').where('tenant', '=', tenant).limit(1).executeTakeFirst()) !== undefined,

    reportsDue: (nowMs) =>
      asked(async () => {
        const rows = await ofState(db, 'due')
          .where('stopped_ms', '<=', nowMs - HEARD_MS)
          .limit(DUE_AT_ONCE)
          .execute();
        return rows.map((row) => dueOf(intact('identity_stop_reports', row)));
      }),

    makeReport: (id, said, { nowMs, trustDomain, sign }) =>
      inTransaction(async (within) => {
        const row = await find(within, id);
        if (row?.state === 'made') return;
        if (row?.state !== 'due') throw new GateError('not_found', 'no report is due under this id');
        const content: StopReportContent = {
          schema: 'gate.stop-report/1',
          id,
          trust_domain: trustDomain,
          tenant: row.tenant,
          stopped: { kind: row.kind as StoppedKind, id: row.stopped_id, name: row.name },
          stopped_at: instant(row.stopped_ms),
          stopped_by: row.stopped_by,
          reason: row.reason,
          certificates_revoked: Number(row.revoked_count),
          looked_at: said.looked_at,
          counts: countsOf(said.calls, said.left_out),
          calls: [...said.calls],
          made_at: instant(nowMs),
        };
        const report = sign(content);
        const text = stopReportText(report);
        const made = { state: 'made', made_ms: nowMs, report_sha256: sha256Hex(text), report: text };
        // Another proxy said it a moment ago: its report stands.
        if (!(await change(within, 'identity_stop_reports', row, made))) return;
        await parts.told(within, { report, text });
      }),

    stopReports: (tenant, beforeMs) =>
      asked(async () => {
        const rows = await db
          .selectFrom('identity_stop_reports')
          .select(LISTED)
          .where('tenant', '=', tenant)
          .$if(beforeMs !== undefined, (query) => query.where('stopped_ms', '<', beforeMs as number))
          .orderBy('stopped_ms', 'desc')
          .orderBy('id')
          .limit(STOP_REPORTS_LISTED)
          .execute();
        return rows.map((row) => keptOf(intact('identity_stop_reports', { ...row, report: null })));
      }),

    stopReport: (id, tenant) =>
      asked(async () => {
        const row = await find(db, id);
        if (row?.tenant !== tenant) throw new GateError('not_found');
        if (row.report !== null && sha256Hex(row.report) !== row.report_sha256)
          throw new GateError('identity_tampered', `edited in the store: identity_stop_reports ${id}: its report`);
        return { ...keptOf(row), report: row.report === null ? null : stopReportShape.parse(JSON.parse(row.report)) };
      }),

    takeBackOne: (nowMs) =>
      inTransaction(async (within) => {
        const found = await ofState(within, 'taking-back').limit(1).executeTakeFirst();
        if (!found) return false;
        const row = intact('identity_stop_reports', found);
        const agentId = await parts.agentToTakeBack(within, row.tenant, nowMs);
        const revoked =
          agentId === null
            ? 0
            : await parts.takeBack(within, agentId, { by: row.stopped_by, reason: row.reason, nowMs });
        // The row is read again behind the locks of the agent: another process may have counted meanwhile.
        const now = (await find(within, row.id)) ?? row;
        const counted = {
          revoked_count: Number(now.revoked_count) + revoked,
          ...(agentId === null && { state: 'due' }),
        };
        if (now.state === 'taking-back' && !(await change(within, 'identity_stop_reports', now, counted)))
          throw new GateError('store_unavailable', 'another process takes certificates back too; ask again');
        return true;
      }),
  };
}

/** Reports that a proxy is told of at once. */
const DUE_AT_ONCE = 10;
/** Without the text of the report, which may be megabytes. */
const LISTED = [
  'id',
  'tenant',
  'kind',
  'stopped_id',
  'name',
  'stopped_ms',
  'stopped_by',
  'reason',
  'state',
  'revoked_count',
  'made_ms',
  'report_sha256',
  'mac',
] as const satisfies readonly (keyof Row)[];

const instant = (ms: Row['stopped_ms']): string => new Date(Number(ms)).toISOString();

const dueOf = (row: Row): DueReport => ({
  id: row.id,
  tenant: row.tenant,
  kind: row.kind as StoppedKind,
  name: row.name,
  stoppedMs: Number(row.stopped_ms),
});

const keptOf = (row: Row): KeptReport => ({
  ...dueOf(row),
  stoppedId: row.stopped_id,
  stoppedBy: row.stopped_by,
  reason: row.reason,
  state: row.state as KeptReport['state'],
  revokedCertificates: Number(row.revoked_count),
  madeMs: row.made_ms === null ? null : Number(row.made_ms),
  sha256: row.report_sha256,
});
