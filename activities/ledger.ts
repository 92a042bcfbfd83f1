import { LRUCache } from 'lru-cache';
import type { ReachedRecord } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { Ledger, NewLedgerRow } from '../contracts/ledger.js';
import { NotAsStaged } from '../domain/call/record.js';
import { rowsOf } from '../domain/call/rows.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../domain/crypto/digest.js';
import { errorText, GateError } from '../domain/errors.js';
import { within } from '../domain/within.js';
import { fittingJson, fittingRow, isRowRefusal } from '../domain/ledger/fitting-row.js';
import type { CallStore } from '../domain/call/ports.js';

/** How long a call waits for the ledger before its rows are left to the retrying activity `appendRows`. */
const APPEND_LIMIT_MS = 250;
/** After a failed append, calls do not try again for this long, because an outage must not slow them down. */
const BREAKER_MS = 2_000;

export interface LedgerActivityOptions {
  readonly calls: CallStore;
  readonly ledger: Ledger;
  readonly now?: () => number;
  /** Milliseconds a call waits for the ledger; 250 by default. */
  readonly waitForLedgerMs?: number | undefined;
  /** For a ledger that may roll back rows it accepted: the listener must be called when it does. */
  readonly onUndone?: (listener: () => void) => void;
  readonly onAlarm?: OnAlarm | undefined;
}

/** Reports what an alarm row says, as a log line or a counter. */
export type OnAlarm = (correlationId: string, reason: string, kind: AlarmKind) => void;

/** What the call waits for and cannot get, in words. */
const STUCK: Readonly<Record<string, string>> = {
  open: 'the call cannot be closed or gone on with',
  rows: 'the rows of the call cannot be appended',
  review: 'the review row of the call cannot be settled',
  callback: 'the callback of the call cannot be sent',
  alarm: 'the alarm about the end of the call cannot be appended',
};

/** Number of calls whose rows are remembered: those that return within seconds, after their upstream answered. */
const REMEMBERED_CALLS = 2_000;

export function createLedgerActivities({
  calls,
  ledger,
  now = Date.now,
  waitForLedgerMs = APPEND_LIMIT_MS,
  onUndone,
  onAlarm,
}: LedgerActivityOptions) {
  let openUntilMs = 0;
  /** How many rows of each kind the ledger has confirmed, by call. A row never changes, so it need not be made and appended again. */
  const confirmed = new LRUCache<string, ReadonlyMap<string, number>>({ max: REMEMBERED_CALLS });
  let undone = 0;
  onUndone?.(() => {
    undone += 1;
    confirmed.clear();
  });

  /**
   * Appends the rows of a call together. When the ledger refuses one for good, the others are appended one by one, and an alarm row takes
   * the place of the refused one. It would be refused again at every attempt, and the call's rows would stay due for ever.
   */
  const appendStanding = async (correlationId: string, rows: readonly NewLedgerRow[]): Promise<void> => {
    try {
      await ledger.append(rows);
      return;
    } catch (error) {
      if (!isRowRefusal(error)) throw error;
    }
    for (const row of rows) {
      try {
        await ledger.append([row]);
      } catch (error) {
        if (!isRowRefusal(error)) throw error;
        onAlarm?.(correlationId, `the ledger refused the row ${row.method}: ${error.message}`, 'alarm.row_refused');
        // For an entry that exists with other content, the ledger's own `alarm.row_conflict` has both digests.
        if (error.code !== 'ledger_entry_conflict')
          await ledger.append([refusedRow(correlationId, row, error)]).catch(unlessRefused);
      }
    }
  };

  const appendAll = async (
    correlationId: string,
    reached?: ReachedRecord,
    onAsked: () => void = () => undefined,
  ): Promise<void> => {
    // Rows of an earlier state are also rows of every later one, so the record that a step handed on can be appended whatever came after
    // it.
    const found = await calls.find(correlationId, reached);
    const request = found && (await calls.request(correlationId, found.digest));
    const unlike = request instanceof NotAsStaged;
    const record = unlike ? await calls.condemn(correlationId, request.message) : found;
    if (!record) return;
    const held: ReadonlyMap<string, number> = confirmed.get(correlationId) ?? new Map();
    const rows = rowsOf(record, unlike ? null : request, held);
    if (rows.length > 0) {
      const before = undone;
      onAsked();
      await appendStanding(correlationId, rows);
      if (undone !== before) throw new Error('the ledger undid what it had taken');
      // Two appends of one call may overlap; each counts from what it found.
      const now = new Map(held);
      for (const { method } of rows) now.set(method, (now.get(method) ?? 0) + 1);
      const others = confirmed.get(correlationId);
      for (const [kind, count] of now) now.set(kind, Math.max(count, others?.get(kind) ?? 0));
      confirmed.set(correlationId, now);
    }
    await calls.rowsAppended(correlationId, record.updated_ms);
  };

  return {
    /** Appends the rows the record implies by now, if the ledger takes them at once; `false` leaves them to `appendRows`. Safe to repeat. */
    async tryAppendRows(correlationId: string, reached?: ReachedRecord): Promise<boolean> {
      const waitMs = openUntilMs - now();
      // A longer wait than was ever set means that the clock was set back.
      if (waitMs > 0 && waitMs <= BREAKER_MS) return false;
      const late = () => new Error('the ledger did not answer in time');
      let ledgerAsked = false;
      const asked = () => {
        ledgerAsked = true;
      };
      try {
        await within(waitForLedgerMs, appendAll(correlationId, reached, asked), late);
        return true;
      } catch {
        // Other calls skip the ledger for a while only if the ledger itself failed.
        if (ledgerAsked) openUntilMs = now() + BREAKER_MS;
        return false;
      }
    },

    /**
     * Reports that a call cannot be completed for a reason of its own: a log line, and a row if the ledger accepts it. Returns whether it
     * was reported. Safe to repeat.
     */
    async reportStuck(correlationId: string, duty: string, reason: string): Promise<boolean> {
      onAlarm?.(correlationId, `${duty}: ${reason}`, 'alarm.call_stuck');
      const row = alarmRow({
        correlation_id: correlationId,
        kind: 'alarm.call_stuck',
        reasoning: `${STUCK[duty] ?? duty}: ${reason}`,
        detail: { duty },
        tenant: await tenantOf(calls, correlationId),
      });
      return raise(ledger, row).then(
        () => true,
        () => false,
      );
    },

    /**
     * Says that a callback arrived. Best effort: what was sent is not sent again because the ledger is away, and the row then is missing. A
     * repeat adds no second one.
     */
    async reportDelivered(correlationId: string, status: string): Promise<void> {
      const call = (await calls.find(correlationId).catch(() => null))?.evidence.call;
      if (!call) return;
      const row = fittingRow({
        id: uuidFromDigest('gate.callback', correlationId, status),
        agent_id: 'gate-proxy',
        method: 'callback.delivered',
        event_kind: 'callback.delivered',
        intent_category: 'Privileged Action',
        authorized: true,
        reasoning: `the caller was told that its review ended: ${status}`,
        policy_decision: { status },
        state_namespace: call.state_namespace ?? 'operator',
        correlation_id: correlationId,
        tenant: call.tenant,
      });
      await within(waitForLedgerMs, ledger.append([row]), () => new Error('the ledger did not answer in time')).catch(
        () => undefined,
      );
    },

    /** Appends the rows or throws; the engine retries it until the ledger takes them. Safe to repeat. */
    async appendRows(correlationId: string): Promise<void> {
      try {
        await appendAll(correlationId);
      } catch (error) {
        // No 4xx is final here: a ledger that does not know its caller for a while counts as unavailable.
        if (!(error instanceof GateError && error.status < 500)) throw error;
        throw new GateError('ledger_store_unavailable', errorText(error), { cause: error });
      }
      openUntilMs = 0;
    },
  };
}
export type LedgerActivities = ReturnType<typeof createLedgerActivities>;

export type AlarmKind =
  | 'alarm.record_tampered'
  | 'alarm.review_tampered'
  | 'alarm.forged_decision'
  | 'alarm.reconciled'
  | 'alarm.row_refused'
  | 'alarm.call_stuck'
  | 'alarm.clock_apart';

/**
 * A row that says something is wrong, once per distinct fault: its id is a function of the call, the kind and the text. It belongs to the
 * tenant of its call, who finds it among his rows and in his bundles; `tenant` is `null` only if no call is known, or its record cannot be
 * opened. It is an operator's row even if the call belongs to the demonstration, because cleaning that up must not hide an alarm.
 */
export function alarmRow(alarm: {
  correlation_id: string;
  kind: AlarmKind;
  reasoning: string;
  detail: JsonObject;
  tenant: string | null;
}): NewLedgerRow {
  const said = fittingJson({ reasoning: alarm.reasoning, detail: alarm.detail });
  return fittingRow({
    id: uuidFromDigest('gate.alarm', alarm.correlation_id, alarm.kind, sha256Hex(canonicalJson(said))),
    agent_id: 'gate-proxy',
    method: alarm.kind,
    event_kind: alarm.kind,
    intent_category: 'Privileged Action',
    authorized: false,
    reasoning: alarm.reasoning,
    policy_decision: alarm.detail,
    state_namespace: 'operator',
    correlation_id: alarm.correlation_id,
    tenant: alarm.tenant ?? 'system',
  });
}

/** The tenant of a call according to its record; `null` without a call, or when its record cannot be opened. */
export const tenantOf = async (calls: Pick<CallStore, 'find'>, correlationId: string): Promise<string | null> =>
  (await calls.find(correlationId).catch(() => null))?.evidence.call.tenant ?? null;

/**
 * Appends an alarm. If it exists under another tenant, because the process that raised it first could not know the call's owner, it counts
 * as raised.
 */
export async function raise(ledger: Ledger, row: NewLedgerRow): Promise<void> {
  await ledger.append([row]).catch((error: unknown) => {
    if (!(error instanceof GateError && error.code === 'ledger_entry_conflict')) throw error;
  });
}

/** The alarm for a review that Gate did not write: one row, however many processes find it. */
export const tamperedReview = (pendingId: string, correlationId: string, tenant: string | null) => ({
  correlation_id: correlationId,
  kind: 'alarm.review_tampered' as const,
  reasoning: 'the stored review is not what Gate wrote: nobody can decide it, and nothing runs by it',
  detail: { pending_id: pendingId },
  tenant,
});

const unlessRefused = (error: unknown): void => {
  if (!isRowRefusal(error)) throw error;
};

/** What stands in the chain for a row that the ledger refuses: which row, why, and the digest of the refused content. */
const refusedRow = (correlationId: string, row: NewLedgerRow, error: GateError): NewLedgerRow =>
  alarmRow({
    correlation_id: correlationId,
    kind: 'alarm.row_refused',
    reasoning: `the ledger refused the row ${row.method}: ${error.message}`,
    detail: {
      row_id: row.id ?? null,
      row_kind: row.method,
      code: error.code,
      refused_sha256: sha256Hex(JSON.stringify(row)),
    },
    tenant: row.tenant ?? null,
  });
