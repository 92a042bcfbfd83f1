import { errorText } from '../errors.js';

/** An address of the operator's own configuration; it may be inside the network. */
export interface WebhookTarget {
  readonly url: string;
  readonly bearer?: string | undefined;
  readonly timeoutMs?: number;
}

export interface WebhookAnswer {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

const TIME_LIMIT_MS = 10_000;
const MAX_ANSWER_BYTES = 1_048_576;

/**
 * Sends one POST and returns what came back. A redirect is a failure: what is sent goes to the address that was configured, and nowhere
 * else. Throws with one line for whoever looks after it, when nobody answers in time, the status is not 2xx or the answer is
 * larger than 1 MiB; the receiver may have got the request all the same.
 */
export async function postTo(
  { url, bearer, timeoutMs = TIME_LIMIT_MS }: WebhookTarget,
  contentType: string,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<WebhookAnswer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': contentType, ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`the receiver answered ${response.status}`);
    }
    return { contentType: response.headers.get('content-type') ?? '', bytes: await boundedBody(response) };
  } catch (error) {
    const cause = (error as { cause?: unknown }).cause;
    throw new Error(cause === undefined ? errorText(error) : `${errorText(error)}: ${errorText(cause)}`, {
      cause: error,
    });
  }
}

async function boundedBody(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > MAX_ANSWER_BYTES) throw new Error(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
