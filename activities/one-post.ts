import { type Dispatcher, request } from 'undici';
import { bytesUpTo, upTo } from '../adapters/outbound/body.js';
import { decoded } from '../adapters/outbound/decoded.js';
import { membersOf } from '../domain/mcp/reply.js';
import { foreignText } from '../domain/text.js';
import { isLog, serverMessagesIn } from './server-messages.js';
import { Cancelled, TimedOut } from './unknown-outcome.js';
import { surelyNotSent } from './clients/unsent.js';

/** How an upstream answered one POST. */
export type Posted = { readonly status: number } & (
  | { readonly kind: 'message'; readonly headers: Headers; readonly message: ReadonlyMap<string, string> }
  | { readonly kind: 'accepted'; readonly headers: Headers }
  /** Another status than 2xx. `said` is the beginning of the body; `message` is the body if it is a JSON object. */
  | { readonly kind: 'refused'; readonly said: string; readonly message: ReadonlyMap<string, string> | null }
);
type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Post {
  readonly url: string | URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly dispatcher: Dispatcher;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** Whether a message is the awaited one. Called with every message that arrives. */
  readonly isAnswer: (message: ReadonlyMap<string, string>) => boolean;
}

/** The other end answered, but without a reply to the request. */
export class NoReply extends Error {}

const SAID = 300;
const MAX_REFUSAL_BYTES = 65_536;
/** What a message comes as, or what servers that say nothing better call it. */
const MAY_BE_JSON =
  /^(?:$|text\/plain$|text\/json$|application\/octet-stream$|application\/(?:[a-z0-9.-]{1,100}\+)?json$)/;
/** Limits the progress of a long call. A flood of it would keep this process busy for as long as it lasts. */
const MAX_MESSAGES = 10_000;
/** How long a stream may take to end after its answer, so that its connection can be used again. */
const LAST_BYTES_MS = 200;

/**
 * Sends one request once, with undici's plain request, which follows no redirect and repeats nothing. Its `fetch` repeats a request that
 * was answered 421, as the Fetch standard demands. Rejects when no answer came.
 */
export async function post({
  url,
  headers,
  text,
  dispatcher,
  timeoutMs,
  maxBytes,
  signal,
  isAnswer,
}: Post): Promise<Posted> {
  const limit = AbortSignal.timeout(Math.max(1, timeoutMs));
  const ending = signal ? AbortSignal.any([signal, limit]) : limit;
  try {
    const answer = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'accept-encoding': 'identity', ...headers },
      body: text,
      dispatcher,
      headersTimeout: 0,
      bodyTimeout: 0,
      signal: ending,
    });
    const { body } = answer;
    const head = { status: answer.statusCode, headers: answer.headers };
    // The reader ends the stream once it stops reading; later messages were not asked for.
    body.on('error', () => undefined);
    const raw = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    const coding = answer.headers['content-encoding'];
    const type = contentType(answer.headers['content-type']);
    try {
      if (answer.statusCode < 300 && type === 'text/event-stream') {
        let seen = 0;
        for await (const message of serverMessagesIn(decoded(coding, raw, ending), { maxBytes, signal: ending })) {
          if (message && isAnswer(message)) return { ...head, kind: 'message', message };
          if (message && isLog(message)) continue;
          seen += 1;
          if (seen > MAX_MESSAGES)
            throw new NoReply(`the upstream sent more than ${MAX_MESSAGES} messages before a reply`);
        }
        throw new NoReply('the upstream ended its answer without a reply');
      }
      // Nothing coded was asked for, but some proxies do it all the same. The limit holds before and behind it.
      const chunks = upTo(maxBytes, decoded(coding, upTo(maxBytes, raw), ending));
      if (answer.statusCode >= 300) return await refusalOf(answer.statusCode, chunks);
      const whole = (await bytesUpTo(maxBytes, chunks)).toString('utf8');
      if (whole === '') return { ...head, kind: 'accepted' };
      if (!MAY_BE_JSON.test(type)) throw new NoReply(`the upstream answered with ${wordsOf(type)}`);
      const message = membersOf(whole);
      if (message && isAnswer(message)) return { ...head, kind: 'message', message };
      throw new NoReply('the upstream answered with something that is no reply to the request');
    } finally {
      body.resume();
      setTimeout(() => body.destroy(), LAST_BYTES_MS).unref();
    }
  } catch (error) {
    if (limit.aborted) throw new TimedOut();
    // A connection that was never made is reported as such: then nothing was sent.
    if (signal?.aborted && !surelyNotSent(error)) throw new Cancelled();
    throw error;
  }
}

async function refusalOf(status: number, chunks: AsyncIterable<Buffer>): Promise<Posted> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MAX_REFUSAL_BYTES) break;
  }
  const text = Buffer.concat(parts).toString('utf8');
  return { kind: 'refused', status, said: foreignText(text, SAID), message: membersOf(text) };
}

/** What people and agents are told of a type that is no message. A name that nobody registered may say anything to a model. */
const KNOWN_TYPES: ReadonlySet<string> = new Set([
  'text/html',
  'text/xml',
  'text/css',
  'text/csv',
  'text/javascript',
  'application/xml',
  'application/xhtml+xml',
  'application/javascript',
  'application/pdf',
  'application/zip',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/mixed',
]);
const KNOWN_KINDS: ReadonlySet<string> = new Set([
  'text',
  'application',
  'image',
  'audio',
  'video',
  'font',
  'multipart',
]);
function wordsOf(type: string): string {
  if (KNOWN_TYPES.has(type)) return `the type ${type}`;
  const [kind = ''] = type.split('/');
  return KNOWN_KINDS.has(kind) ? `a type of ${kind} that is no message` : 'a type that is no message';
}

const contentType = (value: string | string[] | undefined): string =>
  (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).split(';')[0]?.trim().toLowerCase() ?? '';
