import { GateError, GateTransportError } from './errors.js';
import type { Settings } from './options.js';

const MOST_ANSWER_BYTES = 2 ** 20;
const MOST_QUOTED = 4_096;

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** A text of somebody else as an error may quote it: one line, bounded, without what a terminal would obey. */
export const quoted = (text: string): string =>
  text
    .slice(0, MOST_QUOTED)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();

/**
 * One attempt. The time covers the answer's body too, so nobody who sends a byte a minute holds an agent. Redirects are not followed: they
 * would carry the token elsewhere. Throws `GateTransportError` where no whole answer came, and what `signal` was aborted with.
 */
export async function send(settings: Settings, request: HttpRequest): Promise<HttpAnswer> {
  const time = AbortSignal.timeout(Math.ceil(request.timeoutMs ?? settings.timeoutMs));
  const signal = request.signal ? AbortSignal.any([time, request.signal]) : time;
  try {
    const answer = await settings.fetch(`${settings.endpoint}${request.path}`, {
      method: request.method,
      headers: {
        ...settings.extraHeaders,
        ...(settings.token === undefined ? {} : { Authorization: `Bearer ${settings.token}` }),
        ...request.headers,
      },
      ...(request.body === undefined ? {} : { body: request.body }),
      redirect: 'manual',
      signal,
    });
    return { status: answer.status, headers: answer.headers, text: await textOf(answer, signal) };
  } catch (error) {
    if (error instanceof GateError) throw error;
    request.signal?.throwIfAborted();
    if (time.aborted)
      throw new GateTransportError(`gate did not answer within ${request.timeoutMs ?? settings.timeoutMs} ms`, {
        cause: error,
      });
    throw new GateTransportError(`gate was not reached at ${settings.endpoint}: ${causeOf(error)}`, { cause: error });
  }
}

const causeOf = (error: unknown): string => {
  const { cause } = error as { cause?: unknown };
  return quoted(
    cause instanceof Error
      ? cause.message || String((cause as { code?: string }).code)
      : String((error as Error).message),
  );
};

async function textOf(answer: Response, signal: AbortSignal): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  if (answer.body !== null) {
    const reader = answer.body.getReader();
    const end = (): void => void reader.cancel().catch(() => {});
    signal.addEventListener('abort', end, { once: true });
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        size += part.value.length;
        if (size > MOST_ANSWER_BYTES) {
          end();
          throw new GateTransportError('the answer has more than 1 MiB', { status: answer.status });
        }
        parts.push(part.value);
      }
      signal.throwIfAborted();
    } finally {
      signal.removeEventListener('abort', end);
    }
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(whole);
  } catch (cause) {
    throw new GateTransportError('the answer is no UTF-8', { status: answer.status, cause });
  }
}
