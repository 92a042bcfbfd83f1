import { CliError } from './errors.js';
import { why } from './answers.js';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** One request to a console. */
export interface ConsoleRequest {
  readonly method: 'GET' | 'POST';
  readonly bearer?: string;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: object;
  readonly timeoutMs: number;
  /** A longer answer is an error. */
  readonly maxBytes: number;
}

/** The console cannot be reached; the same may be asked again. */
export class ConsoleAway extends CliError {}

/** Asks a console, and follows it nowhere else. Throws ConsoleAway, and CliError for an answer that it may not give. */
export async function askConsole(origin: string, path: string, request: ConsoleRequest): Promise<Answer> {
  const { method, form, json, timeoutMs, maxBytes } = request;
  let response: Response;
  try {
    response = await fetch(new URL(path, origin), {
      method,
      headers: { ...headersOf(request.bearer), ...(json && { 'content-type': 'application/json' }) },
      ...(form && { body: new URLSearchParams(form) }),
      ...(json && { body: JSON.stringify(json) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch (error) {
    throw new ConsoleAway(`no console answers at ${origin} (${await why(error)})`, 5);
  }
  return { status: statusOf(origin, response), text: await bounded(origin, response, maxBytes) };
}

/** A stream of a console, until the signal. */
export async function streamOf(
  origin: string,
  path: string,
  { bearer, lastId, signal }: { readonly bearer: string; readonly lastId: string; readonly signal: AbortSignal },
): Promise<{
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array>;
  readonly text: () => Promise<string>;
}> {
  let response: Response;
  try {
    response = await fetch(new URL(path, origin), {
      headers: {
        ...headersOf(bearer),
        accept: 'text/event-stream',
        ...(lastId !== '' && { 'last-event-id': lastId }),
      },
      redirect: 'manual',
      signal,
    });
  } catch (error) {
    throw new ConsoleAway(`no console answers at ${origin} (${await why(error)})`, 5);
  }
  return {
    status: statusOf(origin, response),
    body: (response.body ?? []) as unknown as AsyncIterable<Uint8Array>,
    text: () => bounded(origin, response, REFUSAL_BYTES),
  };
}

const REFUSAL_BYTES = 32_768;

const headersOf = (bearer: string | undefined): Record<string, string> => ({
  accept: 'application/json',
  ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
});

function statusOf(origin: string, { status }: Response): number {
  if (status >= 300 && status < 400)
    throw new CliError(
      `${origin} leads elsewhere (HTTP ${status}), which is not followed; give the console's own address`,
      5,
    );
  return status;
}

async function bounded(origin: string, { body }: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of (body ?? []) as unknown as AsyncIterable<Uint8Array>) {
      size += part.length;
      if (size > maxBytes)
        throw new CliError(`oversized_response: ${origin} answered with more than ${maxBytes} bytes`, 5);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new ConsoleAway(`${origin} broke off its answer (${await why(error)})`, 5);
  }
  return Buffer.concat(parts).toString('utf8');
}
