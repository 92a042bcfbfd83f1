import { errorText } from '../../domain/errors.js';
import { bytesUpTo, piecesOf } from './body.js';

/** An address from the operator's own configuration; it may be inside the network. */
export interface WebhookTarget {
  readonly url: string;
  readonly bearer?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** The receiver answered with a status that is not 2xx. */
export class ReceiverRefused extends Error {
  override readonly name = 'ReceiverRefused';
  constructor(
    readonly status: number,
    /** How long the receiver asked to be left alone (RFC 9110, 10.2.3); 0 when it did not. */
    readonly retryAfterMs: number,
  ) {
    super(`the receiver answered ${status}`);
  }
}

export interface WebhookAnswer {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

const TIME_LIMIT_MS = 10_000;
const MAX_ANSWER_BYTES = 1_048_576;

/**
 * Sends one POST and returns the answer. A redirect is a failure: the request goes to the configured address and nowhere else. Throws with
 * a one-line message for operators when no answer comes in time, the status is not 2xx (ReceiverRefused), or the answer is larger than 1
 * MiB. The receiver may still have received the request.
 */
export async function postTo(
  { url, bearer, headers = {}, timeoutMs = TIME_LIMIT_MS }: WebhookTarget,
  contentType: string,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<WebhookAnswer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': contentType,
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new ReceiverRefused(response.status, retryAfterMs(response.headers.get('retry-after')));
    }
    return {
      contentType: response.headers.get('content-type') ?? '',
      bytes: await bytesUpTo(MAX_ANSWER_BYTES, piecesOf(response)),
    };
  } catch (error) {
    if (error instanceof ReceiverRefused) throw error;
    const cause = (error as { cause?: unknown }).cause;
    throw new Error(cause === undefined ? errorText(error) : `${errorText(error)}: ${errorText(cause)}`, {
      cause: error,
    });
  }
}

/** Only in seconds; a date depends on two clocks. */
const retryAfterMs = (text: string | null): number => (/^\d{1,6}$/.test(text ?? '') ? Number(text) * 1_000 : 0);

/** Words about a failure without the address, which may hold a key and which errors of the network repeat. */
export function withoutAddress(text: string, url: string): string {
  const { host, hostname } = new URL(url);
  return [url, host, hostname].reduce((words, part) => words.replaceAll(part, 'the receiver'), text);
}
