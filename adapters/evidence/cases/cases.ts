import { randomUUID } from 'node:crypto';
import type { Compilable } from 'kysely';
import {
  caseSeverity,
  caseStatus,
  type CaseEvent,
  type CaseSeverity,
  type CaseStatus,
  type IncidentCase,
} from '../../../contracts/cases.js';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import type { Store } from '../../store/database.js';
import { writeTogether } from '../../store/write-together.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { type NotificationSweep, sweepNotifications, type SweptNotifications } from './authority-notifications.js';
import type { CaseEvidence, CaseScope, Subjects } from './case-evidence.js';
import type { CaseTables, CaseTable } from './case-tables.js';

/** Days from an incident's classification to the deadline of the report to the authority (Regulation (EU) 2024/1689, article 73). */
const DEADLINE_DAYS: Readonly<Record<CaseSeverity, number>> = { serious: 15, death: 10, critical_infra: 2 };
const DAY_MS = 86_400_000;
/** Most agents, and most calls, that one case may name. */
const MAX_SUBJECTS = 1_000;
/** Attempts when others change the same case: each loser reads again and tries once more. */
const MAX_TRIES = 20;

/**
 * Incident cases (docs/architecture/ledger-reads.md#cases): notes that people keep about rows, beside the chain and never part of it. Every
 * change adds one event to the timeline. All methods but `open` throw `case_not_found`, also for a case of another tenant; a store fault is
 * `ledger_store_unavailable`.
 */
export interface Cases {
  /** Under a `request_id` the same case opened again by the same actor is the case that there is. */
  open(
    given: Subjects & CaseScope & { readonly title: string; readonly request_id?: string | undefined },
    actor: string,
  ): Promise<IncidentCase>;
  get(id: string, scope: CaseScope): Promise<IncidentCase>;
  /** Newest first. */
  list(query: CaseScope & { readonly status?: CaseStatus; readonly limit: number }): Promise<IncidentCase[]>;
  /** Under a request's id the same words of the same actor stand there once. */
  addEvent(id: string, event: CaseEvent, scope: CaseScope, requestId?: string): Promise<void>;
  /** Any move between the three states is allowed; setting the current one changes nothing. Throws `invalid_status`. */
  setStatus(id: string, status: string, actor: string, scope: CaseScope): Promise<void>;
  /**
   * Replaces severity and deadline. The same transaction queues the notification to the authority, unless one for this case and severity is
   * pending or was delivered. Throws `invalid_severity`.
   */
  classify(
    id: string,
    severity: string,
    actor: string,
    scope: CaseScope,
  ): Promise<{ readonly severity: CaseSeverity; readonly regulatory_deadline: string }>;
  /** Adds the subjects that are not attached yet. Throws `invalid_request` beyond 1,000 agents or 1,000 calls. */
  attach(id: string, subjects: Subjects, actor: string, scope: CaseScope): Promise<void>;
  readonly evidence: CaseEvidence;
  /** Delivers the notifications that are due; called by a sweep. */
  notifyAuthority(sweep: NotificationSweep): Promise<SweptNotifications>;
}

/** What people keep. The rows that a case names are many: `evidence` reads them, in the thread of the reports. */
export function createCases(store: Store<CaseTables>, evidence: CaseEvidence, clock: () => number): Cases {
  const { db } = store;
  const now = () => new Date(clock()).toISOString();

  async function timelines(ids: readonly string[]): Promise<Map<string, CaseEvent[]>> {
    const found = new Map<string, CaseEvent[]>(ids.map((id) => [id, []]));
    if (ids.length === 0) return found;
    const rows = await db
      .selectFrom('case_timeline')
      .selectAll()
      .where('case_id', 'in', ids)
      .orderBy('case_id')
      .orderBy('version')
      .execute();
    for (const { case_id, at, kind, actor, detail } of rows) found.get(case_id)?.push({ at, kind, actor, detail });
    return found;
  }

  async function row(id: string, { tenant }: CaseScope): Promise<CaseTable> {
    let query = db.selectFrom('cases').selectAll().where('id', '=', id);
    if (tenant !== undefined) query = query.where('tenant', '=', tenant);
    const found = await query.executeTakeFirst();
    if (!found) throw new GateError('case_not_found');
    return found;
  }

  const timelineRow = (id: string, version: number, event: CaseEvent, request_id: string | null = null) =>
    db.insertInto('case_timeline').values({ case_id: id, version, ...event, request_id });
  const isWritten = async (id: string, { kind, actor, detail }: CaseEvent, requestId: string): Promise<boolean> => {
    const found = await db
      .selectFrom('case_timeline')
      .select('version')
      .where('case_id', '=', id)
      .where('request_id', '=', requestId)
      .where('kind', '=', kind)
      .where('actor', '=', actor)
      .where('detail', '=', detail)
      .executeTakeFirst();
    return found !== undefined;
  };

  interface Change {
    readonly set: Partial<
      Pick<CaseTable, 'status' | 'severity' | 'regulatory_deadline' | 'agent_ids' | 'correlation_ids'>
    >;
    readonly event: CaseEvent;
    readonly also?: readonly Compilable[];
    readonly requestId?: string | undefined;
  }
  /** Applies what `decide` returns to the current version of the case, by compare-and-set; `null` changes nothing. */
  const change = (id: string, scope: CaseScope, decide: (before: CaseTable) => Change | null): Promise<void> =>
    reading(async () => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const before = await row(id, scope);
        const decided = decide(before);
        if (!decided) return;
        const { event, requestId } = decided;
        // After the case was read: what is written in between is another version of it.
        if (requestId !== undefined && (await isWritten(id, event, requestId))) return;
        const version = Number(before.version) + 1;
        const update = db
          .updateTable('cases')
          .set({ ...decided.set, updated_at: now(), version })
          .where('id', '=', id)
          .where('version', '=', before.version);
        if (await writeTogether(store, [update, timelineRow(id, version, event, requestId), ...(decided.also ?? [])]))
          return;
      }
      throw new GateError('ledger_store_unavailable', 'the case is being changed by too many at once; try again');
    });

  return {
    open: ({ title, agent_ids, correlation_ids, tenant, request_id }, actor) =>
      reading(async () => {
        const content = [tenant ?? '', actor, title, listText(agent_ids), listText(correlation_ids)];
        const id = request_id === undefined ? randomUUID() : uuidFromDigest('gate.case', request_id, ...content);
        const at = now();
        const opened = {
          id,
          tenant: tenant ?? null,
          title,
          status: 'open' as const,
          severity: null,
          regulatory_deadline: null,
          agent_ids: listText(agent_ids),
          correlation_ids: listText(correlation_ids),
          created_at: at,
          updated_at: at,
          version: 1,
        };
        const event = { at, kind: 'opened', actor, detail: '' };
        const insert = db
          .insertInto('cases')
          .values(opened)
          .onConflict((conflict) => conflict.column('id').doNothing());
        if (await writeTogether(store, [insert, timelineRow(id, 1, event)])) return toCase(opened, [event]);
        return toCase(await row(id, { tenant }), (await timelines([id])).get(id) ?? []);
      }),
    get: (id, scope) =>
      reading(async () => {
        const found = await row(id, scope);
        return toCase(found, (await timelines([id])).get(id) ?? []);
      }),
    list: ({ status, limit, tenant }) =>
      reading(async () => {
        let query = db.selectFrom('cases').selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit);
        if (status !== undefined) query = query.where('status', '=', status);
        if (tenant !== undefined) query = query.where('tenant', '=', tenant);
        const rows = await query.execute();
        const events = await timelines(rows.map(({ id }) => id));
        return rows.map((found) => toCase(found, events.get(found.id) ?? []));
      }),
    addEvent: (id, event, scope, requestId) => change(id, scope, () => ({ set: {}, event, requestId })),
    setStatus: (id, asked, actor, scope) =>
      change(id, scope, (before) => {
        const status = known(caseStatus.safeParse(asked), 'invalid_status');
        if (status === before.status) return null;
        const detail = `${before.status} to ${status}`;
        return { set: { status }, event: { at: now(), kind: 'status_changed', actor, detail } };
      }),
    async classify(id, asked, actor, scope) {
      const severity = known(caseSeverity.safeParse(asked), 'invalid_severity');
      const at = clock();
      const classifiedAt = new Date(at).toISOString();
      const classified = {
        severity,
        regulatory_deadline: new Date(at + DEADLINE_DAYS[severity] * DAY_MS).toISOString(),
      };
      const notification = db
        .insertInto('authority_notifications')
        .values({
          id: randomUUID(),
          case_id: id,
          ...classified,
          classified_at: classifiedAt,
          status: 'pending',
          attempts: 0,
          next_attempt_at: classifiedAt,
          last_error: null,
          delivered_at: null,
        })
        .onConflict((conflict) => conflict.doNothing());
      const detail = `${severity}, to be reported by ${classified.regulatory_deadline}`;
      const event = { at: classifiedAt, kind: 'classified', actor, detail };
      await change(id, scope, () => ({ set: classified, event, also: [notification] }));
      return classified;
    },
    attach: (id, { agent_ids, correlation_ids }, actor, scope) =>
      change(id, scope, (before) => {
        const agents = union(before.agent_ids, agent_ids);
        const calls = union(before.correlation_ids, correlation_ids);
        const detail = `${agents.added} agents, ${calls.added} calls`;
        return {
          set: { agent_ids: agents.text, correlation_ids: calls.text },
          event: { at: now(), kind: 'attached', actor, detail },
        };
      }),
    evidence,
    notifyAuthority: (sweep) => sweepNotifications(store, { ...sweep, clock }),
  };
}

function known<Value>(
  parsed: { readonly success: true; readonly data: Value } | { readonly success: false },
  code: 'invalid_status' | 'invalid_severity',
): Value {
  if (!parsed.success) throw new GateError(code);
  return parsed.data;
}

const listText = (ids: Iterable<string>): string => JSON.stringify([...new Set(ids)].sort());
const listOf = (text: string): string[] => JSON.parse(text) as string[];

function union(text: string, more: readonly string[]): { readonly text: string; readonly added: number } {
  const before = listOf(text);
  const after = new Set([...before, ...more]);
  if (after.size > MAX_SUBJECTS)
    throw new GateError('invalid_request', `a case holds at most ${MAX_SUBJECTS} agents and ${MAX_SUBJECTS} calls`);
  return { text: listText(after), added: after.size - before.length };
}

const toCase = (row: CaseTable, timeline: readonly CaseEvent[]): IncidentCase => ({
  id: row.id,
  ...(row.tenant !== null && { tenant: row.tenant }),
  title: row.title,
  status: row.status,
  created_at: row.created_at,
  updated_at: row.updated_at,
  agent_ids: listOf(row.agent_ids),
  correlation_ids: listOf(row.correlation_ids),
  timeline: [...timeline],
  ...(row.severity !== null && { severity: row.severity }),
  ...(row.regulatory_deadline !== null && { regulatory_deadline: row.regulatory_deadline }),
});
