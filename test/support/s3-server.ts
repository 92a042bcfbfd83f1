import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the next request that fits is answered with instead, or what happens to its answer. */
export interface S3Fault {
  readonly method?: string;
  /** Part of the path. */
  readonly path?: string;
  readonly times?: number;
  /** Answered without being looked at. */
  readonly status?: number;
  /** The request is carried out, and its answer never comes. */
  readonly lost?: true;
  /** Nothing is answered, ever. */
  readonly silent?: true;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestS3Server {
  readonly url: string;
  /** By `/bucket/key`. */
  readonly objects: ReadonlyMap<string, Buffer>;
  /** `METHOD /bucket/key status` of what was answered, in order. */
  readonly log: readonly string[];
  /** What somebody else with a key writes. */
  put(path: string, content: Buffer): void;
  fail(fault: S3Fault): void;
  close(): Promise<void>;
}

export const S3_KEY = { accessKeyId: 'AKIDTESTTESTTEST', secretAccessKey: 'a-secret-of-the-test-only' } as const;
export const S3_REGION = 'eu-test-1';
export const S3_BUCKET = 'cold-bucket';

/**
 * An object store that speaks as much of S3 as a table needs: PUT and GET by path, conditional writes, and AWS Signature Version 4, which it
 * checks by itself (AWS General Reference, "Create a signed AWS API request"). `readers` may read without a signature; `unconditional` ignores
 * If-None-Match, as some stores do.
 */
export async function s3Server({
  readers = false,
  unconditional = false,
}: {
  readonly readers?: boolean;
  readonly unconditional?: boolean;
} = {}): Promise<TestS3Server> {
  const objects = new Map<string, Buffer>();
  const log: string[] = [];
  let faults: (S3Fault & { left: number })[] = [];

  const answer = (request: IncomingMessage, body: Buffer): { status: number; code?: string; content?: Buffer } => {
    const path = new URL(request.url ?? '', 'http://s3').pathname;
    const reading = request.method === 'GET' || request.method === 'HEAD';
    if (!(readers && reading && request.headers.authorization === undefined)) {
      const code = signatureFault(request, body);
      if (code) return { status: 403, code };
    }
    if (path.split('/')[1] !== S3_BUCKET) return { status: 404, code: 'NoSuchBucket' };
    if (reading) {
      const content = objects.get(path);
      return content ? { status: 200, content } : { status: 404, code: 'NoSuchKey' };
    }
    if (request.method !== 'PUT') return { status: 405, code: 'MethodNotAllowed' };
    if (request.headers['if-none-match'] === '*' && objects.has(path) && !unconditional)
      return { status: 412, code: 'PreconditionFailed' };
    objects.set(path, body);
    return { status: 200 };
  };

  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url = '' } = request;
      const fault = faults.find((it) => (!it.method || it.method === method) && (!it.path || url.includes(it.path)));
      if (fault && --fault.left === 0) faults = faults.filter((it) => it !== fault);
      if (fault?.silent) return void log.push(`${method} ${url} silent`);
      if (fault?.status !== undefined) {
        log.push(`${method} ${url} ${fault.status}`);
        return void response.writeHead(fault.status, { ...fault.headers }).end(errorBody('SlowDown'));
      }
      const answered = answer(request, Buffer.concat(parts));
      log.push(`${method} ${url} ${fault?.lost ? 'lost' : answered.status}`);
      if (fault?.lost) return void request.socket.destroy();
      send(request, response, answered);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    log,
    put: (path, content) => void objects.set(path, content),
    fail: (fault) => void faults.push({ ...fault, left: fault.times ?? 1 }),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, code, content }: { status: number; code?: string; content?: Buffer },
): void {
  if (code !== undefined)
    return void response.writeHead(status, { 'content-type': 'application/xml' }).end(errorBody(code));
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
  const part = content && range ? content.subarray(Number(range[1]), Number(range[2]) + 1) : content;
  response.writeHead(range ? 206 : status, { 'content-length': part?.length ?? 0 }).end(part);
}

/** As stores write them: with what was asked in them, which nobody must hand on. */
const errorBody = (code: string): string =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message><AWSAccessKeyId>${S3_KEY.accessKeyId}</AWSAccessKeyId><StringToSign>text</StringToSign></Error>`;

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Why a request is not one of the test's key; `null` for one that is. */
function signatureFault(request: IncomingMessage, body: Buffer): string | null {
  const { headers, method = '', url = '' } = request;
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (!match) return 'AccessDenied';
  const [, keyId, day = '', region = '', names = '', signature = ''] = match;
  if (keyId !== S3_KEY.accessKeyId) return 'InvalidAccessKeyId';
  if (region !== S3_REGION) return 'AuthorizationHeaderMalformed';
  const date = String(headers['x-amz-date']);
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!(Math.abs(Date.now() - at) < 900_000) || !date.startsWith(day)) return 'RequestTimeTooSkewed';
  const signed = names.split(';');
  const needed = ['host', 'x-amz-content-sha256', 'x-amz-date', ...(headers['if-none-match'] ? ['if-none-match'] : [])];
  if (needed.some((name) => !signed.includes(name)) || signed.join() !== signed.toSorted().join())
    return 'SignatureDoesNotMatch';
  const digest = String(headers['x-amz-content-sha256']);
  if (digest !== sha256(body)) return 'XAmzContentSHA256Mismatch';
  const { pathname, searchParams } = new URL(url, 'http://s3');
  const encoded = (text: string) =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const canonical = [
    method,
    pathname
      .split('/')
      .map((segment) => encoded(decodeURIComponent(segment)))
      .join('/'),
    [...searchParams]
      .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
      .toSorted()
      .join('&'),
    ...signed.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/\s+/g, ' ')}`),
    '',
    names,
    digest,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const key = [region, 's3', 'aws4_request'].reduce<Buffer>(hmac, hmac(`AWS4${S3_KEY.secretAccessKey}`, day));
  const expected = hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n'));
  return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? null : 'SignatureDoesNotMatch';
}
