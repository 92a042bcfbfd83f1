import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../api/plugins/service.js';
import { type DevLeaf, issueAgent } from '../../stack/certificates/dev-pki.js';
import { bareService } from '../../test/support/bare-service.js';
import { ensureTestPki, type TestPki } from '../../test/support/service-certificates.js';
import { createMtlsFetch, type MtlsFetchOptions } from './mtls-fetch.js';
import { surelyNotSent } from './unsent.js';

let folder: string;
let pki: TestPki;
let service: Service;
let url: string;
let requests: string[] = [];
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-mtls-'));
  pki = await ensureTestPki({ stateDir: folder, trustDomain: 'gate.local' });
  service = bareService({ name: 'ledger', tls: { ...pki.services.ledger, clientCertificate: 'required' } });
  service.app.addHook('onRequest', (request, _reply, done) => {
    requests.push(
      `${request.method} ${request.url} from ${request.caller?.callerId} port ${request.socket.remotePort}`,
    );
    done();
  });
  service.app.post('/echo', (request, reply) => reply.code(201).send(request.body));
  service.app.post('/cut', (_request, reply) => {
    reply.hijack();
    reply.raw.destroy();
  });
  service.app.get('/never', () => new Promise(() => {}));
  service.app.get('/slow-body', (_request, reply) => {
    reply.hijack();
    reply.raw.write('{');
  });
  service.app.get('/big', () => 'x'.repeat(10_000));
  service.app.get('/events', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\n\n');
  });
  const { port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
  url = `https://127.0.0.1:${port}`;
});
afterEach(async () => {
  requests = [];
  for (const client of open.splice(0)) await client.close();
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

function client(overrides: Partial<MtlsFetchOptions> = {}, leaf: DevLeaf = pki.services.proxy) {
  const call = createMtlsFetch({
    ca: pki.ca,
    cert: leaf.cert,
    key: leaf.key,
    expectedServerSpiffe: 'spiffe://gate.local/service/ledger',
    timeoutMs: 5_000,
    ...overrides,
  });
  open.push(call);
  return call;
}
const json = { 'content-type': 'application/json' };

describe('a stream of another service', () => {
  it('takes no connection from calls: with a hundred of them open a call is answered', async () => {
    const asking = client();
    const ended = new AbortController();
    const streams: Awaited<ReturnType<typeof asking.stream>>[] = [];
    for (let at = 0; at < 100; at += 1)
      streams.push(await asking.stream(`${url}/events`, { headers: {}, signal: ended.signal }));
    expect(streams.map(({ status }) => status)).toEqual(Array(100).fill(200));
    expect((await asking(`${url}/echo`, { method: 'POST', headers: json, body: '{}' })).status).toBe(201);
    // Nobody reads these streams, so ending them has no other effect.
    ended.abort();
  });

  it('is asked for with a body too, and told to who reads it that it was cut off', async () => {
    const ended = new AbortController();
    const asking = client();
    const { status, body } = await asking.stream(`${url}/echo`, {
      method: 'POST',
      headers: json,
      body: '{"a":1}',
      signal: ended.signal,
    });
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    expect([status, Buffer.concat(parts).toString()]).toEqual([201, '{"a":1}']);
    const events = await asking.stream(`${url}/events`, { headers: {}, signal: ended.signal });
    const read = (async () => {
      for await (const _ of events.body) ended.abort();
    })();
    await expect(read).rejects.toThrow(/abort/i);
  });
});

describe('a call to another service over mutual TLS', () => {
  it('arrives under the caller id of its certificate and brings status and body back', async () => {
    const reply = await client()(`${url}/echo?x=1`, { method: 'POST', headers: json, body: '{"a":1}' });
    expect([reply.status, await reply.text()]).toEqual([201, '{"a":1}']);
    expect(requests[0]).toMatch(/^POST \/echo\?x=1 from service-proxy /);
  });

  it('keeps its connections for later calls', async () => {
    const call = client();
    for (let i = 0; i < 8; i += 1) await call(`${url}/echo`, { method: 'POST', headers: json, body: '{}' });
    // One call may overlap with the release of the connection of the call before.
    expect(new Set(requests).size).toBeLessThanOrEqual(2);
  });

  it('knows the server by its SPIFFE id, not by its host name', async () => {
    const reply = await client()(url.replace('127.0.0.1', 'localhost'), { method: 'GET' });
    expect(reply.status).toBe(404);
    const either = ['spiffe://gate.local/service/hil', 'spiffe://gate.local/service/ledger'];
    expect((await client({ expectedServerSpiffe: either })(url, { method: 'GET' })).status).toBe(404);
  });
});

describe('a server that is not the expected one never sees the request', () => {
  it.each([
    ['another service', 'spiffe://gate.local/service/hil'],
    ['an id that only starts like the expected one', 'spiffe://gate.local/service/ledge'],
    ['another trust domain', 'spiffe://other.local/service/ledger'],
  ])('%s', async (_what, expectedServerSpiffe) => {
    const call = client({ expectedServerSpiffe });
    for (let i = 0; i < 2; i += 1)
      await expect(call(`${url}/echo`, { method: 'POST', headers: json, body: '{}' })).rejects.toThrow(
        `the server is spiffe://gate.local/service/ledger, not ${expectedServerSpiffe}`,
      );
    expect(requests).toEqual([]);
  });

  it('a certificate of another CA', async () => {
    const other = await ensureTestPki({ stateDir: join(folder, 'other'), trustDomain: 'gate.local' });
    await expect(client({ ca: other.ca })(url, { method: 'GET' })).rejects.toThrow(/certificate/);
    expect(requests).toEqual([]);
  });

  it('plain http', async () => {
    await expect(client()(url.replace('https', 'http'), { method: 'GET' })).rejects.toThrow('is not https');
  });
});

describe('no whole answer is an error with one sentence', () => {
  it.each(['/never', '/slow-body'])('when %s takes longer than the limit', async (path) => {
    await expect(client({ timeoutMs: 100 })(url + path, { method: 'GET' })).rejects.toThrow(
      `no answer from ${url} within 100 ms`,
    );
  });

  it('when the caller gives up, with the reason of the caller', async () => {
    const giveUp = new AbortController();
    const call = client()(`${url}/never`, { method: 'GET', signal: giveUp.signal });
    giveUp.abort(new Error('shutting down'));
    await expect(call).rejects.toThrow('shutting down');
  });

  it('when nobody listens', async () => {
    await expect(client()('https://127.0.0.1:1', { method: 'GET' })).rejects.toThrow('ECONNREFUSED');
  });

  it('which says that nothing was sent where no connection was made, and only there', async () => {
    const failed = (call: Promise<unknown>) => call.then(() => null).catch((error: unknown) => error);
    const closing = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(closing, 'listening');
    const { port } = closing.address() as AddressInfo;
    const post = { method: 'POST', headers: json, body: '{}' };
    for (const address of ['https://127.0.0.1:1', `https://127.0.0.1:${port}`])
      expect(surelyNotSent(await failed(client()(`${address}/echo`, post)))).toBe(true);
    const stream = client().stream('https://127.0.0.1:1/', { headers: {}, signal: new AbortController().signal });
    expect(surelyNotSent(await failed(stream))).toBe(true);
    closing.close();
    expect(surelyNotSent(await failed(client()(`${url}/cut`, post)))).toBe(false);
    const late = client({ timeoutMs: 1_000 });
    await late(`${url}/echo`, post);
    expect(surelyNotSent(await failed(late(`${url}/never`, { method: 'GET' })))).toBe(false);
  });

  it('when the answer is larger than allowed', async () => {
    await expect(client({ maxResponseBytes: 1_000 })(`${url}/big`, { method: 'GET' })).rejects.toThrow(url);
  });

  it('when the server refuses the client certificate', async () => {
    const other = await ensureTestPki({ stateDir: join(folder, 'stranger'), trustDomain: 'gate.local' });
    await expect(client({}, other.services.proxy)(url, { method: 'GET' })).rejects.toThrow(url);
    const expired = await issueAgent(pki, 'acme', 'late-bot', { notAfter: new Date(Date.now() - 60_000) });
    await expect(client({}, expired)(url, { method: 'GET' })).rejects.toThrow(url);
    expect(requests).toEqual([]);
  });
});
