import { sql, type Kysely } from 'kysely';
import { LRUCache } from 'lru-cache';
import { callMigrations } from '../../migrations/calls.js';
import type { CallInput, CallState } from '../../contracts/call.js';
import { type AgentHistory, HISTORY_LENGTH } from '../../contracts/policy.js';
import type { HeldRows } from '../../contracts/ledger.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { createGroupWriter } from '../store/group-writer.js';
import { assertWritable } from '../store/writable.js';
import { callCount } from '../mcp/batch.js';
import { GateError } from '../errors.js';
import { askedAtOnce, contradictionOf, idsAgainst } from './contradiction.js';
import { keptRequests } from './kept-requests.js';
import { createRecordNotifier } from './notifier.js';
import { sealCalls } from './seal-calls.js';
import {
  type CallRecord,
  NotAsStaged,
  type RecordedDecision,
  type RecordedOutcome,
  type StagedRequest,
  type VerdictEvidence,
} from './record.js';
import { type Setbacks, type SetbackTables, setbacksOver } from './setbacks.js';
import {
  type FirstState,
  historyOf,
  newestSteps,
  type ReadRecord,
  RECORD_COLUMNS,
  recordAfter,
  recordSealing,
  type RecordRow,
  type StoredRecord,
} from './sealed-record.js';
import { CALL_MOVES, type CallMove, OPEN_STATES, TAMPERED } from './transitions.js';

export interface CallTables extends SetbackTables {
  call_requests: {
    correlation_id: string;
    tenant: string;
    agent: string;
    digest: string;
    sealed: Uint8Array;
    created_ms: number;
  };
  call_records: StoredRecord;
  call_seal: { id: number; mac: string };
  call_tombstones: { correlation_id: string; digest: string; purged_ms: number };
  rate_hits: { key: string; at_ms: number; correlation_id: string };
  sensitive_steps: { tenant: string; agent: string; tool: string; at_ms: number };
}

export type Admission =
  /** `digest` binds the request that is staged under this id; if it is not the caller's, that is a conflict. */
  | { readonly admitted: true; readonly recent: number; readonly digest: string }
  | { readonly admitted: false; readonly retryAfterSecs: number; readonly first: boolean }
  /** The id was used before and its record has been purged; `digest` is what it was bound to. */
  | { readonly admitted: false; readonly purged: true; readonly digest: string };

/** A move that was tried: `applied` says whether this attempt made it; `record` is what stands now. */
export interface Moved {
  readonly applied: boolean;
  readonly record: CallRecord;
}

export interface MovePatch {
  readonly pending_id?: string;
  readonly deadline_ms?: number;
  /** The evidence, with what was added when the call was parked. */
  readonly evidence?: VerdictEvidence;
  readonly decision?: RecordedDecision;
  readonly outcome?: RecordedOutcome;
  /** The retained answer, sealed at rest. */
  readonly result?: Uint8Array;
  /** The call counts in its agent's history from this moment (docs/architecture/record-and-claim.md#agent-history). */
  readonly counted_ms?: number;
  /** Only before this moment; later the move is not made. */
  readonly before_ms?: number;
  /** The caller asked to be told how its review ended. */
  readonly callback?: boolean;
  /** The version that the host has seen of this record. An older one was put back by somebody and is closed as tampered. */
  readonly version?: number;
}

/** What is still to be done when a review has ended: settle its row in HIL, tell the caller. */
export type FollowUp = 'review' | 'callback';
export const FOLLOW_UP_COLUMN = { review: 'review_due_ms', callback: 'callback_due_ms' } as const;

/** The position of a walk over calls: behind the last call it looked at, in the walk's order. */
export interface WalkPlace {
  readonly ms: number;
  readonly id: string;
}
export const WALK_START: WalkPlace = { ms: -1, id: '' };

/** A call with a duty still to be done, and since when. */
export interface DueCall {
  readonly correlation_id: string;
  readonly due_ms: number;
}

/** An open call that has not moved for a while, as reconciliation sees it. */
export interface OpenCall {
  readonly correlation_id: string;
  readonly state: CallState;
  readonly deadline_ms: number | null;
  readonly updated_ms: number;
}

/**
 * The proxy's store (docs/architecture/record-and-claim.md): one fsynced record per call, unique by correlation id, every move a
 * compare-and-set; the request staged before the workflow starts; the retained result. Survives engine retention, reset and restore.
 *
 * Editing the store must not decide anything. Every record that is read from it, by any method, was written by Gate and is not older than
 * what this process has seen; of an open record that was not made here just now the ledger has no later row either. Any other record is
 * closed as `tampered` when it is read, and returned in that state.
 */
export interface CallStore {
  /**
   * Counts the call in its agent's sliding window, each call of a batch by itself, and stages its request, in one transaction. Refuses
   * what goes over the limit (`limit` 0 = unlimited), a batch as a whole, and then counts nothing of it; `retryAfterSecs` is when enough
   * has left the window. `first` is true for the first refusal of the window. Staging the same id again changes nothing.
   */
  admit(call: CallInput, request: StagedRequest, window: { limit: number; windowMs: number }): Promise<Admission>;
  /** The staged request, `null` where there is none, or why the stored bytes are not that request. */
  request(correlationId: string, digest: string): Promise<StagedRequest | NotAsStaged | null>;
  find(correlationId: string): Promise<CallRecord | null>;
  /** Inserts the verdict or returns the record that is there: the first verdict stands. */
  commitVerdict(state: FirstState, evidence: VerdictEvidence, outcome?: RecordedOutcome): Promise<CallRecord>;
  move(correlationId: string, move: CallMove, patch?: MovePatch): Promise<Moved>;
  /** Removes a record that is still `decided`: nothing followed from its verdict, and the same id may start again. Any other stays. */
  takeBack(correlationId: string): Promise<void>;
  /** The retained answer; `null` when there is none. Throws `call_tampered`, and closes the record, when it is not the one of the outcome. */
  result(correlationId: string): Promise<Buffer | null>;
  /**
   * Closes a record as tampered because another store contradicts it, which this store cannot see itself. With `version`, only if the
   * record still has that version. Returns the record that stands then; `null` when there is none.
   */
  condemn(correlationId: string, why: string, version?: number): Promise<CallRecord | null>;
  /** The listener gets each record that was just closed as tampered, so that its alarm row is appended. */
  onTampered(listener: (record: CallRecord) => void): void;
  /**
   * Steps of this agent that succeeded within the window, oldest first, at most 16; each call of a batch is one. Beside them, however
   * many steps came since, the newest of each sensitive tool.
   */
  history(tenant: string, agent: string, sinceMs: number): Promise<AgentHistory>;
  /** Every row of the record is in the ledger, as of the given `updated_ms`. A later move makes rows due again. */
  rowsAppended(correlationId: string, updatedMs: number): Promise<void>;
  /** What reconciliation could not do, by call and duty. */
  readonly setbacks: Setbacks;
  /** Since when the oldest record waits for its rows, or `null`. Records whose rows had a setback have their own alarm and are left out. */
  oldestRowsDueMs(): Promise<number | null>;
  /**
   * Calls without an end that did not move since the moment, oldest first; `after` goes on behind a call that was returned. Each was looked
   * at: what does not hold is closed and left out, and keeps no other from being found. One whose key is missing comes as its row has it.
   */
  openCalls(untouchedSinceMs: number, limit: number, after?: WalkPlace): Promise<OpenCall[]>;
  /** Records whose rows are due since before the moment. */
  rowsDue(sinceMs: number, limit: number, after?: WalkPlace): Promise<DueCall[]>;
  /** Records whose review ended before the moment and that still owe its row, or its callback. */
  followUpsDue(what: FollowUp, sinceMs: number, limit: number, after?: WalkPlace): Promise<DueCall[]>;
  followedUp(correlationId: string, what: FollowUp): Promise<void>;
  /**
   * Removes hits outside every window, staged requests that never got a record, and records past retention; returns how many rows went. Of
   * each record its id and digest stay for `TOMBSTONE_LIVES` times as long, so that the id does not execute again.
   */
  purge(before: { hitsMs: number; stagedMs: number; recordsMs: number }): Promise<number>;
  /** Resolves with the record when it satisfies the condition, or with what stands at the deadline. */
  waitFor(
    correlationId: string,
    condition: (record: CallRecord) => boolean,
    deadlineMs: number,
  ): Promise<CallRecord | null>;
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface CallStoreOptions {
  readonly target: StoreTarget;
  readonly keys: KeyRing;
  readonly now?: () => number;
  /** This deployment's name for the replica that wrote a history event. */
  readonly replica?: string;
  /** The ledger, whose rows show that an older record was put back. Without it only a process that saw the newer record notices. */
  readonly ledger?: HeldRows | undefined;
}

/** Behind a place of a walk, in its order. */
const behind = (column: string, { ms, id }: WalkPlace) =>
  sql<boolean>`(${sql.ref(column)}, correlation_id) > (${sql.lit(ms)}, ${id})`;

/** Seconds until the hit that is in the way leaves the window; a whole window where waiting for hits would not help. */
export const secondsUntilGone = (hitMs: number | undefined, windowMs: number, atMs: number): number =>
  Math.max(1, Math.ceil(((hitMs ?? atMs) + windowMs - atMs) / 1000));

/** A purged call is remembered for twelve times its record's retention: a year where records live thirty days. */
export const TOMBSTONE_LIVES = 12;
/** Up to when tombstones may go, from the moment up to which records go. */
export const tombstonesUntil = (recordsMs: number, nowMs: number): number =>
  Math.min(recordsMs, nowMs) - TOMBSTONE_LIVES * Math.max(0, nowMs - recordsMs);
/** Versions remembered per process. */
export const SEEN_RECORDS = 50_000;
/** How long the ledger's answer about an open call holds before it is asked again. */
const VOUCHED_MS = 60_000;

/** Reads on until as many valid open calls were found as asked for, so that an invalid one does not end a walk. */
export async function walkOpen(
  page: (after: WalkPlace) => Promise<readonly OpenCall[]> | readonly OpenCall[],
  find: (correlationId: string) => Promise<CallRecord | null>,
  limit: number,
  from: WalkPlace,
): Promise<OpenCall[]> {
  const open: OpenCall[] = [];
  for (let after = from; open.length < limit; ) {
    const rows = await page(after);
    for (const row of rows) {
      const { correlation_id, state, deadline_ms, updated_ms } = await find(row.correlation_id).then(
        (record) => record ?? row,
        // Its key is missing: reconciliation reports that, and other calls go on.
        () => row,
      );
      after = { ms: Number(row.updated_ms), id: correlation_id };
      if (!(OPEN_STATES as readonly CallState[]).includes(state) || open.length === limit) continue;
      const deadlineMs = deadline_ms === null ? null : Number(deadline_ms);
      open.push({ correlation_id, state, deadline_ms: deadlineMs, updated_ms: Number(updated_ms) });
    }
    if (rows.length < limit) break;
  }
  return open;
}

export async function openCallStore({ target, ...options }: CallStoreOptions): Promise<CallStore> {
  const store = await openStore<CallTables>(target, callMigrations);
  try {
    await sealCalls(store, options.keys, options.now);
  } catch (error) {
    await store.close();
    throw error;
  }
  return callStoreOver(store, options);
}

/** The call records over a store that is open and migrated. Takes the store over: `close` closes it. */
export function callStoreOver(
  store: Store<CallTables>,
  { keys, now = Date.now, replica = 'gate-0', ledger }: Omit<CallStoreOptions, 'target'>,
): CallStore {
  const { db } = store;
  const writer = createGroupWriter(store);
  const sealing = recordSealing(keys);
  const seen = new LRUCache<string, number>({ max: SEEN_RECORDS });
  /** Calls that began here, or about which the ledger was asked, a moment ago. Not for longer: another replica may move them too. */
  const vouched = new LRUCache<string, true>({ max: SEEN_RECORDS, ttl: VOUCHED_MS });
  const asked = ledger && askedAtOnce(ledger);
  const requests = keptRequests();
  const listeners: ((record: CallRecord) => void)[] = [];

  const select = (connection: Kysely<CallTables>, correlationId: string) =>
    connection
      .selectFrom('call_records')
      .select(RECORD_COLUMNS)
      .where('correlation_id', '=', correlationId)
      .executeTakeFirst();
  /** Only committed versions are remembered; one that was rolled back never existed. */
  const remember = (record: CallRecord): CallRecord => {
    seen.set(record.correlation_id, Math.max(record.version, seen.get(record.correlation_id) ?? 0));
    return record;
  };
  const read = (row: RecordRow): ReadRecord => sealing.read(row, seen.get(row.correlation_id));

  /** Closes the row in this transaction; listeners are told by `told` after the commit. */
  async function close(transaction: Kysely<CallTables>, row: RecordRow, why: string): Promise<CallRecord> {
    const closed = sealing.condemned(row, why, now(), seen.get(row.correlation_id));
    await transaction
      .updateTable('call_records')
      .set(closed)
      .where('correlation_id', '=', row.correlation_id)
      .execute();
    const again = sealing.read(closed);
    if (again.fault !== undefined) throw new Error(again.fault);
    return again.record;
  }
  const told = (record: CallRecord): CallRecord => {
    remember(record);
    requests.forget(record.correlation_id);
    for (const listener of listeners) listener(record);
    notifier.changed(record);
    return record;
  };

  /** Reads the row again, with no move beside it: a read that began before a move and ended after it may have seen an older row. */
  async function closeUnlessHolds(
    correlationId: string,
    forWhy?: string,
    version?: number,
  ): Promise<CallRecord | null> {
    const looked = await writer.run(async (transaction) => {
      const row = await select(transaction, correlationId);
      if (!row) return null;
      const known = read(row);
      if (known.fault === undefined) {
        const { record } = known;
        const moved = version !== undefined && record.version !== version;
        if (forWhy === undefined || moved || record.state === TAMPERED) return { record, closed: false };
      }
      return { record: await close(transaction, row, known.fault ?? forWhy ?? ''), closed: true };
    });
    if (!looked) return null;
    return looked.closed ? told(looked.record) : remember(looked.record);
  }

  const find = async (correlationId: string): Promise<CallRecord | null> => {
    const row = await select(db, correlationId);
    if (!row) return null;
    const known = read(row);
    return known.fault === undefined ? unlessPutBack(remember(known.record)) : closeUnlessHolds(correlationId);
  };
  /** The ledger is asked of each open record that this process did not make just now. */
  async function unlessPutBack(record: CallRecord): Promise<CallRecord | null> {
    const { correlation_id: id, version } = record;
    const against = asked && !vouched.has(id) ? idsAgainst(record) : [];
    const held = asked && against.length > 0 ? await asked(against) : null;
    if (!held) return record;
    const why = contradictionOf(record, held);
    if (why !== null) return closeUnlessHolds(id, why, version);
    vouched.set(id, true);
    return record;
  }
  const notifier = createRecordNotifier(find);
  const dueCalls = async (
    column: 'rows_due_ms' | (typeof FOLLOW_UP_COLUMN)[FollowUp],
    sinceMs: number,
    limit: number,
    after: WalkPlace,
  ): Promise<DueCall[]> => {
    const rows = await db
      .selectFrom('call_records')
      .select(['correlation_id', `${column} as due_ms`])
      .where(column, '<', sinceMs)
      .where(behind(column, after))
      .orderBy(column)
      .orderBy('correlation_id')
      .limit(limit)
      .execute();
    return rows.map((row) => ({ correlation_id: row.correlation_id, due_ms: Number(row.due_ms) }));
  };

  return {
    setbacks: setbacksOver(store as unknown as Store<SetbackTables>),

    async admit(call, request, { limit, windowMs }) {
      const key = `${call.tenant}/${call.agent}`;
      const atMs = call.received_ms;
      const since = atMs - windowMs;
      const sealed = sealing.sealRequest(request, call.correlation_id, call.digest);
      const admission = await writer.run<Admission>(
        async (transaction) => {
          const purged = await transaction
            .selectFrom('call_tombstones')
            .select('digest')
            .where('correlation_id', '=', call.correlation_id)
            .executeTakeFirst();
          if (purged) return { admitted: false, purged: true, digest: purged.digest };
          if (limit > 0) {
            // Replicas on Postgres count one agent one after the other; SQLite has a single writer.
            if (store.kind === 'postgres')
              await sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(transaction);
            // Hits from before the clock was set back would count for as long as it was set back.
            await transaction
              .deleteFrom('rate_hits')
              .where('key', '=', key)
              .where('at_ms', '>', atMs + windowMs)
              .execute();
            const hits = transaction.selectFrom('rate_hits').where('key', '=', key).where('at_ms', '>', since);
            const counted = await hits.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
            const weight = callCount(call.method, request.body);
            const recent = Number(counted.count) + weight;
            if (recent > limit) {
              const inTheWay = await hits
                .select('at_ms')
                .orderBy('at_ms')
                .limit(1)
                .offset(recent - limit - 1)
                .executeTakeFirst();
              const retryAfterSecs = secondsUntilGone(inTheWay && Number(inTheWay.at_ms), windowMs, atMs);
              return { admitted: false, retryAfterSecs, first: await markRefused(transaction, key, atMs, since) };
            }
            const hit = { key, at_ms: atMs, correlation_id: call.correlation_id };
            await transaction
              .insertInto('rate_hits')
              .values(Array.from({ length: weight }, () => hit))
              .execute();
            return { admitted: true, recent, digest: await stage(transaction, call, sealed) };
          }
          return { admitted: true, recent: 0, digest: await stage(transaction, call, sealed) };
        },
        // The commit of the verdict, later on the same log, makes the staged request durable with it.
        { durable: false },
      );
      if (admission.admitted && admission.digest === call.digest)
        requests.keep(call.correlation_id, call.digest, request, sealed.byteLength);
      return admission;
    },

    async request(correlationId, digest) {
      const known = requests.get(correlationId, digest);
      if (known) return known;
      const row = await db
        .selectFrom('call_requests')
        .select('sealed')
        .where('correlation_id', '=', correlationId)
        .executeTakeFirst();
      if (!row) return null;
      const request = sealing.openRequest(row.sealed, correlationId, digest);
      if (!(request instanceof NotAsStaged)) requests.keep(correlationId, digest, request, row.sealed.byteLength);
      return request;
    },

    find,

    async commitVerdict(state, evidence, outcome) {
      const { call } = evidence;
      const row = sealing.newRecord(state, evidence, outcome, now());
      const inserted = () =>
        writer.run(async (transaction) => {
          const first = await transaction
            .insertInto('call_records')
            .values(row)
            .onConflict((conflict) => conflict.column('correlation_id').doNothing())
            .returning('correlation_id')
            .executeTakeFirst();
          if (first && row.counted_ms !== null) await keepSensitive(transaction, evidence, row.counted_ms);
          return first !== undefined;
        });
      while (!(await inserted())) {
        const first = await find(call.correlation_id);
        if (first) return first;
        // What was in the way was taken back before it was found: the place is free.
      }
      const mine = sealing.read(row);
      if (mine.fault !== undefined) throw new Error(mine.fault);
      vouched.set(call.correlation_id, true);
      if (state === TAMPERED) return told(mine.record);
      notifier.changed(remember(mine.record));
      return mine.record;
    },

    async move(correlationId, move, patch = {}) {
      if (asked && !vouched.has(correlationId)) await find(correlationId);
      const moved = await writer.run(async (transaction) => {
        const row = await select(transaction, correlationId);
        if (!row) return null;
        const known = sealing.read(row, Math.max(seen.get(correlationId) ?? 0, patch.version ?? 0));
        if (known.fault !== undefined)
          return { applied: false, closed: true, record: await close(transaction, row, known.fault) };
        const updated = sealing.moved(known.authenticated, move, patch, now());
        if (updated === null) return { applied: false, closed: false, record: known.record };
        const changed = await transaction
          .updateTable('call_records')
          .set(updated)
          .where('correlation_id', '=', correlationId)
          .where('state', 'in', [...CALL_MOVES[move].from])
          .where('version', '=', known.record.version)
          .executeTakeFirst();
        // On Postgres another replica may have moved the row between the look and the update.
        if (changed.numUpdatedRows !== 1n) return { applied: false, closed: false, record: null };
        if (patch.counted_ms !== undefined) await keepSensitive(transaction, known.record.evidence, patch.counted_ms);
        return { applied: true, closed: false, record: recordAfter(known.record, updated, patch) };
      });
      if (!moved) throw new Error(`no call record ${correlationId}`);
      if (moved.closed && moved.record) return { applied: false, record: told(moved.record) };
      const record = moved.record ?? (await find(correlationId));
      if (!record) throw new Error(`no call record ${correlationId}`);
      notifier.changed(remember(record));
      return { applied: moved.applied, record };
    },

    async takeBack(correlationId) {
      await writer.run((transaction) =>
        transaction
          .deleteFrom('call_records')
          .where('correlation_id', '=', correlationId)
          .where('state', '=', 'decided')
          .execute(),
      );
    },

    condemn: closeUnlessHolds,

    onTampered: (listener) => void listeners.push(listener),

    async result(correlationId) {
      const record = await find(correlationId);
      if (!record) return null;
      const row = await db
        .selectFrom('call_records')
        .select('result_sealed')
        .where('correlation_id', '=', correlationId)
        .executeTakeFirst();
      const result = sealing.resultOf(record, row?.result_sealed ?? null);
      if (result.fault === undefined) return result.bytes;
      await closeUnlessHolds(correlationId, result.fault);
      throw new GateError('call_tampered');
    },

    async history(tenant, agent, sinceMs) {
      const rows = await db
        .selectFrom('call_records')
        .select(['tool', 'sibling_tools', 'counted_ms'])
        .where('tenant', '=', tenant)
        .where('agent', '=', agent)
        .where('counted_ms', '>', sinceMs)
        .orderBy('counted_ms', 'desc')
        .limit(HISTORY_LENGTH)
        .execute();
      const sensitive = await db
        .selectFrom('sensitive_steps')
        .select(['tool', 'at_ms'])
        .where('tenant', '=', tenant)
        .where('agent', '=', agent)
        .where('at_ms', '>', sinceMs)
        .orderBy('at_ms', 'desc')
        .limit(HISTORY_LENGTH)
        .execute();
      return historyOf(newestSteps(rows, replica), sensitive, replica);
    },

    async rowsAppended(correlationId, updatedMs) {
      await writer.run(
        (transaction) =>
          transaction
            .updateTable('call_records')
            .set({ rows_due_ms: null })
            .where('correlation_id', '=', correlationId)
            .where('updated_ms', '=', updatedMs)
            .execute(),
        { durable: false },
      );
    },

    async oldestRowsDueMs() {
      const row = await db
        .selectFrom('call_records')
        .select(({ fn }) => fn.min('rows_due_ms').as('oldest'))
        .where('rows_due_ms', 'is not', null)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('call_setbacks')
                .select('duty')
                .whereRef('call_setbacks.correlation_id', '=', 'call_records.correlation_id')
                .where('duty', '=', 'rows'),
            ),
          ),
        )
        .executeTakeFirstOrThrow();
      return row.oldest === null ? null : Number(row.oldest);
    },

    openCalls: (untouchedSinceMs, limit, from = WALK_START) =>
      walkOpen(
        (after) =>
          db
            .selectFrom('call_records')
            .select(['correlation_id', 'state', 'deadline_ms', 'updated_ms'])
            .where('state', 'in', OPEN_STATES)
            .where('updated_ms', '<', untouchedSinceMs)
            .where((where) =>
              where.or([
                where('contract', '=', 'gate.server-execution/v1'),
                where('state', 'in', ['decided', 'parked']),
              ]),
            )
            .where(behind('updated_ms', after))
            .orderBy('updated_ms')
            .orderBy('correlation_id')
            .limit(limit)
            .execute(),
        find,
        limit,
        from,
      ),

    rowsDue: (sinceMs, limit, after = WALK_START) => dueCalls('rows_due_ms', sinceMs, limit, after),

    followUpsDue: (what, sinceMs, limit, after = WALK_START) => dueCalls(FOLLOW_UP_COLUMN[what], sinceMs, limit, after),

    async followedUp(correlationId, what) {
      await writer.run(
        (transaction) =>
          transaction
            .updateTable('call_records')
            .set({ [FOLLOW_UP_COLUMN[what]]: null })
            .where('correlation_id', '=', correlationId)
            .execute(),
        // If this is lost, the duty is done once more; both are safe to repeat.
        { durable: false },
      );
    },

    async purge({ hitsMs, stagedMs, recordsMs }) {
      requests.clear();
      const removed = await writer.run(async (transaction) => {
        const past = transaction
          .selectFrom('call_records')
          .where('updated_ms', '<', recordsMs)
          .where('rows_due_ms', 'is', null)
          .where('state', 'not in', ['decided', 'parked', 'intended']);
        await transaction
          .insertInto('call_tombstones')
          .columns(['correlation_id', 'digest', 'purged_ms'])
          .expression(past.select(['correlation_id', 'digest', sql<number>`${now()}`.as('purged_ms')]))
          .onConflict((conflict) => conflict.column('correlation_id').doNothing())
          .execute();
        return [
          await transaction.deleteFrom('rate_hits').where('at_ms', '<', hitsMs).executeTakeFirst(),
          await transaction.deleteFrom('sensitive_steps').where('at_ms', '<', recordsMs).executeTakeFirst(),
          await transaction
            .deleteFrom('call_records')
            .where('correlation_id', 'in', past.select('correlation_id'))
            .executeTakeFirst(),
          await transaction
            .deleteFrom('call_requests')
            .where('created_ms', '<', stagedMs)
            .where('correlation_id', 'not in', transaction.selectFrom('call_records').select('correlation_id'))
            .executeTakeFirst(),
          await transaction
            .deleteFrom('call_tombstones')
            .where('purged_ms', '<', tombstonesUntil(recordsMs, now()))
            .executeTakeFirst(),
        ];
      });
      return removed.reduce((sum, { numDeletedRows }) => sum + Number(numDeletedRows), 0);
    },

    waitFor: (correlationId, condition, deadlineMs) => notifier.waitFor(correlationId, condition, deadlineMs),

    async ready() {
      await assertWritable(store.sqlite);
      await db.selectFrom('call_records').select('correlation_id').limit(1).execute();
    },

    async close() {
      notifier.close();
      await writer.drained();
      await store.close();
    },
  };

  async function stage(transaction: Kysely<CallTables>, call: CallInput, sealed: Buffer): Promise<string> {
    const staged = await transaction
      .insertInto('call_requests')
      .values({
        correlation_id: call.correlation_id,
        tenant: call.tenant,
        agent: call.agent,
        digest: call.digest,
        sealed,
        created_ms: call.received_ms,
      })
      .onConflict((conflict) => conflict.column('correlation_id').doUpdateSet({ created_ms: call.received_ms }))
      .returning('digest')
      .executeTakeFirstOrThrow();
    return staged.digest;
  }

  async function keepSensitive(transaction: Kysely<CallTables>, of: VerdictEvidence, at_ms: number): Promise<void> {
    const { tenant, agent } = of.call;
    for (const tool of of.decision?.sensitive_tools ?? [])
      await transaction
        .insertInto('sensitive_steps')
        .values({ tenant, agent, tool, at_ms })
        .onConflict((conflict) => conflict.columns(['tenant', 'agent', 'tool']).doUpdateSet({ at_ms }))
        .execute();
  }

  /**
   * True for the first refusal within the window: one ledger row then, not one per refusal
   * (docs/architecture/record-and-claim.md#velocity).
   */
  async function markRefused(
    transaction: Kysely<CallTables>,
    key: string,
    atMs: number,
    since: number,
  ): Promise<boolean> {
    const marker = `refused:${key}`;
    const seen = await transaction
      .selectFrom('rate_hits')
      .select('at_ms')
      .where('key', '=', marker)
      .where('at_ms', '>', since)
      .executeTakeFirst();
    if (seen) return false;
    await transaction.insertInto('rate_hits').values({ key: marker, at_ms: atMs, correlation_id: '' }).execute();
    return true;
  }
}
