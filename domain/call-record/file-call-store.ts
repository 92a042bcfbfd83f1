import { LRUCache } from 'lru-cache';
import { HISTORY_LENGTH, type HistoryEvent } from '../../contracts/policy.js';
import type { KeyRing } from '../crypto/key-ring.js';
import type { LocalFile } from '../store/local-file.js';
import { assertWritable } from '../store/writable.js';
import {
  type Admission,
  type CallStore,
  type DueCall,
  FOLLOW_UP_COLUMN,
  type OpenCall,
  secondsUntilGone,
  SEEN_RECORDS,
  tombstonesUntil,
  WALK_START,
  walkOpen,
} from './call-store.js';
import { GateError } from '../errors.js';
import { callCount } from '../mcp/batch.js';
import { contradictionOf, idsAgainst } from './contradiction.js';
import { keptRequests } from './kept-requests.js';
import { createRecordNotifier } from './notifier.js';
import { type CallRecord, NotAsStaged } from './record.js';
import { type SetbackTables, setbacksOver } from './setbacks.js';
import {
  type Authenticated,
  authenticatedOf,
  historyOf,
  newestSteps,
  RECORD_COLUMNS,
  recordAfter,
  recordSealing,
  type SensitiveStep,
  type RecordRow,
  stepsOf,
  type StoredRecord,
  withChanges,
} from './sealed-record.js';
import { OPEN_STATES, TAMPERED } from './transitions.js';

/** A record as it is kept opened, with what its next MAC is made of. */
interface Held {
  readonly record: CallRecord;
  readonly authenticated: Authenticated;
}

const INSERT_COLUMNS = [
  ...RECORD_COLUMNS,
  'result_sealed',
  'upstream',
  'rows_due_ms',
] as const satisfies readonly (keyof StoredRecord)[];
const CONDEMNED_COLUMNS = [...RECORD_COLUMNS, 'upstream', 'rows_due_ms', 'review_due_ms'] as const;
const MOVED_COLUMNS = [
  'verdict_sealed',
  'pending_id',
  'deadline_ms',
  'counted_ms',
  'decision_sealed',
  'outcome_sealed',
  'result_sealed',
  'review_due_ms',
  'callback_due_ms',
] as const satisfies readonly (keyof StoredRecord)[];

/** Records of calls under way are kept decrypted: each is read a dozen times within the millisecond a call takes. */
const KEPT_RECORDS = 2_000;
const KEPT_RESULT_BYTES = 16_000_000;

export interface FileCallStoreOptions {
  readonly keys: KeyRing;
  readonly now?: () => number;
  readonly replica?: string;
  /** The ledger in the same file: whether there is a row of this id. */
  readonly ledger?: { holds(id: string): boolean };
}

/**
 * The call store inside a file that this process alone writes: the same promises as `openCallStore`, with prepared statements in the
 * file's open transaction. A returned record is valid in this process; `durable()` of the file says when it is on disk.
 */
export function callStoreInFile(
  file: LocalFile,
  { keys, now = Date.now, replica = 'gate-lite', ledger }: FileCallStoreOptions,
): CallStore {
  const { connection } = file;
  const sealing = recordSealing(keys);
  const records = new LRUCache<string, Held>({ max: KEPT_RECORDS });
  const seen = new LRUCache<string, number>({ max: SEEN_RECORDS });
  const listeners: ((record: CallRecord) => void)[] = [];
  const requests = keptRequests();
  /** A result is read once, by the caller that waits for it, a moment after it was stored. */
  const results = new LRUCache<string, Buffer>({
    max: KEPT_RECORDS,
    maxSize: KEPT_RESULT_BYTES,
    sizeCalculation: (result) => result.byteLength + 1,
  });
  const histories = new LRUCache<string, readonly HistoryEvent[]>({ max: 1_000 });
  file.onUndone(() => {
    records.clear();
    seen.clear();
    requests.clear();
    results.clear();
    histories.clear();
  });

  const placeholders = (count: number) => Array.from({ length: count }, () => '?').join(', ');
  const selectRecord = connection.prepare(
    `select ${RECORD_COLUMNS.join(', ')} from call_records where correlation_id = ?`,
  );
  const insertRecord = connection.prepare(
    `insert into call_records (${INSERT_COLUMNS.join(', ')}) values (${placeholders(INSERT_COLUMNS.length)})
       on conflict (correlation_id) do nothing`,
  );
  const moveRecord = connection.prepare(
    `update call_records set state = ?, updated_ms = ?, rows_due_ms = ?, version = ?, mac = ?,
       ${MOVED_COLUMNS.map((column) => `${column} = coalesce(?, ${column})`).join(', ')}
     where correlation_id = ? and state = ? and version = ?`,
  );
  const takeBackRecord = connection.prepare("delete from call_records where correlation_id = ? and state = 'decided'");
  const condemnRecord = connection.prepare(
    `update call_records set ${CONDEMNED_COLUMNS.map((column) => `${column} = ?`).join(', ')} where correlation_id = ?`,
  );
  const selectTombstone = connection.prepare('select digest from call_tombstones where correlation_id = ?');
  const selectRequest = connection.prepare('select sealed from call_requests where correlation_id = ?');
  const stageRequest = connection.prepare(
    `insert into call_requests (correlation_id, tenant, agent, digest, sealed, created_ms) values (?, ?, ?, ?, ?, ?)
       on conflict (correlation_id) do update set created_ms = excluded.created_ms returning digest`,
  );
  const selectResult = connection.prepare('select result_sealed from call_records where correlation_id = ?');
  const selectHistory = connection.prepare(
    `select tool, sibling_tools, counted_ms from call_records where tenant = ? and agent = ? and counted_ms is not null
       order by counted_ms desc limit ${HISTORY_LENGTH}`,
  );
  const selectSensitive = connection.prepare(
    `select tool, at_ms from sensitive_steps where tenant = ? and agent = ? and at_ms > ? order by at_ms desc limit ${HISTORY_LENGTH}`,
  );
  const keepSensitive = connection.prepare(
    `insert into sensitive_steps (tenant, agent, tool, at_ms) values (?, ?, ?, ?)
       on conflict (tenant, agent, tool) do update set at_ms = excluded.at_ms`,
  );
  const countHits = connection.prepare('select count(*) as count from rate_hits where key = ? and at_ms > ?');
  const selectHit = connection.prepare(
    'select at_ms from rate_hits where key = ? and at_ms > ? order by at_ms limit 1 offset ?',
  );
  const dropHits = connection.prepare('delete from rate_hits where key = ? and at_ms > ?');
  const insertHit = connection.prepare('insert into rate_hits (key, at_ms, correlation_id) values (?, ?, ?)');
  const clearDue = connection.prepare(
    'update call_records set rows_due_ms = null where correlation_id = ? and updated_ms = ? and rows_due_ms is not null',
  );
  const oldestDue = connection.prepare(
    `select min(rows_due_ms) as oldest from call_records where rows_due_ms is not null and not exists
       (select 1 from call_setbacks s where s.correlation_id = call_records.correlation_id and s.duty = 'rows')`,
  );
  const dueBy = (column: string) =>
    connection.prepare(
      `select correlation_id, ${column} as due_ms from call_records
        where ${column} < ? and (${column}, correlation_id) > (?, ?) order by ${column}, correlation_id limit ?`,
    );
  const selectDue = {
    rows: dueBy('rows_due_ms'),
    review: dueBy(FOLLOW_UP_COLUMN.review),
    callback: dueBy(FOLLOW_UP_COLUMN.callback),
  };
  const clearing = (column: string) =>
    connection.prepare(`update call_records set ${column} = null where correlation_id = ? and ${column} is not null`);
  const clearFollowUp = {
    review: clearing(FOLLOW_UP_COLUMN.review),
    callback: clearing(FOLLOW_UP_COLUMN.callback),
  };
  const selectOpen = connection.prepare(
    `select correlation_id, state, deadline_ms, updated_ms from call_records
      where state in (${OPEN_STATES.map((state) => `'${state}'`).join(', ')}) and updated_ms < ?
        and (contract = 'gate.server-execution/v1' or state in ('decided', 'parked'))
        and (updated_ms, correlation_id) > (?, ?) order by updated_ms, correlation_id limit ?`,
  );

  const hold = (held: Held): Held => {
    const { correlation_id: id, version } = held.record;
    records.set(id, held);
    seen.set(id, Math.max(version, seen.get(id) ?? 0));
    return held;
  };
  /** Only after the read that found it is over, because listeners read the record themselves. */
  const tell = (record: CallRecord): void => {
    setImmediate(() => {
      for (const listener of listeners) listener(record);
    });
  };
  /** Closes the record of a row that does not hold; `told` of it is whoever appends its alarm. */
  const close = (row: RecordRow, why: string): Held => {
    const closed = sealing.condemned(row, why, now(), seen.get(row.correlation_id));
    file.apply(() => condemnRecord.run(...CONDEMNED_COLUMNS.map((column) => closed[column]), row.correlation_id));
    const again = sealing.read(closed);
    if (again.fault !== undefined) throw new Error(again.fault);
    requests.forget(row.correlation_id);
    results.delete(row.correlation_id);
    hold(again);
    tell(again.record);
    return again;
  };
  /** What the ledger says against a record that is looked at for the first time: one that this process made is kept opened or was seen. */
  const putBack = (record: CallRecord): string | null => {
    if (!ledger || seen.has(record.correlation_id)) return null;
    return contradictionOf(record, new Set(idsAgainst(record).filter((id) => ledger.holds(id))));
  };
  const rowOf = (correlationId: string) => selectRecord.get(correlationId) as RecordRow | undefined;
  const held = (correlationId: string): Held | null => {
    const known = records.get(correlationId);
    if (known) return known;
    const row = rowOf(correlationId);
    if (!row) return null;
    const read = sealing.read(row, seen.get(correlationId));
    if (read.fault !== undefined) return close(row, read.fault);
    const why = putBack(read.record);
    return why === null ? hold(read) : close(row, why);
  };
  const look = (correlationId: string): CallRecord | null => held(correlationId)?.record ?? null;
  const find = async (correlationId: string) => look(correlationId);
  const notifier = createRecordNotifier(find);
  const keep = (made: Held): CallRecord => {
    notifier.changed(hold(made).record);
    return made.record;
  };
  const condemn = (correlationId: string, why: string, version?: number): CallRecord | null => {
    const row = rowOf(correlationId);
    if (!row) return null;
    records.delete(correlationId);
    const stands = held(correlationId)?.record ?? null;
    const moved = version !== undefined && stands?.version !== version;
    return stands && !moved && stands.state !== TAMPERED ? keep(close(row, why)) : stands;
  };
  const agentKey = (tenant: string, agent: string) => `${tenant}/${agent}`;
  /** A call was counted: the kept history gets its steps too, unless they belong before the newest one. */
  const countSteps = ({ call, sibling_tools: siblings }: CallRecord['evidence'], countedMs: number): void => {
    const { tenant, agent, tool } = call;
    const key = agentKey(tenant, agent);
    const kept = histories.get(key);
    if (!kept) return;
    if ((kept.at(-1)?.ts_ms ?? 0) > countedMs) histories.delete(key);
    else histories.set(key, [...kept, ...stepsOf(tool, siblings, countedMs, replica)].slice(-HISTORY_LENGTH));
  };

  const keepSensitiveSteps = ({ call, decision }: CallRecord['evidence'], atMs: number): void => {
    for (const tool of decision?.sensitive_tools ?? []) keepSensitive.run(call.tenant, call.agent, tool, atMs);
  };

  const hitMarker = (key: string, atMs: number, since: number): boolean => {
    const marker = `refused:${key}`;
    if (Number((countHits.get(marker, since) as { count: number }).count) > 0) return false;
    insertHit.run(marker, atMs, '');
    return true;
  };

  return {
    setbacks: setbacksOver(file.store<SetbackTables>()),

    async admit(call, request, { limit, windowMs }) {
      const key = agentKey(call.tenant, call.agent);
      const atMs = call.received_ms;
      const since = atMs - windowMs;
      return file.apply((): Admission => {
        const purged = selectTombstone.get(call.correlation_id) as { digest: string } | undefined;
        if (purged) return { admitted: false, purged: true, digest: purged.digest };
        let recent = 0;
        if (limit > 0) {
          // Hits from before the clock was set back would count for as long as it was set back.
          dropHits.run(key, atMs + windowMs);
          const { count } = countHits.get(key, since) as { count: number };
          const weight = callCount(call.method, request.body);
          recent = count + weight;
          if (recent > limit) {
            const inTheWay = selectHit.get(key, since, recent - limit - 1) as { at_ms: number } | undefined;
            const retryAfterSecs = secondsUntilGone(inTheWay?.at_ms, windowMs, atMs);
            return { admitted: false, retryAfterSecs, first: hitMarker(key, atMs, since) };
          }
          for (let hit = 0; hit < weight; hit += 1) insertHit.run(key, atMs, call.correlation_id);
        }
        const sealed = sealing.sealRequest(request, call.correlation_id, call.digest);
        const { digest } = stageRequest.get(
          call.correlation_id,
          call.tenant,
          call.agent,
          call.digest,
          sealed,
          atMs,
        ) as { digest: string };
        if (digest === call.digest) requests.keep(call.correlation_id, digest, request, sealed.byteLength);
        return { admitted: true, recent, digest };
      });
    },

    async request(correlationId, digest) {
      const known = requests.get(correlationId, digest);
      if (known) return known;
      const row = selectRequest.get(correlationId) as { sealed: Uint8Array } | undefined;
      if (!row) return null;
      const request = sealing.openRequest(row.sealed, correlationId, digest);
      if (request instanceof NotAsStaged) return request;
      requests.keep(correlationId, digest, request, row.sealed.byteLength);
      return request;
    },

    find,

    async commitVerdict(state, evidence, outcome) {
      const { call } = evidence;
      const row = sealing.newRecord(state, evidence, outcome, now());
      const { changes } = file.apply(() => {
        const inserted = insertRecord.run(...INSERT_COLUMNS.map((column) => row[column]));
        if (Number(inserted.changes) === 1 && row.counted_ms !== null) keepSensitiveSteps(evidence, row.counted_ms);
        return inserted;
      });
      if (Number(changes) === 0) return look(call.correlation_id) as CallRecord;
      if (row.counted_ms !== null) countSteps(evidence, row.counted_ms);
      const made = keep({
        authenticated: authenticatedOf(row),
        record: {
          correlation_id: call.correlation_id,
          version: 1,
          state,
          digest: call.digest,
          tier: row.tier,
          approval_tier: row.approval_tier,
          pending_id: null,
          deadline_ms: null,
          not_after_ms: call.not_after_ms,
          created_ms: row.created_ms,
          updated_ms: row.updated_ms,
          evidence,
          decision: null,
          outcome: outcome ?? null,
        },
      });
      if (state === TAMPERED) tell(made);
      return made;
    },

    async move(correlationId, move, patch = {}) {
      const known = held(correlationId);
      if (!known) throw new Error(`no call record ${correlationId}`);
      const { record } = known;
      if (patch.version !== undefined && record.version < patch.version && record.state !== TAMPERED) {
        const why = `an older record was put back: version ${record.version}, the call had reached ${patch.version}`;
        return { applied: false, record: condemn(correlationId, why) ?? record };
      }
      const updated = sealing.moved(known.authenticated, move, patch, now());
      if (!updated) return { applied: false, record };
      const { changes } = file.apply(() => {
        const moved = moveRecord.run(
          updated.state,
          updated.updated_ms,
          updated.rows_due_ms,
          updated.version,
          updated.mac,
          ...MOVED_COLUMNS.map((column) => updated[column] ?? null),
          correlationId,
          record.state,
          record.version,
        );
        if (Number(moved.changes) === 1 && patch.counted_ms !== undefined)
          keepSensitiveSteps(record.evidence, patch.counted_ms);
        return moved;
      });
      if (Number(changes) !== 1) {
        // Somebody else writes this file after all, so what memory holds cannot be trusted.
        records.delete(correlationId);
        return { applied: false, record: look(correlationId) ?? record };
      }
      if (patch.counted_ms !== undefined) countSteps(record.evidence, patch.counted_ms);
      if (patch.result) results.set(correlationId, Buffer.from(patch.result));
      return {
        applied: true,
        record: keep({
          record: recordAfter(record, updated, patch),
          authenticated: withChanges(known.authenticated, updated),
        }),
      };
    },

    async takeBack(correlationId) {
      file.apply(() => takeBackRecord.run(correlationId));
      records.delete(correlationId);
    },

    async result(correlationId) {
      const known = results.get(correlationId);
      if (known) return known;
      const record = look(correlationId);
      if (!record) return null;
      const row = selectResult.get(correlationId) as { result_sealed: Uint8Array | null } | undefined;
      const result = sealing.resultOf(record, row?.result_sealed ?? null);
      if (result.fault === undefined) return result.bytes;
      condemn(correlationId, result.fault);
      throw new GateError('call_tampered');
    },

    condemn: async (...asked) => condemn(...asked),

    onTampered: (listener) => void listeners.push(listener),

    async history(tenant, agent, sinceMs) {
      const key = agentKey(tenant, agent);
      let events = histories.get(key);
      if (!events) {
        events = newestSteps(
          selectHistory.all(tenant, agent) as unknown as Pick<StoredRecord, 'tool' | 'sibling_tools' | 'counted_ms'>[],
          replica,
        );
        histories.set(key, events);
      }
      const recent = events.filter(({ ts_ms }) => ts_ms > sinceMs);
      return historyOf(recent, selectSensitive.all(tenant, agent, sinceMs) as unknown as SensitiveStep[], replica);
    },

    async rowsAppended(correlationId, updatedMs) {
      file.apply(() => clearDue.run(correlationId, updatedMs));
    },

    async oldestRowsDueMs() {
      const { oldest } = oldestDue.get() as { oldest: number | null };
      return oldest === null ? null : Number(oldest);
    },

    openCalls: (untouchedSinceMs, limit, after = WALK_START) =>
      walkOpen(
        ({ ms, id }) => selectOpen.all(untouchedSinceMs, ms, id, limit) as unknown as OpenCall[],
        find,
        limit,
        after,
      ),

    async rowsDue(sinceMs, limit, { ms, id } = WALK_START) {
      return (selectDue.rows.all(sinceMs, ms, id, limit) as unknown as DueCall[]).map((row) => ({ ...row }));
    },

    async followUpsDue(what, sinceMs, limit, { ms, id } = WALK_START) {
      return (selectDue[what].all(sinceMs, ms, id, limit) as unknown as DueCall[]).map((row) => ({ ...row }));
    },

    async followedUp(correlationId, what) {
      file.apply(() => clearFollowUp[what].run(correlationId));
    },

    async purge({ hitsMs, stagedMs, recordsMs }) {
      records.clear();
      requests.clear();
      results.clear();
      return file.apply(() => {
        const past = `from call_records where updated_ms < ? and rows_due_ms is null
          and state not in ('decided', 'parked', 'intended')`;
        connection
          .prepare(
            `insert into call_tombstones (correlation_id, digest, purged_ms) select correlation_id, digest, ? ${past}
               on conflict (correlation_id) do nothing`,
          )
          .run(now(), recordsMs);
        const removed = [
          connection.prepare('delete from rate_hits where at_ms < ?').run(hitsMs),
          connection.prepare('delete from sensitive_steps where at_ms < ?').run(recordsMs),
          connection.prepare(`delete ${past}`).run(recordsMs),
          connection.prepare('delete from call_tombstones where purged_ms < ?').run(tombstonesUntil(recordsMs, now())),
          connection
            .prepare(
              `delete from call_requests where created_ms < ?
                 and correlation_id not in (select correlation_id from call_records)`,
            )
            .run(stagedMs),
        ];
        return removed.reduce((sum, { changes }) => sum + Number(changes), 0);
      });
    },

    waitFor: (correlationId, condition, deadlineMs) => notifier.waitFor(correlationId, condition, deadlineMs),

    async ready() {
      await assertWritable(file.connection);
      file.apply(() => undefined);
    },

    async close() {
      notifier.close();
      await file.durable().catch(() => undefined);
    },
  };
}
