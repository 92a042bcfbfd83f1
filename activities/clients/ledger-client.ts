import { z } from 'zod';
import { egressPage, type EgressSource } from '../../contracts/ledger-egress.js';
import {
  appendReceipt,
  heldIds,
  type HeldRows,
  type Ledger,
  ledgerEntry,
  verifyResult,
} from '../../contracts/ledger.js';
import { decidedPage, type DecisionSource } from '../../contracts/decided-calls.js';
import { replayPage, type ReplaySource } from '../../contracts/replay-rows.js';
import { GateError } from '../../domain/errors.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import type { Verifier } from '../../domain/ledger/verifier.js';
import { createServiceClient, type ServiceClientOptions } from './service-client.js';
import type { LedgerReader } from '../../domain/ledger/ports.js';

export interface LedgerClientOptions extends ServiceClientOptions {
  /** A walk over a long chain takes long. */
  readonly verifyTimeoutMs?: number;
  /** A page without a row may look at a long chain. */
  readonly pageTimeoutMs?: number;
}

export type LedgerClient = Ledger &
  HeldRows &
  Verifier &
  EgressSource &
  ReplaySource &
  DecisionSource &
  Pick<LedgerReader, 'byCorrelation'>;

const receipts = z.object({ receipts: z.array(appendReceipt) });

/**
 * The ledger over HTTP, for other processes; the same contract as in process. A refusal arrives as the GateError that the ledger threw. No
 * answer, a timeout, or an unreadable answer: `ledger_store_unavailable`. It is then unknown whether rows were stored, and sending the same
 * ids again is safe.
 */
export function createLedgerClient({
  timeoutMs = 10_000,
  verifyTimeoutMs = 600_000,
  pageTimeoutMs = 60_000,
  ...options
}: LedgerClientOptions): LedgerClient {
  const unavailable = (detail: string, cause?: unknown) => new GateError('ledger_store_unavailable', detail, { cause });
  const ask = createServiceClient('the ledger', options, unavailable);
  return {
    async append(rows) {
      if (rows.length === 0) return [];
      // Checked here too: JSON text would turn NaN into null before the ledger could refuse it.
      const checked = rows.map((row) => ({ ...row, id: prepareRow(row).id }));
      const answer = await ask(receipts, { method: 'POST', path: '/log/batch', timeoutMs, body: { rows: checked } });
      if (answer.receipts.length !== rows.length) throw unavailable('the ledger answered for other rows');
      return answer.receipts;
    },
    async held(ids) {
      if (ids.length === 0) return new Set();
      const path = `/log/held?ids=${ids.join(',')}`;
      const { held } = await ask(heldIds, { method: 'GET', path, timeoutMs });
      if (held.some((id) => !ids.includes(id))) throw unavailable('the ledger answered for other rows');
      return new Set(held);
    },
    verify({ sinceCheckpoint = false } = {}) {
      const path = sinceCheckpoint ? '/verify?since_checkpoint=true' : '/verify';
      return ask(verifyResult, { method: 'GET', path, timeoutMs: verifyTimeoutMs });
    },
    egressPage(after, limit, sink) {
      const named = sink === undefined ? '' : `&sink=${sink}`;
      return ask(egressPage, { method: 'GET', path: `/egress/rows?after=${after}&limit=${limit}${named}`, timeoutMs });
    },
    replayPage(query) {
      const { from, to, after, limit, tenant, agentId, tool } = query;
      const asked = { since: from, until: to, after, limit, tenant, agent_id: agentId, tool_type: tool };
      return ask(replayPage, { method: 'GET', path: `/audit/replay/rows?${queryOf(asked)}`, timeoutMs: pageTimeoutMs });
    },
    decidedPage({ from, to, after, limit, tenant, tool }) {
      const path = `/audit/replay/decisions?${queryOf({ since: from, until: to, after, limit, tenant, tool_type: tool })}`;
      return ask(decidedPage, { method: 'GET', path, timeoutMs: pageTimeoutMs });
    },
    byCorrelation(correlationId, { tenant } = {}) {
      const query = tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;
      const path = `/audit/correlation/${encodeURIComponent(correlationId)}${query}`;
      return ask(z.array(ledgerEntry), { method: 'GET', path, timeoutMs });
    },
  };
}

const queryOf = (asked: Readonly<Record<string, string | number | undefined>>): string =>
  Object.entries(asked)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(String(value))}`]))
    .join('&');
