import { setTimeout as sleep } from 'node:timers/promises';
import { GateConfigError, GateError, GateRefused, GateTransportError, quoted } from './errors.js';
import { itemsOf, type ListOf, pagingOf, type RowOf } from './paging.js';
import { eventsIn, type ServerEvent, valuesIn } from './streams.js';
import type {
  AnswerOf,
  Args,
  Given,
  Method,
  OperationAt,
  PathOfKind,
  PathWith,
  RequestOptions,
  ServiceName,
  Services,
} from './types.js';

export interface ClientOptions {
  /** Address of the service, or of a lite. A prefix of its path is kept. */
  readonly url: string;
  /** Bearer token of an operator; a function is asked before each attempt, for one that changes. */
  readonly token?: string | (() => string | Promise<string>);
  /** Which tenant is meant, where the token is for several. */
  readonly tenant?: string;
  /** Instead of the global one: that of `openTransport` (`@gate/agent-sdk/mtls`) shows a certificate. */
  readonly fetch?: typeof fetch;
  /** For one attempt, its answer included: 1 to 600,000 ms. Default 30,000. */
  readonly timeoutMs?: number;
  /** Attempts 1 to 10 and the first pause, 0 to 60,000 ms. Default 3 and 100. */
  readonly retry?: { readonly maxAttempts?: number; readonly baseDelayMs?: number };
}

export interface StreamOptions extends Pick<RequestOptions, 'signal'> {
  /** The place behind which the stream begins. Default: now. */
  readonly lastId?: string;
  /** A stream that says nothing for so long is lost, and opened again. Default 45,000 ms. */
  readonly silentMs?: number;
}

/** What is posted here is done once for each `Idempotency-Key`, so it may be sent again. */
const KEYED = ['/tenants/{tenant}/lifecycle', '/tenants/{tenant}/offboard'] as const satisfies readonly PathWith<
  Services['identity'],
  'post'
>[];

const MOST_TEXT = 16 * 2 ** 20;
const MOST_BYTES = 64 * 2 ** 20;
const LONGEST_PAUSE_MS = 60_000;
const SILENT_MS = 45_000;
const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const PLACEHOLDER = /\{([^{}]+)\}/g;

type Loose = RequestOptions & {
  readonly path?: Readonly<Record<string, string | number>> | undefined;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
};
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
}

/** One service of Gate. Each method takes a path as its OpenAPI writes it, and what that path needs. */
export class ServiceClient<S extends ServiceName> {
  readonly service: S;
  readonly #url: string;
  readonly #options: ClientOptions;
  readonly #timeoutMs: number;
  readonly #maxAttempts: number;
  readonly #baseDelayMs: number;

  constructor(service: S, options: ClientOptions) {
    this.service = service;
    this.#options = options;
    this.#url = addressOf(options);
    this.#timeoutMs = within('timeoutMs', options.timeoutMs ?? 30_000, 1, 600_000);
    this.#maxAttempts = Math.floor(within('retry.maxAttempts', options.retry?.maxAttempts ?? 3, 1, 10));
    this.#baseDelayMs = within('retry.baseDelayMs', options.retry?.baseDelayMs ?? 100, 0, LONGEST_PAUSE_MS);
  }

  /** Asked again where no answer came, or a 5xx. */
  get<Path extends PathWith<Services[S], 'get'>>(
    path: Path,
    ...[given]: Args<OperationAt<Services[S], 'get', Path>>
  ): Promise<AnswerOf<OperationAt<Services[S], 'get', Path>>> {
    return this.#json('get', path, given);
  }

  /** The same, and `null` where there is no such thing. */
  async find<Path extends PathWith<Services[S], 'get'>>(
    path: Path,
    ...[given]: Args<OperationAt<Services[S], 'get', Path>>
  ): Promise<AnswerOf<OperationAt<Services[S], 'get', Path>> | null> {
    try {
      return await this.#json('get', path, given);
    } catch (error) {
      if (error instanceof GateRefused && error.status === 404) return null;
      throw error;
    }
  }

  /** Sent once. With `idempotencyKey`, where the path takes one, it is sent again like a question: the same bytes under the same key. */
  post<Path extends PathWith<Services[S], 'post'>>(
    path: Path,
    ...[given]: PostArgs<S, Path>
  ): Promise<AnswerOf<OperationAt<Services[S], 'post', Path>>> {
    return this.#json('post', path, given);
  }

  put<Path extends PathWith<Services[S], 'put'>>(
    path: Path,
    ...[given]: Args<OperationAt<Services[S], 'put', Path>>
  ): Promise<AnswerOf<OperationAt<Services[S], 'put', Path>>> {
    return this.#json('put', path, given);
  }

  patch<Path extends PathWith<Services[S], 'patch'>>(
    path: Path,
    ...[given]: Args<OperationAt<Services[S], 'patch', Path>>
  ): Promise<AnswerOf<OperationAt<Services[S], 'patch', Path>>> {
    return this.#json('patch', path, given);
  }

  delete<Path extends PathWith<Services[S], 'delete'>>(
    path: Path,
    ...[given]: Args<OperationAt<Services[S], 'delete', Path>>
  ): Promise<AnswerOf<OperationAt<Services[S], 'delete', Path>>> {
    return this.#json('delete', path, given);
  }

  /** A text, such as the checkpoint of the ledger. */
  async text<Path extends PathOfKind<Services[S], 'get', 'text/plain' | 'text/markdown'>>(
    path: Path,
    given?: RequestOptions,
  ): Promise<string> {
    return textOf(await this.#answer('get', path, given ?? {}, MOST_TEXT));
  }

  /** A file, at most 64 MiB of it, such as the export for an authority. */
  async bytes<
    M extends 'get' | 'post',
    Path extends PathOfKind<Services[S], M, 'application/gzip' | 'application/vnd.apache.parquet'>,
  >(method: M, path: Path, given: Given<OperationAt<Services[S], M, Path>>): Promise<Uint8Array> {
    return (await this.#answer(method, path, given as Loose, MOST_BYTES)).bytes;
  }

  /** All rows of a list, a page at a time as they are read. */
  async *each<Path extends ListOf<S>>(
    path: Path,
    given?: Given<OperationAt<Services[S], 'get', Path>>,
  ): AsyncGenerator<RowOf<S, Path>, void, undefined> {
    const paging = pagingOf(this.service, path);
    if (paging === undefined) throw new GateConfigError(`${path} has no pages`);
    const asked = (given ?? {}) as Loose;
    for (let next: string | number | undefined; ; ) {
      const query = next === undefined ? asked.query : { ...asked.query, [paging.parameter]: next };
      const answer = await this.#answer('get', path, { ...asked, query }, MOST_TEXT);
      const body = jsonOf(answer);
      const rows = itemsOf(body);
      yield* rows as RowOf<S, Path>[];
      const following = paging.next({ body, headers: answer.headers });
      if (following === undefined) return;
      // Where a Gate says the same place twice nobody would ever come to the end.
      if (following === next) throw new GateTransportError(`${path} does not go on behind ${quoted(String(next))}`);
      next = following;
    }
  }

  /**
   * The events of a stream, from now or from behind `lastId`, until `signal`. A connection that is lost, or silent, is opened again behind
   * the last event that was read. Of a stream that begins now the first event is `open`: whoever lists what there is at `open`, and again at
   * `reset`, misses nothing between the list and the events. Throws `GateRefused` where Gate says no.
   */
  async *events<Path extends PathOfKind<Services[S], 'get', 'text/event-stream'>>(
    path: Path,
    { signal, lastId = '', silentMs = SILENT_MS }: StreamOptions = {},
  ): AsyncGenerator<ServerEvent, void, undefined> {
    let known = lastId;
    for (let failed = 0; !signal?.aborted; ) {
      const ended = new AbortController();
      const silence = setTimeout(() => ended.abort(), silentMs);
      try {
        const headers = { accept: 'text/event-stream', ...(known !== '' && { 'last-event-id': known }) };
        const whole = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
        const answer = await this.#send('get', path, { headers }, whole);
        if (answer.status !== 200) throw await faultOf(answer, whole);
        if (known === '') yield { id: '', event: 'open', data: '' };
        const pieces = heard(piecesOf(answer, whole), () => silence.refresh());
        for await (const event of eventsIn(pieces)) {
          failed = 0;
          if (event.id !== '') known = event.id;
          if (event.data !== '') yield event;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (statusOf(asTransport(error, this.#url)) < 500) throw error;
      } finally {
        clearTimeout(silence);
        ended.abort();
      }
      failed += 1;
      await sleep(this.#pauseMs(failed), undefined, signal ? { signal } : {}).catch(() => undefined);
    }
  }

  /** An answer of lines of JSON, each as it comes, such as those of a policy lab. Without a limit of time, until `signal`. */
  async *lines<Path extends PathOfKind<Services[S], 'post', 'application/x-ndjson'>>(
    path: Path,
    given: Given<OperationAt<Services[S], 'post', Path>>,
  ): AsyncGenerator<unknown, void, undefined> {
    const ended = new AbortController();
    const { signal } = given as Loose;
    const whole = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
    try {
      const answer = await this.#send('post', path, given as Loose, whole);
      if (answer.status !== 200) throw await faultOf(answer, whole);
      yield* valuesIn(piecesOf(answer, whole));
    } catch (error) {
      signal?.throwIfAborted();
      throw asTransport(error, this.#url);
    } finally {
      ended.abort();
    }
  }

  async #json<Body>(method: Method, path: string, given: unknown): Promise<Body> {
    const answer = await this.#answer(method, path, (given ?? {}) as Loose, MOST_TEXT);
    return (answer.bytes.length === 0 ? undefined : jsonOf(answer)) as Body;
  }

  async #answer(method: Method, path: string, given: Loose, most: number): Promise<Answer> {
    if (given.idempotencyKey !== undefined && !(KEYED as readonly string[]).includes(path))
      throw new GateConfigError(`${method.toUpperCase()} ${path} takes no idempotencyKey`);
    const attempts = method === 'get' || given.idempotencyKey !== undefined ? this.#maxAttempts : 1;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(method, path, given, most);
      } catch (error) {
        if (attempt >= attempts || statusOf(error) < 500) throw error;
      }
      await sleep(this.#pauseMs(attempt), undefined, given.signal ? { signal: given.signal } : {});
    }
  }

  #pauseMs(attempt: number): number {
    return Math.min(this.#baseDelayMs * 2 ** (attempt - 1), LONGEST_PAUSE_MS) * (0.5 + 0.5 * Math.random());
  }

  async #attempt(method: Method, path: string, given: Loose, most: number): Promise<Answer> {
    const timeoutMs = within('timeoutMs', given.timeoutMs ?? this.#timeoutMs, 1, 600_000);
    const time = AbortSignal.timeout(timeoutMs);
    const signal = given.signal ? AbortSignal.any([time, given.signal]) : time;
    try {
      const answer = await this.#send(method, path, given, signal);
      if (answer.status < 200 || answer.status >= 300) throw await faultOf(answer, signal);
      return { status: answer.status, headers: answer.headers, bytes: await bytesOf(answer, signal, most) };
    } catch (error) {
      if (error instanceof GateError) throw error;
      given.signal?.throwIfAborted();
      if (time.aborted)
        throw new GateTransportError(`${this.service} did not answer within ${timeoutMs} ms`, { cause: error });
      throw asTransport(error, this.#url);
    }
  }

  async #send(method: Method, path: string, given: Loose, signal: AbortSignal): Promise<Response> {
    const { token, tenant, fetch = globalThis.fetch } = this.#options;
    const address = `${this.#url}${joined(path, given)}`;
    const bearer = typeof token === 'function' ? await token() : token;
    return fetch(address, {
      method: method.toUpperCase(),
      headers: {
        accept: 'application/json',
        ...(tenant !== undefined && { 'x-gate-tenant-scope': tenant }),
        ...given.headers,
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(given.idempotencyKey !== undefined && { 'idempotency-key': given.idempotencyKey }),
        ...(given.body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(given.body !== undefined && { body: JSON.stringify(given.body) }),
      redirect: 'manual',
      signal,
    });
  }
}

type PostArgs<S extends ServiceName, Path extends keyof Services[S]> =
  | Args<OperationAt<Services[S], 'post', Path>>
  | (Path extends (typeof KEYED)[number]
      ? [Given<OperationAt<Services[S], 'post', Path>> & { readonly idempotencyKey: string }]
      : never);

/** A service of Gate at an address. Throws `GateConfigError` for options that cannot be meant. */
export const connect = <S extends ServiceName>(service: S, options: ClientOptions): ServiceClient<S> =>
  new ServiceClient(service, options);

function within(name: string, value: number, least: number, most: number): number {
  if (!Number.isFinite(value) || value < least || value > most)
    throw new GateConfigError(`${name} must be a number from ${least} to ${most}, and is ${String(value)}`);
  return value;
}

function addressOf({ url: text, token }: ClientOptions): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // Without its text, which may have a password in it.
    throw new GateConfigError('url is no address');
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new GateConfigError(`url must be http or https, and is ${url.protocol}`);
  if (url.username !== '' || url.password !== '' || text.includes('?') || text.includes('#'))
    throw new GateConfigError('url must have no user information, no query and no fragment');
  if (token !== undefined && url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    throw new GateConfigError(`a token goes over https alone, except to this machine; url is ${url.origin}`);
  return text.endsWith('/') ? text.slice(0, -1) : text;
}

/** The path with what was given in its places. A part is one part: a slash, or dots, in it lead nowhere else. */
function joined(path: string, { path: given = {}, query = {} }: Loose): string {
  const filled = path.replace(PLACEHOLDER, (_, name: string) => {
    const value = String(given[name] ?? '');
    if (value === '' || value === '.' || value === '..')
      throw new GateConfigError(`${path}: ${name} cannot be ${value === '' ? 'empty' : value}`);
    return encodeURIComponent(value);
  });
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) asked.append(name, String(value));
  return asked.size === 0 ? filled : `${filled}?${asked.toString()}`;
}

/** Of what was answered; 503 where nothing was, and 0 for what is no fault of the connection. */
const statusOf = (error: unknown): number =>
  error instanceof GateRefused || error instanceof GateTransportError ? (error.status ?? 503) : 0;

const asTransport = (error: unknown, url: string): GateError => {
  if (error instanceof GateError) return error;
  const { cause, message } = error as Error & { cause?: unknown };
  const why = cause instanceof Error ? cause.message || String((cause as { code?: string }).code) : message;
  return new GateTransportError(`gate was not reached at ${url}: ${quoted(String(why))}`, { cause: error });
};

/** A refusal of Gate's has a code; anything else is somebody else's answer. */
async function faultOf(answer: Response, signal: AbortSignal): Promise<GateError> {
  const text = new TextDecoder().decode(await bytesOf(answer, signal, 2 ** 20));
  try {
    const body = JSON.parse(text) as { error?: unknown } | null;
    if (typeof body?.error === 'string') return new GateRefused(answer.status, body.error, body as { error: string });
  } catch {
    // Its text is quoted.
  }
  return new GateTransportError(`HTTP ${answer.status}, not with Gate's words: ${quoted(text)}`, {
    status: answer.status,
  });
}

async function* piecesOf(answer: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (answer.body === null) return;
  const reader = answer.body.getReader();
  const end = (): void => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', end, { once: true });
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

async function* heard(pieces: AsyncIterable<Uint8Array>, hear: () => void): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    hear();
    yield piece;
  }
}

async function bytesOf(answer: Response, signal: AbortSignal, most: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of piecesOf(answer, signal)) {
    size += part.length;
    if (size > most) throw new GateTransportError(`the answer has more than ${most} bytes`, { status: answer.status });
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const textOf = ({ bytes, status }: Answer): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new GateTransportError('the answer is no UTF-8', { status, cause });
  }
};

function jsonOf(answer: Answer): unknown {
  const text = textOf(answer);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GateTransportError(`the answer is no JSON: ${quoted(text)}`, { status: answer.status, cause });
  }
}
