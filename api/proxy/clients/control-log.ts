import type { JsonObject } from '../../../contracts/json.js';
import type { Ledger, NewLedgerRow, StateNamespace } from '../../../contracts/ledger.js';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';

export interface ControlCall {
  readonly caller: {
    readonly tenant: string;
    readonly agent: string;
    readonly spiffe: string;
    readonly fingerprint: string;
    readonly namespace?: StateNamespace;
  };
  readonly method: string;
  readonly correlationId: string;
  /** Whether the upstream answered without an error. */
  readonly answered: boolean;
  /** Digest of the parameters that were sent, where an agent's own words were among them. */
  readonly sent?: string;
  /** What was found in them, and sent all the same in observe mode. */
  readonly found?: readonly string[];
}

interface Counted {
  readonly first: ControlCall;
  readonly firstMs: number;
  lastMs: number;
  calls: number;
  failed: number;
  readonly sent: Set<string>;
  /** How many calls with other words there were beyond those. */
  sentMore: number;
  readonly found: Set<string>;
}

const WINDOW_MS = 60_000;
/** So many digests stand in one row. */
const MAX_DIGESTS = 50;
/** Above this number all counters are written at once, so that memory stays bounded. */
const MAX_COUNTED = 200;

/**
 * The control calls that reached an upstream: one ledger row per agent, method and minute, with their number
 * (docs/decisions/control-calls-in-the-ledger.md). Nothing waits for the ledger here.
 */
export function createControlLog({ ledger, now }: { readonly ledger: Ledger; readonly now: () => number }) {
  const counted = new Map<string, Counted>();
  /** What the ledger has not accepted yet. */
  let owed: NewLedgerRow[] = [];
  let timer: NodeJS.Timeout | undefined;
  const writeLater = () => {
    timer ??= setTimeout(() => void write(), WINDOW_MS).unref();
  };

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const rows = [...owed, ...[...counted.values()].map(rowOf)].slice(-MAX_COUNTED);
    owed = [];
    counted.clear();
    if (rows.length === 0) return;
    try {
      await ledger.append(rows);
    } catch {
      owed = [...rows, ...owed];
      writeLater();
    }
  }

  return {
    note(call: ControlCall): void {
      const key = `${call.caller.tenant}/${call.caller.agent} ${call.method}`;
      const atMs = now();
      const known = counted.get(key) ?? {
        first: call,
        firstMs: atMs,
        lastMs: atMs,
        calls: 0,
        failed: 0,
        sent: new Set<string>(),
        sentMore: 0,
        found: new Set<string>(),
      };
      known.calls += 1;
      known.failed += call.answered ? 0 : 1;
      known.lastMs = atMs;
      if (call.sent !== undefined && !known.sent.has(call.sent)) {
        if (known.sent.size < MAX_DIGESTS) known.sent.add(call.sent);
        else known.sentMore += 1;
      }
      for (const one of call.found ?? []) known.found.add(one);
      counted.set(key, known);
      if (counted.size >= MAX_COUNTED) void write();
      else writeLater();
    },
    /** Writes the counters; what the ledger does not accept now is lost. */
    async close(): Promise<void> {
      await write();
      clearTimeout(timer);
    },
  };
}
export type ControlLog = ReturnType<typeof createControlLog>;

function rowOf({ first, firstMs, lastMs, calls, failed, sent, sentMore, found }: Counted): NewLedgerRow {
  const { caller, method, correlationId } = first;
  const said: JsonObject = {
    rpc_method: method,
    calls,
    failed,
    first_at: new Date(firstMs).toISOString(),
    last_at: new Date(lastMs).toISOString(),
    ...(sent.size > 0 && { sent: [...sent] }),
    ...(sentMore > 0 && { sent_more: sentMore }),
    ...(found.size > 0 && { found: [...found].toSorted() }),
  };
  return {
    id: uuidFromDigest('gate.control-calls', correlationId, caller.tenant, caller.agent, method, String(firstMs)),
    agent_id: caller.agent,
    method: 'proxy.control',
    event_kind: 'proxy.control',
    intent_category: 'Direct Execution',
    authorized: true,
    reasoning: `${method} reached the upstream: ${calls} in all, ${failed} failed`,
    policy_decision: said,
    state_namespace: caller.namespace ?? 'operator',
    correlation_id: correlationId,
    agent_spiffe: caller.spiffe,
    tenant: caller.tenant,
    agent_kind: 'mcp',
    credential_fingerprint: caller.fingerprint,
  };
}
