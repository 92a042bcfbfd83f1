import { LRUCache } from 'lru-cache';
import type { ReachedRecord } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { Ledger, NewLedgerRow } from '../contracts/ledger.js';
import { NotAsStaged } from '../domain/call-record/record.js';
import { rowsOf } from '../domain/call-record/rows.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../domain/crypto/digest.js';
import { errorText, GateError } from '../domain/errors.js';
import { within } from '../domain/within.js';
import { fittingJson, fittingRow, isRowRefusal } from '../domain/ledger/fitting-row.js';
import type { CallStore } from '../domain/call-record/ports.js';

/** How long a call waits for the ledger before its rows are left to the retrying activity `appendRows`. */
const APPEND_LIMIT_MS = 250;
/** After a failed append calls do not try again for this long: an outage must not slow them down. */
const BREAKER_MS = 2_000;

export interface LedgerActivityOptions {
  readonly calls: CallStore;
  readonly ledger: Ledger;
  readonly now?: () => number;
  /** Milliseconds a call waits for the ledger; 250 by default. */
  readonly waitForLedgerMs?: number | undefined;
  /** For a ledger that may undo rows it has taken: the listener is to be called when it has. */
  readonly onUndone?: (listener: () => void) => void;
  readonly onAlarm?: OnAlarm | undefined;
}

/** Somebody is told of what an alarm row says: a log line, a counter. */
export type OnAlarm = (correlationId: string, reason: string, kind: AlarmKind) => void;

/** What a call waits for that nobody can give it, in words. */
const STUCK: Readonly<Record<string, string>> = {
  open: 'the call cannot be closed or gone on with',
  rows: 'the rows of the call cannot be appended',
  review: 'the review row of the call cannot be settled',
  callback: 'the callback of the call cannot be sent',
  alarm: 'the alarm about the end of the call cannot be appended',
};

/** Calls whose rows are remembered: those that come back within seconds, after their upstream answered. */
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
  /** Kinds of rows the ledger has confirmed, by call: a row never changes, so it need not be made and offered again. */
  const confirmed = new LRUCache<string, Set<string>>({ max: REMEMBERED_CALLS });
  let undone = 0;
  onUndone?.(() => {
    undone += 1;
    confirmed.clear();
  });

  /**
   * The rows of a call, as one piece. Where the ledger refuses one for good the others are appended each by itself, and an alarm row in
   * the place of the refused one: offered again it would be refused again, and the call's rows would stay due for ever.
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
        // Of an entry that exists with other content the ledger's own `alarm.row_conflict` says both digests.
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
    // Rows of an earlier state are rows of every later one: what a step handed along can be appended whatever came after it.
    const found = await calls.find(correlationId, reached);
    const request = found && (await calls.request(correlationId, found.digest));
    const unlike = request instanceof NotAsStaged;
    const record = unlike ? await calls.condemn(correlationId, request.message) : found;
    if (!record) return;
    const held = confirmed.get(correlationId) ?? new Set();
    const rows = rowsOf(record, unlike ? null : request, held);
    if (rows.length > 0) {
      const before = undone;
      onAsked();
      await appendStanding(correlationId, rows);
      if (undone !== before) throw new Error('the ledger undid what it had taken');
      for (const { method } of rows) held.add(method);
      confirmed.set(correlationId, held);
    }
    await calls.rowsAppended(correlationId, record.updated_ms);
  };

  return {
    /** Appends the rows the record implies by now, if the ledger takes them at once; `false` leaves them to `appendRows`. Safe to repeat. */
    async tryAppendRows(correlationId: string, reached?: ReachedRecord): Promise<boolean> {
      const waitMs = openUntilMs - now();
      // A longer wait than was ever set is a clock that was put back.
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
        // Other calls do without the ledger for a while only where it was the ledger that failed.
        if (ledgerAsked) openUntilMs = now() + BREAKER_MS;
        return false;
      }
    },

    /**
     * Tells somebody that a call cannot be helped, for a reason of its own: a log line, and a row where the ledger takes it. Says whether
     * it did. Safe to repeat.
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

    /** Appends the rows or throws; the engine retries it until the ledger takes them. Safe to repeat. */
    async appendRows(correlationId: string): Promise<void> {
      try {
        await appendAll(correlationId);
      } catch (error) {
        // No 4xx is the last word here: a ledger that does not know its caller for a while is a ledger that is away.
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
  | 'alarm.call_stuck';

/**
 * A row that says something is wrong, once per distinct wrong: its id is a function of the call, the kind and the words. It belongs to the
 * tenant of its call, who finds it among his rows and in his bundles; `tenant` is `null` only where no call is known, or its record cannot
 * be opened. An operator's also where the call is the demonstration's: cleaning that up must not hide an alarm.
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

/** Whose call it is, as its record says; `null` for no call, or one whose record cannot be opened. */
export const tenantOf = async (calls: Pick<CallStore, 'find'>, correlationId: string): Promise<string | null> =>
  (await calls.find(correlationId).catch(() => null))?.evidence.call.tenant ?? null;

/** Appends an alarm. One that is there under another tenant, because whoever raised it first could not know whose call it is, was raised. */
export async function raise(ledger: Ledger, row: NewLedgerRow): Promise<void> {
  await ledger.append([row]).catch((error: unknown) => {
    if (!(error instanceof GateError && error.code === 'ledger_entry_conflict')) throw error;
  });
}

/** What is said of a review that Gate did not write, by whoever finds it first: one row, whoever else finds it. */
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

/** What stands in the chain for a row that the ledger will not take: which it was, why, and the digest of what was refused. */
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
