import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseCallbackAllowlist } from '../../domain/outbound/callback-url.js';
import { callbackSignature, createCallbackSender } from './callback-sender.js';

const correlationId = '6f0f5f5e-6f0a-4a54-9a5e-2f1d4c3b2a10';
const body = JSON.stringify({
  correlation_id: correlationId,
  pending_id: '0d9a5f5e-6f0a-4a54-9a5e-2f1d4c3b2a10',
  status: 'approved',
  decision: 'allow',
  decision_kind: 'approve',
  decider_note: 'größer als nötig',
  decided_at: '2026-11-18T10:00:00.000Z',
});
const secret = 'a-callback-secret-of-some-length-42';

let received: { method: string | undefined; url: string | undefined; headers: IncomingHttpHeaders; body: Buffer }[];
let status: number;
let server: ReturnType<typeof createServer>;
let port: number;
beforeEach(async () => {
  received = [];
  status = 200;
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: Buffer.concat(chunks),
      });
      response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end('thanks');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const sender = (options: { secret?: string; allow?: string[]; allowPrivate?: string[]; now?: () => Date } = {}) =>
  createCallbackSender({
    allowlist: parseCallbackAllowlist(options.allow ?? [`http://127.0.0.1:${port}/hil`]),
    allowPrivate: options.allowPrivate ?? [`127.0.0.1:${port}`],
    ...(options.secret && { secret: options.secret }),
    ...(options.now && { now: options.now }),
  });
const callback = () => ({ url: `http://127.0.0.1:${port}/hil/decided?ticket=1`, body, correlationId });

describe('the sender of callbacks', () => {
  it('is one POST of the given bytes with the correlation id', async () => {
    await sender()(callback());
    expect(received).toHaveLength(1);
    const [request] = received;
    expect(request).toMatchObject({ method: 'POST', url: '/hil/decided?ticket=1' });
    expect(request?.body.toString('utf8')).toBe(body);
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-gate-correlation-id': correlationId,
    });
    expect(request?.headers['content-length']).toBe(String(Buffer.byteLength(body)));
  });

  it('is not signed without a secret', async () => {
    await sender()(callback());
    expect(received[0]?.headers).not.toHaveProperty('x-gate-signature');
    expect(received[0]?.headers).not.toHaveProperty('x-gate-timestamp');
  });

  it('is signed over timestamp, dot and body when a secret is set', async () => {
    await sender({ secret, now: () => new Date('2026-11-18T10:00:00.900Z') })(callback());
    const [request] = received;
    expect(request?.headers['x-gate-timestamp']).toBe('1794996000');
    const expected = createHmac('sha256', secret)
      .update('1794996000.')
      .update(request?.body as Buffer)
      .digest('hex');
    expect(request?.headers['x-gate-signature']).toBe(`v1=${expected}`);
    expect(callbackSignature('key', '1', 'body')).toBe(
      'v1=91b5374b153842ad05b2c4eab9349b8321b14703165bd3fb8b034dfb8be98ae5',
    );
  });

  it('carries the same bytes at every attempt, each signed at its own time', async () => {
    let second = 0;
    const deliver = sender({ secret, now: () => new Date(1_000_000 + (second += 1_000)) });
    status = 503;
    await expect(deliver(callback())).rejects.toMatchObject({ final: false });
    status = 200;
    await deliver(callback());
    expect(received.map((request) => request.body.toString())).toEqual([body, body]);
    expect(new Set(received.map(({ headers }) => headers['x-gate-timestamp'])).size).toBe(2);
  });
});

describe('which failures may be tried again', () => {
  it.each([
    [500, false],
    [503, false],
    [429, false],
    [408, false],
    [400, true],
    [401, true],
    [404, true],
    [409, true],
    [301, true],
    [302, true],
    [307, true],
    [308, true],
  ])('status %i: final %s, and nothing is sent elsewhere', async (answer, final) => {
    status = answer;
    await expect(sender()(callback())).rejects.toMatchObject({ name: 'OutboundError', final, status: answer });
    expect(received).toHaveLength(1);
  });

  it('a refused connection may be tried again', async () => {
    const deliver = sender({ allow: ['http://127.0.0.1:1'], allowPrivate: ['127.0.0.1:1'] });
    await expect(deliver({ ...callback(), url: 'http://127.0.0.1:1/hil' })).rejects.toMatchObject({ final: false });
  });

  it.each([
    ['an address outside the allowlist', { allow: ['https://hooks.example.com'] }],
    ['an allowlist that is empty by now', { allow: [] }],
    ['a private address that is not listed', { allowPrivate: [] }],
  ])('%s is final and nothing is sent', async (_name, options) => {
    await expect(sender(options)(callback())).rejects.toMatchObject({ final: true, fault: 'forbidden_address' });
    expect(received).toHaveLength(0);
  });

  it('a body over 65,536 bytes is final and nothing is sent', async () => {
    await expect(sender()({ ...callback(), body: 'x'.repeat(65_537) })).rejects.toMatchObject({ final: true });
    expect(received).toHaveLength(0);
  });
});
