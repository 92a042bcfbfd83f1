import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { bytesUpTo, piecesOf, TooLong } from '../../outbound/body.js';
import { type ColdFiles, sinkUnavailable } from '../../../domain/evidence/cold-tier/files.js';

/** A place in an S3-compatible object store, with the credentials to write there. */
export interface S3Place {
  /** `https://host[:port]`. The bucket goes into the path, which every store understands. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Prefix of every key, without slashes at its ends; '' for the whole bucket. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3Options {
  /** The table's base URI for readers, when it is not `s3://bucket/prefix`. */
  readonly uri?: string | undefined;
  /** Limit of one attempt, which must be long enough for a whole data file. */
  readonly timeoutMs?: number;
  /** Wait before the second attempt. It doubles before each further one. */
  readonly backoffMs?: number;
  /** Longest answer that is read: a store holds no larger object of ours. */
  readonly maxBytes?: number;
}

const ATTEMPTS = 4;
const TIMEOUT_MS = 120_000;
const BACKOFF_MS = 250;
const MAX_BYTES = 512 * 1024 * 1024;
/** Transient faults. A store answers 409 to conditional writes of the same key at the same moment. */
const PASSING: readonly number[] = [408, 409, 429, 500, 502, 503, 504];

interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
}

/**
 * Files in an object store that supports conditional writes (`If-None-Match: *`). Requests are signed with AWS Signature Version 4, body
 * digest included. Transient faults are retried a few times. That is safe: a key always gets the same content, and a conditional write that
 * was stored before its answer was lost is answered with "exists". Errors name the store, the object and the store's error code, never our
 * credentials or the rest of the answer.
 */
export function s3Files(place: S3Place, options: S3Options = {}): ColdFiles {
  const { endpoint, bucket, prefix, region, accessKeyId, secretAccessKey } = place;
  const { uri, timeoutMs = TIMEOUT_MS, backoffMs = BACKOFF_MS, maxBytes = MAX_BYTES } = options;
  const { origin } = new URL(endpoint);
  const below = [bucket, ...(prefix === '' ? [] : [prefix])].join('/');
  const cache = new Map<string, ArrayBuffer>();

  async function attempt(method: 'GET' | 'PUT', file: string, content: Uint8Array | string, created: boolean) {
    const body = typeof content === 'string' ? Buffer.from(content) : content;
    const signed = await new AwsV4Signer({
      method,
      url: `${origin}/${below}/${file}`,
      headers: {
        'x-amz-content-sha256': hash('sha256', body, 'hex'),
        ...(created && { 'if-none-match': '*' }),
      },
      accessKeyId,
      secretAccessKey,
      service: 's3',
      region,
      cache,
    }).sign();
    const response = await fetch(signed.url, {
      method,
      headers: signed.headers,
      // A redirect means a wrong setting; never send a signature to another host.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...(method === 'PUT' && { body: body as Uint8Array<ArrayBuffer> }),
    });
    return { status: response.status, bytes: await bytesUpTo(maxBytes, piecesOf(response)) } satisfies Answer;
  }

  async function ask(
    method: 'GET' | 'PUT',
    file: string,
    content: Uint8Array | string = '',
    created = false,
  ): Promise<Answer> {
    for (let attempts = 1; ; attempts++) {
      let fault: string;
      let cause: unknown;
      try {
        const answer = await attempt(method, file, content, created);
        if (!PASSING.includes(answer.status)) return answer;
        fault = said(answer);
      } catch (error) {
        if (error instanceof TooLong)
          throw sinkUnavailable(faultText(method, file, `answered: ${error.message}`), error);
        fault = unanswered(error);
        cause = error;
      }
      if (attempts === ATTEMPTS) throw sinkUnavailable(faultText(method, file, fault), cause);
      // Jitter: two writers that collided do not collide again.
      await wait(backoffMs * 2 ** (attempts - 1) * (0.5 + Math.random() / 2));
    }
  }

  const faultText = (method: string, file: string, fault: string): string =>
    `the object store at ${origin} ${fault} to ${method} ${below}/${file}`;
  const refused = (method: string, file: string, answer: Answer) =>
    sinkUnavailable(faultText(method, file, said(answer)));

  return {
    location: (uri ?? `s3://${below}`).replace(/(?<!\/)\/+$/, ''),
    async write(file, content) {
      const answer = await ask('PUT', file, content);
      if (!isDone(answer)) throw refused('PUT', file, answer);
    },
    async create(file, content) {
      const answer = await ask('PUT', file, content, true);
      if (answer.status === 412) return false;
      if (!isDone(answer)) throw refused('PUT', file, answer);
      return true;
    },
    async read(file) {
      const answer = await ask('GET', file);
      if (answer.status === 404 && codeOf(answer) !== 'NoSuchBucket') return null;
      if (answer.status !== 200) throw refused('GET', file, answer);
      return answer.bytes.toString('utf8');
    },
    async digest(file) {
      const answer = await ask('GET', file);
      if (answer.status !== 200) throw refused('GET', file, answer);
      return hash('sha256', answer.bytes, 'hex');
    },
  };
}

const isDone = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** The store's error code. The rest of the body repeats the request, including our key id and signature, so it is not quoted. */
const codeOf = ({ bytes }: Answer): string | undefined =>
  /<Code>([A-Za-z]{1,64})<\/Code>/.exec(bytes.toString('utf8', 0, 4_096))?.[1];
const said = (answer: Answer): string => ['answered', answer.status, codeOf(answer)].filter(Boolean).join(' ');

function unanswered(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
  if (name === 'TimeoutError') return 'did not answer in time';
  return `did not answer (${typeof cause?.code === 'string' ? cause.code : 'no connection'})`;
}
