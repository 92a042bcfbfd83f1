import { HISTORY_LENGTH } from '../../contracts/policy.js';
import { type Statement, statement } from '../store/statement.js';
import {
  RECORD_COLUMNS,
  type RecordRow,
  type SensitiveStep,
  type StoredRecord,
} from '../../domain/call/sealed-record.js';
import { OPEN_STATES } from '../../domain/call/transitions.js';
import type { DueCall, FollowUp, OpenCall } from '../../domain/call/ports.js';

/** The statements of the call store, one text for both databases. Postgres may return counts and times as text. */

type Column = keyof StoredRecord;
const listed = (columns: readonly string[]) => columns.join(', ');
const places = (count: number) => Array.from({ length: count }, () => '?').join(', ');
const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(', ');
/** One text per shape that is asked for; there are few of them. */
function shaped<Shape, Row = never>(
  keyOf: (shape: Shape) => string | number,
  textOf: (shape: Shape) => string,
): (shape: Shape) => Statement<Row> {
  const known = new Map<string | number, Statement<Row>>();
  return (shape) => {
    const key = keyOf(shape);
    const made = known.get(key) ?? statement<Row>(textOf(shape));
    known.set(key, made);
    return made;
  };
}

export const INSERTED = [...RECORD_COLUMNS, 'result_sealed', 'upstream', 'rows_due_ms'] as const satisfies Column[];
export const CONDEMNED = [...RECORD_COLUMNS, 'upstream', 'rows_due_ms', 'review_due_ms'] as const satisfies Column[];

export const selectRecord = statement<RecordRow>(
  `select ${listed(RECORD_COLUMNS)} from call_records where correlation_id = ?`,
);
export const insertRecord = statement(
  `insert into call_records (${listed(INSERTED)}) values (${places(INSERTED.length)})
     on conflict (correlation_id) do nothing`,
);
/**
 * Its own columns, then the id, and the state, version and time of the record that it moves: somebody else may have moved the row
 * meanwhile, or taken it away and begun another one.
 */
export const moveRecord = shaped<readonly string[]>(
  (columns) => columns.join(),
  (columns) =>
    `update call_records set ${columns.map((column) => `${column} = ?`).join(', ')}
       where correlation_id = ? and state = ? and version = ? and updated_ms = ?`,
);
export const condemnRecord = statement(
  `update call_records set ${CONDEMNED.map((column) => `${column} = ?`).join(', ')} where correlation_id = ?`,
);
export const takeBackRecord = statement("delete from call_records where correlation_id = ? and state = 'decided'");
export const selectResult = statement<{ result_sealed: Uint8Array | null }>(
  'select result_sealed from call_records where correlation_id = ?',
);
/** How many ids one of the two statements below takes; a shorter list repeats its last. */
export const OWED_AT_ONCE = 500;
const ENDED_UNOWED = `state not in ('decided', 'parked') and review_due_ms is null
     and correlation_id in (${places(OWED_AT_ONCE)})`;
export const selectUnowed = statement<{ correlation_id: string }>(
  `select correlation_id from call_records where ${ENDED_UNOWED} limit 1`,
);
export const oweReviews = statement(`update call_records set review_due_ms = updated_ms where ${ENDED_UNOWED}`);
export const anyRecord = statement<{ correlation_id: string }>('select correlation_id from call_records limit 1');

export const selectTombstone = statement<{ digest: string }>(
  'select digest from call_tombstones where correlation_id = ?',
);
export interface RequestRow {
  readonly sealed: Uint8Array;
  readonly inspection_sealed: Uint8Array | null;
}
export const selectRequest = statement<RequestRow>(
  'select sealed, inspection_sealed from call_requests where correlation_id = ?',
);
export const keepInspection = statement(
  'update call_requests set inspection_sealed = ? where correlation_id = ? and digest = ?',
);
/** Staged again, it stays what it was, and is staged from now on. */
export const stageRequest = statement<Pick<RequestRow, 'inspection_sealed'> & { digest: string }>(
  `insert into call_requests (correlation_id, tenant, agent, digest, sealed, created_ms) values (?, ?, ?, ?, ?, ?)
     on conflict (correlation_id) do update set created_ms = excluded.created_ms returning digest, inspection_sealed`,
);

export const countHits = statement<{ count: number | string }>(
  'select count(*) as count from rate_hits where key = ? and at_ms > ?',
);
export const selectHit = statement<{ at_ms: number | string }>(
  'select at_ms from rate_hits where key = ? and at_ms > ? order by at_ms limit 1 offset ?',
);
export const dropHits = statement('delete from rate_hits where key = ? and at_ms > ?');
export const insertHits = shaped<number>(
  (count) => count,
  (count) => `insert into rate_hits (key, at_ms, correlation_id) values ${places(count).replaceAll('?', '(?, ?, ?)')}`,
);

export const selectHistory = statement<Pick<StoredRecord, 'tool' | 'sibling_tools' | 'counted_ms'>>(
  `select tool, sibling_tools, counted_ms from call_records where tenant = ? and agent = ? and counted_ms is not null
     order by counted_ms desc limit ${HISTORY_LENGTH}`,
);
export const selectSensitive = statement<SensitiveStep>(
  `select tool, at_ms from sensitive_steps where tenant = ? and agent = ? and at_ms > ?
     order by at_ms desc limit ${HISTORY_LENGTH}`,
);
export const keepSensitive = statement(
  `insert into sensitive_steps (tenant, agent, tool, at_ms) values (?, ?, ?, ?)
     on conflict (tenant, agent, tool) do update set at_ms = excluded.at_ms`,
);

export interface FlowRow {
  readonly correlation_id: string;
  readonly at_ms: number | string;
  readonly digests: number | string;
}
/** Asked for one more than count, so that it is seen that there were more. */
export const selectFlows = statement<FlowRow>(
  `select correlation_id, at_ms, digests from agent_flows where tenant = ? and agent = ? and at_ms > ?
     order by at_ms desc, correlation_id limit ?`,
);
export const selectFlow = statement<{ sealed: Uint8Array }>('select sealed from agent_flows where correlation_id = ?');
export const selectFlowsWhole = statement<{ correlation_id: string; sealed: Uint8Array }>(
  'select correlation_id, sealed from agent_flows where tenant = ? and agent = ? and at_ms > ? order by at_ms desc, correlation_id limit ?',
);
export const insertFlow = statement(
  `insert into agent_flows (correlation_id, tenant, agent, at_ms, digests, sealed) values (?, ?, ?, ?, ?, ?)
     on conflict (correlation_id) do nothing`,
);
/** The one behind those that count stays: it says that there were more. */
export const trimFlows = statement(
  `delete from agent_flows where tenant = ? and agent = ? and at_ms < (select at_ms from agent_flows
     where tenant = ? and agent = ? order by at_ms desc, correlation_id limit 1 offset ?)`,
);
/** The same where it is known from when that one is. */
export const dropFlowsBefore = statement('delete from agent_flows where tenant = ? and agent = ? and at_ms < ?');
export const dropFlows = statement('delete from agent_flows where at_ms < ?');
export const selectProfile = statement<{ sealed: Uint8Array; version: number | string }>(
  'select sealed, version from agent_profiles where tenant = ? and agent = ? and tool = ?',
);
export const insertProfile = statement(
  `insert into agent_profiles (tenant, agent, tool, sealed, version, updated_ms) values (?, ?, ?, ?, ?, ?)
     on conflict (tenant, agent, tool) do nothing`,
);
/** Only the version that was read: whoever wrote another one meanwhile knows more of it. */
export const updateProfile = statement(
  `update agent_profiles set sealed = ?, version = ?, updated_ms = ?
     where tenant = ? and agent = ? and tool = ? and version = ?`,
);
export const dropProfiles = statement('delete from agent_profiles where updated_ms < ?');

const FOLLOW_UP_COLUMN = { review: 'review_due_ms', callback: 'callback_due_ms', probe: 'probe_due_ms' } as const;
export const clearRowsDue = statement(
  'update call_records set rows_due_ms = null where correlation_id = ? and updated_ms = ? and rows_due_ms is not null',
);
export const oldestRowsDue = statement<{ oldest: number | string | null }>(
  `select min(rows_due_ms) as oldest from call_records where rows_due_ms is not null and not exists
     (select 1 from call_setbacks s where s.correlation_id = call_records.correlation_id and s.duty = 'rows')`,
);
const dueBy = (column: Column) =>
  statement<DueCall>(
    `select correlation_id, ${column} as due_ms from call_records
       where ${column} < ? and (${column}, correlation_id) > (?, ?) order by ${column}, correlation_id limit ?`,
  );
export const selectDue: Readonly<Record<'rows' | FollowUp, Statement<DueCall>>> = {
  rows: dueBy('rows_due_ms'),
  review: dueBy(FOLLOW_UP_COLUMN.review),
  callback: dueBy(FOLLOW_UP_COLUMN.callback),
  probe: dueBy(FOLLOW_UP_COLUMN.probe),
};
const clearing = (column: Column) =>
  statement(`update call_records set ${column} = null where correlation_id = ? and ${column} is not null`);
export const clearFollowUp: Readonly<Record<FollowUp, Statement>> = {
  review: clearing(FOLLOW_UP_COLUMN.review),
  callback: clearing(FOLLOW_UP_COLUMN.callback),
  probe: clearing(FOLLOW_UP_COLUMN.probe),
};
export const selectOpen = statement<OpenCall>(
  `select correlation_id, state, deadline_ms, updated_ms from call_records
     where state in (${quoted(OPEN_STATES)}) and updated_ms < ?
       and (contract = 'gate.server-execution/v1' or state in ('decided', 'parked'))
       and (updated_ms, correlation_id) > (?, ?) order by updated_ms, correlation_id limit ?`,
);

const OPEN_LISTED = quoted(OPEN_STATES);
/** A call that Gate only judged has no end here: it counts for the time in which its host may still begin it. */
const OPEN_OF = `from call_records where tenant = ? and state in (${OPEN_LISTED})
     and (contract = 'gate.server-execution/v1' or state in ('decided', 'parked') or updated_ms >= ?)`;
const ENDED_OF = `from call_records where tenant = ? and updated_ms >= ? and state not in (${OPEN_LISTED})`;
/** Of a batch its tools are looked at one by one. */
const NAMED = `and (? = '' or agent = ?) and (? = '' or tool = ? or sibling_tools is not null)`;
export const selectOpenOf = statement<{ correlation_id: string }>(
  `select correlation_id ${OPEN_OF} ${NAMED} order by correlation_id limit ?`,
);
/** A call of the tenant that may be at its tool: neither waiting for a person nor over. */
export const selectAtTool = statement<{ correlation_id: string }>(
  `select correlation_id ${OPEN_OF} and state not in ('decided', 'parked') order by correlation_id limit 1`,
);
export const selectEndedOf = statement<{ correlation_id: string }>(
  `select correlation_id ${ENDED_OF} ${NAMED} order by correlation_id limit ?`,
);
export const countOpenOf = statement<{ count: number | string }>(`select count(*) as count ${OPEN_OF} ${NAMED}`);
export const countEndedOf = statement<{ count: number | string }>(`select count(*) as count ${ENDED_OF} ${NAMED}`);

export const selectUncertain = statement<{ correlation_id: string }>(
  `select correlation_id from call_records where state = 'uncertain' order by updated_ms desc, correlation_id limit ?`,
);
export const selectUncertainOf = statement<{ correlation_id: string }>(
  `select correlation_id from call_records where state = 'uncertain' and tenant = ?
     order by updated_ms desc, correlation_id limit ?`,
);

const PAST = `from call_records where updated_ms < ? and rows_due_ms is null
     and state not in ('decided', 'parked', 'intended')`;
export const buryRecords = statement(
  `insert into call_tombstones (correlation_id, digest, purged_ms) select correlation_id, digest, cast(? as bigint) ${PAST}
     on conflict (correlation_id) do nothing`,
);
export const dropRecords = statement(`delete ${PAST}`);
export const dropOldHits = statement('delete from rate_hits where at_ms < ?');
export const dropSensitive = statement('delete from sensitive_steps where at_ms < ?');
export const dropTombstones = statement('delete from call_tombstones where purged_ms < ?');
export const dropRequests = statement(
  `delete from call_requests where created_ms < ?
     and correlation_id not in (select correlation_id from call_records)`,
);
