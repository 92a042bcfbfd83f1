import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../contracts/json.js';
import type { Ledger, NewLedgerRow } from '../contracts/ledger.js';
import type { CallStore } from '../domain/call-record/call-store.js';
import { rowsOf } from '../domain/call-record/rows.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../domain/crypto/digest.js';
import { GateError } from '../domain/errors.js';

/** How long the call's own road waits for the ledger before the rows are left to the durable road. */
const APPEND_LIMIT_MS = 250;
/** After a failed append nothing is tried on the call's own road for this long: an outage must cost calls nothing. */
const BREAKER_MS = 2_000;

export interface LedgerActivityOptions {
  readonly calls: CallStore;
  readonly ledger: Ledger;
  readonly now?: () => number;
  /** Milliseconds the call's own road waits for the ledger; 250 where nothing else is said. */
  readonly waitForLedgerMs?: number | undefined;
  /** For a ledger that may undo rows it has taken: the listener is to be called when it has. */
  readonly onUndone?: (listener: () => void) => void;
}

/** Calls whose rows are remembered: those that come back within seconds, after their upstream answered. */
const REMEMBERED_CALLS = 2_000;

export function createLedgerActivities({
  calls,
  ledger,
  now = Date.now,
  waitForLedgerMs = APPEND_LIMIT_MS,
  onUndone,
}: LedgerActivityOptions) {
  let openUntilMs = 0;
  /** Kinds of rows the ledger has confirmed, by call: a row never changes, so it need not be made and offered again. */
  const confirmed = new LRUCache<string, Set<string>>({ max: REMEMBERED_CALLS });
  let undone = 0;
  onUndone?.(() => {
    undone += 1;
    confirmed.clear();
  });

  const appendAll = async (correlationId: string): Promise<void> => {
    const record = await calls.find(correlationId);
    if (!record) return;
    const held = confirmed.get(correlationId) ?? new Set();
    const rows = rowsOf(record, await calls.request(correlationId, record.digest), held);
    if (rows.length > 0) {
      try {
        const before = undone;
        await ledger.append(rows);
        if (undone !== before) throw new Error('the ledger undid what it had taken');
        for (const { method } of rows) held.add(method);
        confirmed.set(correlationId, held);
      } catch (error) {
        // The ledger keeps what it has and raises its own alarm; trying again cannot change either.
        if (!(error instanceof GateError && error.code === 'ledger_entry_conflict')) throw error;
      }
    }
    await calls.rowsAppended(correlationId, record.updated_ms);
  };

  return {
    /** Appends the rows the record implies by now, if the ledger takes them at once; `false` leaves them to `appendRows`. Safe to repeat. */
    async tryAppendRows(correlationId: string): Promise<boolean> {
      if (now() < openUntilMs) return false;
      let timer: NodeJS.Timeout | undefined;
      try {
        const limit = new Promise<never>((_, reject) => {
          timer = setTimeout(() => reject(new Error('the ledger did not answer in time')), waitForLedgerMs);
        });
        await Promise.race([appendAll(correlationId), limit]);
        return true;
      } catch {
        openUntilMs = now() + BREAKER_MS;
        return false;
      } finally {
        clearTimeout(timer);
      }
    },

    /** The durable road: appends the rows or throws, to be tried again until the ledger takes them. Safe to repeat. */
    async appendRows(correlationId: string): Promise<void> {
      await appendAll(correlationId);
      openUntilMs = 0;
    },
  };
}
export type LedgerActivities = ReturnType<typeof createLedgerActivities>;

/** A row that says something is wrong, once per distinct wrong: its id is a function of its content. */
export function alarmRow(alarm: {
  correlation_id: string;
  kind: 'alarm.forged_decision' | 'alarm.reconciled';
  reasoning: string;
  detail: JsonObject;
  tenant?: string;
}): NewLedgerRow {
  return {
    id: uuidFromDigest(
      'gate.alarm',
      alarm.correlation_id,
      alarm.kind,
      sha256Hex(canonicalJson({ reasoning: alarm.reasoning, detail: alarm.detail })),
    ),
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
  };
}
