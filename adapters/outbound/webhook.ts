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

const TIME_LIMIT_MS = 10_000;
/** Of an answer that nobody needs: so much, and for so long. A short one is read whole, so that its connection serves the next request. */
const UNNEEDED_BYTES = 4_096;
const UNNEEDED_MS = 250;

/**
 * Sends one POST. A 2xx status says that it was taken; of the rest of the answer at most a few KiB are read, and an answer that never ends holds
 * nothing up. Throws as `answerTo` does.
 */
export const postTo = (target: WebhookTarget, contentType: string, body: string | Uint8Array<ArrayBuffer>) =>
  posted(target, contentType, body, discarded);

/**
 * Sends one POST and returns the answer. A redirect is a failure: the request goes to the configured address and nowhere else. Throws with
 * a one-line message for operators when no answer comes in time, the status is not 2xx (ReceiverRefused), or the answer is larger than
 * `maxBytes`. The receiver may still have received the request.
 */
export const answerTo = (
  target: WebhookTarget,
  contentType: string,
  body: string | Uint8Array<ArrayBuffer>,
  maxBytes: number,
): Promise<Uint8Array> => posted(target, contentType, body, (response) => bytesUpTo(maxBytes, piecesOf(response)));

async function posted<Answer>(
  { url, bearer, headers = {}, timeoutMs = TIME_LIMIT_MS }: WebhookTarget,
  contentType: string,
  body: string | Uint8Array<ArrayBuffer>,
  read: (response: Response) => Promise<Answer>,
): Promise<Answer> {
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
    return await read(response);
  } catch (error) {
    if (error instanceof ReceiverRefused) throw error;
    const cause = (error as { cause?: unknown }).cause;
    throw new Error(cause === undefined ? errorText(error) : `${errorText(error)}: ${errorText(cause)}`, {
      cause: error,
    });
  }
}

/** Reads the beginning of an answer and drops it. What goes wrong in it changes nothing: its status has come. */
async function discarded({ body }: Response): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  const limit = setTimeout(stop, UNNEEDED_MS);
  try {
    for (let bytes = 0; bytes < UNNEEDED_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
    }
    stop();
  } catch {
    // The connection broke after the status.
  } finally {
    clearTimeout(limit);
  }
}

/** Only in seconds; a date depends on two clocks. */
const retryAfterMs = (text: string | null): number => (/^\d{1,6}$/.test(text ?? '') ? Number(text) * 1_000 : 0);

/** Words about a failure without the address, which may hold a key and which errors of the network repeat. */
export function withoutAddress(text: string, url: string): string {
  const { host, hostname } = new URL(url);
  return [url, host, hostname].reduce((words, part) => words.replaceAll(part, 'the receiver'), text);
}
