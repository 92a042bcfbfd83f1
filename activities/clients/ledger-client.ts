import { z } from 'zod';
import { ERROR_CODES, type ErrorCodeName } from '../../contracts/error-codes.js';
import { jsonValue } from '../../contracts/json.js';
import { appendReceipt, type Ledger, ledgerEntry, verifyResult } from '../../contracts/ledger.js';
import { errorText, GateError } from '../../domain/errors.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import type { LedgerReader } from '../../domain/ledger/ledger-reader.js';
import type { Verifier } from '../../domain/ledger/verifier.js';
import type { ServiceFetch } from './hil-client.js';

export interface LedgerClientOptions {
  /** Base address of the ledger service. */
  readonly url: string;
  readonly fetch: ServiceFetch;
  readonly timeoutMs?: number;
  /** A walk over a long chain takes its time. */
  readonly verifyTimeoutMs?: number;
}

export type LedgerClient = Ledger & Verifier & Pick<LedgerReader, 'byCorrelation'>;

const refusal = z.looseObject({ error: z.string(), reason: z.string().optional() });
const receipts = z.object({ receipts: z.array(appendReceipt) });

/**
 * The ledger over HTTP, for processes apart from it; the same promises as in process. A refusal arrives as the GateError the ledger threw.
 * No answer, no time, or an answer that makes no sense: `ledger_store_unavailable`; whether rows were stored is then unknown, and
 * sending the same ids again is safe.
 */
export function createLedgerClient({
  url,
  fetch,
  timeoutMs = 10_000,
  verifyTimeoutMs = 600_000,
}: LedgerClientOptions): LedgerClient {
  return {
    async append(rows) {
      if (rows.length === 0) return [];
      // Checked here too: JSON text would turn NaN into null before the ledger could refuse it.
      const checked = rows.map((row) => ({ ...row, id: prepareRow(row).id }));
      const answer = await ask(receipts, 'POST', '/log/batch', timeoutMs, { rows: checked });
      if (answer.receipts.length !== rows.length) throw unavailable('the ledger answered for other rows');
      return answer.receipts;
    },
    verify: ({ sinceCheckpoint = false } = {}) =>
      ask(verifyResult, 'GET', sinceCheckpoint ? '/verify?since_checkpoint=true' : '/verify', verifyTimeoutMs),
    byCorrelation(correlationId, { tenant } = {}) {
      const query = tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;
      const path = `/audit/correlation/${encodeURIComponent(correlationId)}${query}`;
      return ask(z.array(ledgerEntry), 'GET', path, timeoutMs);
    },
  };

  async function ask<Type extends z.ZodType>(
    type: Type,
    method: string,
    path: string,
    limitMs: number,
    body?: object,
  ): Promise<z.infer<Type>> {
    let answer: { status: number; text: string };
    try {
      const response = await fetch(new URL(path, url).href, {
        method,
        ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(limitMs),
      });
      answer = { status: response.status, text: await response.text() };
    } catch (error) {
      throw unavailable(`the ledger cannot be reached: ${errorText(error)}`, error);
    }
    if (answer.status < 200 || answer.status >= 300) throw refused(answer);
    const said = type.safeParse(parsed(answer.text));
    if (!said.success) throw unavailable('the ledger answered with something else', said.error);
    return said.data;
  }
}

/** The error the ledger threw, with its fields; one it could not have thrown is an outage. */
function refused({ status, text }: { status: number; text: string }): GateError {
  const said = refusal.safeParse(parsed(text)).data;
  if (said === undefined || !isErrorCode(said.error) || ERROR_CODES[said.error].status !== status)
    return unavailable(`the ledger answered ${status}`);
  const { error, reason, correlation_id: _, ...rest } = said;
  const fields = z.record(z.string(), jsonValue).safeParse(rest).data ?? {};
  return new GateError(error, reason, { fields });
}

const isErrorCode = (code: string): code is ErrorCodeName => Object.hasOwn(ERROR_CODES, code);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const unavailable = (detail: string, cause?: unknown): GateError =>
  new GateError('ledger_store_unavailable', detail, cause === undefined ? {} : { cause });
