import { z } from 'zod';
import { ERROR_CODES, type ErrorCodeName } from '../../contracts/error-codes.js';
import { jsonValue } from '../../contracts/json.js';
import { errorText, GateError } from '../../domain/errors.js';

/** As much of `fetch` as a client of another service uses; the caller's own carries the client certificate (`mtls-fetch.ts`). */
export type ServiceFetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly signal?: AbortSignal;
  },
) => Promise<{
  readonly status: number;
  readonly setCookies?: readonly string[];
  text(): Promise<string>;
}>;

export interface ServiceClientOptions {
  /** Base address of the service. */
  readonly url: string;
  readonly fetch: ServiceFetch;
  readonly timeoutMs?: number;
}

export interface Question {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly timeoutMs: number;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

/**
 * Asks another service over HTTP. A refusal arrives as the GateError that the service threw, with its fields. No answer, a timeout, or an
 * answer of another type (`null`: no type, any 2xx will do) becomes what `unavailable` makes of it.
 */
export function createServiceClient(
  service: string,
  { url, fetch }: ServiceClientOptions,
  unavailable: (detail: string, cause?: unknown) => GateError,
) {
  return async function ask<Type extends z.ZodType | null>(
    type: Type,
    { method, path, timeoutMs, headers, body }: Question,
  ): Promise<Type extends z.ZodType ? z.infer<Type> : null> {
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
      throw unavailable(`${service} cannot be reached: ${errorText(error)}`, error);
    }
    if (answer.status < 200 || answer.status >= 300) {
      throw refusedBy(answer) ?? unavailable(`${service} answered ${answer.status}`);
    }
    if (type === null) return null as never;
    const said = type.safeParse(parsed(answer.text));
    if (!said.success) throw unavailable(`${service} answered with something else than was asked for`, said.error);
    return said.data as never;
  };
}

const refusal = z.looseObject({ error: z.string(), reason: z.string().optional() });

/** The error that the service threw, or `null` for one it could not have thrown, which counts as an outage. */
export function refusedBy({ status, text }: { status: number; text: string }): GateError | null {
  const said = refusal.safeParse(parsed(text)).data;
  if (said === undefined || !isErrorCode(said.error) || ERROR_CODES[said.error].status !== status) return null;
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
