import { z } from 'zod';
import { ERROR_CODES, type ErrorCodeName } from '../../contracts/error-codes.js';
import { jsonValue } from '../../contracts/json.js';
import { reviewStatus, type PendingRequest } from '../../contracts/review.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { Reviews } from '../../domain/review/ports.js';

/** As much of `fetch` as a client of another service uses; the caller's own carries the client certificate. */
export type ServiceFetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly signal?: AbortSignal;
  },
) => Promise<{ readonly status: number; text(): Promise<string> }>;

export interface HilClientOptions {
  /** Base address of the review service. */
  readonly url: string;
  readonly fetch: ServiceFetch;
  readonly timeoutMs?: number;
}

const refusal = z.looseObject({ error: z.string(), reason: z.string().optional() });

/** Enough to know a row: it was checked before it was stored, and its payload may be a megabyte. */
const row = z.looseObject({
  id: z.uuid(),
  correlation_id: z.uuid(),
  status: reviewStatus,
  created_at: z.iso.datetime(),
  ttl_seconds: z.number().int(),
});

/**
 * The review rows over HTTP, for workers apart from HIL; the same promises as in process. A refusal arrives as the GateError that HIL
 * threw. No answer, no time, or an answer that is no row: `pipeline_unavailable` with `layer: hil`; all three calls may then be made again.
 */
export function createHilClient({ url, fetch, timeoutMs = 5_000 }: HilClientOptions): Reviews {
  return {
    async createOnce(review) {
      const { tenant, correlation_id } = review;
      const headers = { 'x-gate-tenant-scope': tenant, 'x-gate-correlation-id': correlation_id };
      return rowOf(await ask('POST', '/pending', headers, review));
    },

    async withdraw(correlationId) {
      const headers = { 'x-gate-correlation-id': correlationId };
      await ask('DELETE', `/pending/by-correlation/${encodeURIComponent(correlationId)}`, headers);
    },

    async settle(settled) {
      return rowOf(await ask('POST', `/pending/${encodeURIComponent(settled.pending_id)}/settle`, {}, settled));
    },
  };

  /** The text of a 2xx answer. */
  async function ask(method: string, path: string, headers: Record<string, string>, body?: object): Promise<string> {
    let answer: { status: number; text: string };
    try {
      const response = await fetch(new URL(path, url).href, {
        method,
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      answer = { status: response.status, text: await response.text() };
    } catch (error) {
      throw unavailable(`the review service cannot be reached: ${errorText(error)}`, error);
    }
    if (answer.status >= 200 && answer.status < 300) return answer.text;
    throw refused(answer);
  }
}

function rowOf(text: string): PendingRequest {
  const found = row.safeParse(parsed(text));
  if (!found.success) throw unavailable('the review service answered with something that is no row', found.error);
  return found.data as unknown as PendingRequest;
}

/** The error HIL threw, with its fields; one it could not have thrown is an outage. */
function refused({ status, text }: { status: number; text: string }): GateError {
  const said = refusal.safeParse(parsed(text)).data;
  if (said === undefined || !isErrorCode(said.error) || ERROR_CODES[said.error].status !== status)
    return unavailable(`the review service answered ${status}`);
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
  new GateError('pipeline_unavailable', detail, { fields: { layer: 'hil' }, cause });
