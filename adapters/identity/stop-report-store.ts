import type { Kysely, Selectable } from 'kysely';
import { z } from 'zod';
import {
  NOT_TAKEN_BACK_LISTED,
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
import { pagesOf } from '../store/pages.js';
import { MARKED_OF_REPORT } from './identity-marks.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
type Row = Selectable<IdentityTables['identity_stop_reports']>;
type Marked = Row & { readonly mac: string };

/** What a stop could not take back of an agent, or of a tenant's agents: these rows are not as Gate wrote them. */
export interface LeftBehind {
  readonly tenant: string;
  /** `null`: any of the tenant's. */
  readonly agent: string | null;
  readonly rows: readonly string[];
}

/** What came of taking an agent's certificates back: how many that were, and what is left. */
export interface TakenBack {
  readonly revoked: number;
  readonly left: readonly LeftBehind[];
}

/** To whoever would let go what is not taken back. */
export const leftFault = ({ agent, rows }: LeftBehind): GateError =>
  new GateError(
    'identity_tampered',
    `the certificates of ${agent} are not all taken back: edited in the store: ${rows.join('; ')}`,
  );

/** What was stopped, in the transaction that stops it. */
export interface NewReport {
  readonly kind: StoppedKind;
  readonly stoppedId: string;
  readonly tenant: string;
  readonly name: string | null;
  /** As the row of what is stopped has it. */
  readonly stoppedMs: number;
  /** What the same transaction took back; `null`: the certificates of a tenant, which follow. */
  readonly taken: TakenBack | null;
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
  /** What is wrong with a row, or `null`. */
  fault(row: Marked): string | null;
  /** Told what could not be taken back. */
  readonly onLeft: (left: LeftBehind) => void;
  /** The next agent of the tenant, behind that id, that has something to be taken back, or whose recovery is still to be opened. */
  agentToTakeBack(within: Database, tenant: string, nowMs: number, after: string): Promise<string | null>;
  /** Takes all of that back. */
  takeBack(within: Database, agentId: string, by: RevokedBy): Promise<TakenBack>;
}

export interface StopReports extends StopReportStore {
  /** The report of a stop, to be made when it is known what was running. */
  beginReport(within: Database, stopped: NewReport, by: RevokedBy): Promise<void>;
  /** Whether certificates of the tenant's agents are still being taken back. */
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
      .select(LISTED)
      .where('state', '=', state)
      .orderBy('stopped_ms')
      .orderBy('id');
  /** Rows that somebody edited keep no other stop waiting; each is said once. */
  const said = new Set<string>();
  const unedited = (rows: readonly Omit<Marked, 'report'>[]): Marked[] =>
    rows.flatMap((listed) => {
      const row = { ...listed, report: null };
      const fault = parts.fault(row);
      if (fault === null) return [row];
      tell(row, fault);
      return [];
    });
  const tell = ({ id, tenant }: Marked, fault: string): void => {
    if (!said.has(id)) parts.onLeft({ tenant, agent: null, rows: [fault] });
    said.add(id);
  };
  /** Of stops of tenants: the last agent of which not everything could be taken back. Those behind it are still to come. */
  const passed = new Map<string, string>();

  return {
    async beginReport(within, { kind, stoppedId, tenant, name, stoppedMs, taken }, { by, reason }) {
      const left = leftText(
        (taken?.left ?? []).map(({ agent, rows }) => ({ id: stoppedId, agent: agent ?? '', rows })),
      );
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
            state: taken === null ? 'taking-back' : 'due',
            revoked_count: taken?.revoked ?? 0,
            made_ms: null,
            report_sha256: left.report_sha256,
          }),
          report: left.report,
        })
        // Stopped, let go and stopped again in one millisecond: one report.
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
    },

    async isTakingBack(within, tenant) {
      const row = await ofState(within, 'taking-back').where('tenant', '=', tenant).limit(1).executeTakeFirst();
      if (row) intact('identity_stop_reports', { ...row, report: null });
      return row !== undefined;
    },

    reportsDue: (nowMs) =>
      asked(async () => {
        const found: DueReport[] = [];
        const pages = pagesOf(DUE_AT_ONCE, (last: Omit<Marked, 'report'> | undefined) =>
          ofState(db, 'due')
            .where('stopped_ms', '<=', nowMs - HEARD_MS)
            .where(({ eb, refTuple, tuple }) =>
              eb(refTuple('stopped_ms', 'id'), '>', tuple(Number(last?.stopped_ms ?? 0), last?.id ?? '')),
            )
            .limit(DUE_AT_ONCE)
            .execute(),
        );
        for await (const rows of pages) {
          for (const row of unedited(rows)) {
            const left = await db
              .selectFrom('identity_stop_reports')
              .select(['report', 'report_sha256', 'state'])
              .where('id', '=', row.id)
              .executeTakeFirst();
            // Made meanwhile.
            if (left?.state !== 'due') continue;
            // Where somebody edited what was left no report can be made.
            if (left.report_sha256 === row.report_sha256 && isWhole({ ...row, report: left.report }))
              found.push(dueOf(row));
            else tell(row, editedText(row.id));
          }
          if (found.length >= DUE_AT_ONCE) break;
        }
        return found.slice(0, DUE_AT_ONCE);
      }),

    async makeReport(id, said, { nowMs, trustDomain, sign }) {
      const row = await asked(() => find(db, id));
      if (row?.state === 'made') return;
      if (row?.state !== 'due') throw new GateError('not_found', 'no report is due under this id');
      const left = leftIn(row);
      if (left === null) throw editedReport(id);
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
        ...(left.length > 0 && {
          not_taken_back: left.map(({ agent, rows }) => ({ agent, rows })),
        }),
        looked_at: said.looked_at,
        counts: countsOf(said.calls, said.left_out),
        calls: [...said.calls],
        made_at: instant(nowMs),
      };
      // Before the transaction: the key may lie elsewhere, and nobody waits for it with the store.
      const report = await sign(content);
      const text = stopReportText(report);
      const made = { state: 'made', made_ms: nowMs, report_sha256: sha256Hex(text), report: text };
      await inTransaction(async (within) => {
        // Another proxy said it a moment ago: its report stands.
        if (!(await change(within, 'identity_stop_reports', row, made))) return;
        await parts.told(within, { report, text });
      });
    },

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
        if (!isWhole(row)) throw editedReport(id);
        const text = row.state === 'made' ? row.report : null;
        return { ...keptOf(row), report: text === null ? null : stopReportShape.parse(JSON.parse(text)) };
      }),

    async takeBackOne(nowMs) {
      const step = await inTransaction(async (within) => {
        const [row] = unedited(await ofState(within, 'taking-back').execute());
        if (!row) return null;
        const agentId = await parts.agentToTakeBack(within, row.tenant, nowMs, passed.get(row.id) ?? '');
        const { revoked, left } =
          agentId === null
            ? NOTHING_LEFT
            : await parts.takeBack(within, agentId, { by: row.stopped_by, reason: row.reason, nowMs });
        // The row is read again behind the locks of the agent: another process may have counted meanwhile.
        const now = (await find(within, row.id)) ?? row;
        const known = leftIn(now);
        const newly = left.map(({ agent, rows }) => ({ id: agentId ?? '', agent: agent ?? '', rows }));
        // A text that somebody edited keeps the digest of what stood there, so that no report is made before it is put back; where more is left, the
        // text begins anew with what cannot be known any more.
        const others = known ?? (newly.length > 0 ? [{ id: now.id, agent: '', rows: [editedText(now.id)] }] : null);
        const counted = {
          revoked_count: Number(now.revoked_count) + revoked,
          ...(agentId === null && { state: 'due' }),
          // Another process may have left what this one took back.
          ...(agentId !== null &&
            others !== null &&
            leftText([...others.filter(({ id }) => id !== agentId), ...newly])),
        };
        if (now.state === 'taking-back' && !(await change(within, 'identity_stop_reports', now, counted)))
          throw new GateError('store_unavailable', 'another process takes certificates back too; ask again');
        return { id: row.id, agentId, left };
      });
      if (step === null) return false;
      if (step.agentId === null) passed.delete(step.id);
      else if (step.left.length > 0) passed.set(step.id, step.agentId);
      step.left.forEach(parts.onLeft);
      return true;
    },
  };
}

/** What a stop left, as it is kept until the report is made: by the agents' ids. */
const leftShape = z.array(z.object({ id: z.string(), agent: z.string(), rows: z.array(z.string()) }));
type KeptLeft = z.infer<typeof leftShape>[number];

/** Where the report will be, under its digest, which the row is marked with. */
function leftText(
  left: readonly (Omit<KeptLeft, 'rows'> & { readonly rows: readonly string[] })[],
): Pick<Row, 'report' | 'report_sha256'> {
  if (left.length === 0) return { report: null, report_sha256: null };
  const listed = left.slice(0, NOT_TAKEN_BACK_LISTED);
  const report = JSON.stringify(listed.map((one) => ({ ...one, rows: one.rows.slice(0, NOT_TAKEN_BACK_LISTED) })));
  return { report, report_sha256: sha256Hex(report) };
}
const isWhole = ({ report, report_sha256: digest }: Row): boolean =>
  digest === (report === null ? null : sha256Hex(report));
/** What the stop left, of a report that is not made; `null` where somebody edited it. */
function leftIn(row: Row): readonly KeptLeft[] | null {
  if (!isWhole(row)) return null;
  return row.report === null ? [] : leftShape.parse(JSON.parse(row.report));
}
const editedText = (id: string): string => `identity_stop_reports ${id}: its report`;
const editedReport = (id: string): GateError =>
  new GateError('identity_tampered', `edited in the store: ${editedText(id)}`);

const NOTHING_LEFT: TakenBack = { revoked: 0, left: [] };
/** Reports that a proxy is told of at once. */
const DUE_AT_ONCE = 10;
/** Without the text of the report, which may be megabytes. */
const LISTED = [...MARKED_OF_REPORT, 'mac'] as const satisfies readonly (keyof Row)[];

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
  sha256: row.state === 'made' ? row.report_sha256 : null,
});
