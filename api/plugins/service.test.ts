import { once } from 'node:events';
import { request as askTls } from 'node:https';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createAuthority, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { bareService } from '../../test/support/bare-service.js';
import { eventually } from '../../test/support/waiting.js';
import { ERROR_CODES, type ErrorCodeName } from '../../contracts/error-codes.js';
import { GateError } from '../../domain/errors.js';
import { createFaultLog } from './fault-log.js';
import { connectionIsOf } from './held-connections.js';
import { createService, type Service } from './service.js';

let service: Service;
let port: number;
const logged: { level: number; code?: string; reason?: string; err?: { stack?: string } }[] = [];
/** What `/fails` throws. */
let fault: Error;
beforeAll(async () => {
  service = createService({
    name: 'test',
    logger: pino({ level: 'debug' }, { write: (line) => void logged.push(JSON.parse(line)) }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    requestLimitMs: 500,
    headers: { 'X-Gate-Mode': 'enforce' },
  });
  service.app.post('/echo', (request) => request.body);
  service.app.get('/things/:id', () => ({}));
  service.app.get('/fails', () => Promise.reject(fault));
  ({ port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 }));
});
afterAll(() => service.close());

/** Sends the raw text and returns everything until the service closes the connection. */
async function sent(text: string): Promise<{ head: string; body: Record<string, unknown> }> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(text);
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(socket, 'close');
  const [head = '', body = ''] = said.split('\r\n\r\n');
  return { head, body: JSON.parse(body) as Record<string, unknown> };
}

describe('what a service refuses', () => {
  const refused = async (error: Error) => {
    fault = error;
    logged.length = 0;
    const { statusCode, headers } = await service.app.inject('/fails');
    return { statusCode, retryAfter: headers['retry-after'], lines: logged.filter(({ level }) => level >= 50) };
  };
  const away = (port: number) =>
    new GateError('store_unavailable', undefined, { cause: new Error(`connect ECONNREFUSED 127.0.0.1:${port}`) });

  it.each(Object.entries(ERROR_CODES))(
    '%s: says when to ask again where a 503 may be asked again',
    async (code, row) => {
      const { statusCode, retryAfter } = await refused(new GateError(code as ErrorCodeName));
      expect([statusCode, retryAfter]).toEqual([
        row.status,
        row.status === 503 && row.retry === 'after_wait' ? '2' : undefined,
      ]);
    },
  );

  it('says the seconds a refusal knows', async () => {
    expect(await refused(new GateError('rate_limited', 'too many', { fields: { retry_after_secs: 7 } }))).toMatchObject(
      {
        retryAfter: '7',
      },
    );
  });

  it('one outage is one line with its reason and no stack, and another reason another line', async () => {
    const first = await refused(away(5432));
    expect(first.lines).toMatchObject([{ code: 'store_unavailable', reason: 'connect ECONNREFUSED 127.0.0.1:5432' }]);
    expect(JSON.stringify(first.lines)).not.toContain('    at ');
    for (let request = 0; request < 20; request += 1) expect((await refused(away(5432))).lines).toEqual([]);
    // Who looks for one of them finds it, with its stack.
    expect(logged).toMatchObject([{ err: { stack: expect.stringContaining('    at ') } }]);
    expect((await refused(away(5433))).lines).toHaveLength(1);
  });

  it('the next outage is told again, as soon as a minute passed without the same', () => {
    let nowMs = 0;
    const told: string[] = [];
    const log = createFaultLog(() => nowMs);
    const lines = { error: (_: object, text: string) => void told.push(text), debug: () => undefined };
    for (const pauseMs of [0, 59_000, 59_000, 60_000, 1_000]) {
      nowMs += pauseMs;
      log(lines, away(5432), away(5432), 'id');
    }
    expect(told).toHaveLength(2);
  });

  it('a fault of Gate itself is told each time, with its stack', async () => {
    for (let request = 0; request < 2; request += 1)
      expect((await refused(new TypeError('a bug'))).lines).toMatchObject([
        { err: { stack: expect.stringContaining('    at ') } },
      ]);
  });
});

describe('a path for which no route is looked up is answered like everything else', () => {
  it.each([
    ['/things/%ff', 400, 'invalid_request'],
    ['/%', 400, 'invalid_request'],
    [`/things/${'a'.repeat(5_000)}`, 414, 'uri_too_long'],
  ])('%.20s: %i %s', async (path, status, code) => {
    const { statusCode, headers, body } = await service.app.inject(path);
    expect([statusCode, headers['content-type'], headers['x-gate-mode']]).toEqual([
      status,
      'application/json',
      'enforce',
    ]);
    expect(JSON.parse(body)).toEqual({
      error: code,
      reason: expect.any(String),
      correlation_id: headers['x-gate-correlation-id'],
    });
  });

  it('also by the listener of its health, and on a connection that goes on', async () => {
    const { statusCode, body } = await service.health.inject('/%ff');
    expect([statusCode, JSON.parse(body)]).toMatchObject([400, { error: 'invalid_request' }]);
    const asked = await fetch(`http://127.0.0.1:${port}/things/%ff`);
    expect([asked.status, await asked.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    expect((await fetch(`http://127.0.0.1:${port}/none`)).status).toBe(404);
  });
});

describe('what is no whole HTTP request is answered like everything else, and the connection ends', () => {
  it.each([
    ['headers that never end', 'POST /echo HTTP/1.1\r\nHost: gate\r\n', 408, 'request_timeout'],
    [
      'a body that stops in the middle',
      'POST /echo HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"half":',
      408,
      'request_timeout',
    ],
    ['what is not HTTP', 'EHLO gate\r\n\r\n', 400, 'invalid_request'],
    [
      'headers over 16 KiB',
      `GET / HTTP/1.1\r\nHost: gate\r\nX-Long: ${'x'.repeat(17_000)}\r\n\r\n`,
      431,
      'request_headers_too_large',
    ],
    [
      'more headers than Node keeps, of which the last would be read by nobody',
      `GET /none HTTP/1.1\r\nHost: gate\r\n${'a:\r\n'.repeat(1_900)}Connection: close\r\n\r\n`,
      431,
      'request_headers_too_large',
    ],
    ['no Host', 'GET /none HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
    [
      'an expectation that nobody meets',
      'POST /echo HTTP/1.1\r\nHost: gate\r\nExpect: 200-ok\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'what is asked of a forward proxy',
      'CONNECT bank:443 HTTP/1.1\r\nHost: bank:443\r\n\r\n',
      405,
      'method_not_allowed',
    ],
  ])('%s', async (_what, text, status, error) => {
    const { head, body } = await sent(text);
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/X-Gate-Correlation-Id: [0-9a-f-]{36}/i);
    expect(head).toMatch(/X-Gate-Mode: enforce/i);
    expect(body).toMatchObject({ error });
  });

  it('also where nothing is said, and whoever says nothing does not read either', async () => {
    const came = once(service.app.server, 'connection');
    const silent = connect(port, '127.0.0.1').on('error', () => undefined);
    const [held] = (await came) as [Socket];
    await eventually('the connection ends', () => held.destroyed);
    silent.destroy();
  });

  it('a request in time is answered on the same port', async () => {
    const reply = await fetch(`http://127.0.0.1:${port}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"whole":true}',
    });
    expect(await reply.json()).toEqual({ whole: true });
  });
});

describe('a service that ends', () => {
  it('waits for no connection on which nothing was ever asked', async () => {
    const ending = bareService({ name: 'ending' });
    const at = await ending.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
    const came = once(ending.app.server, 'connection');
    // As a browser opens them in advance.
    const unused = connect(at.port, '127.0.0.1').on('error', () => undefined);
    const [held] = (await came) as [Socket];
    await ending.close();
    expect(held.destroyed).toBe(true);
    unused.destroy();
  });
});

describe('a listener that strangers fill, with TLS', () => {
  const MOST = 8;
  let full: Service;
  let registry: Registry;
  let ca: string;
  let at: number;
  const warned: { event?: string; most?: number }[] = [];
  const opened: Socket[] = [];
  beforeAll(async () => {
    const valid = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) };
    const authority = await createAuthority('gate.local', valid);
    const leaf = { ...valid, commonName: 'test', spiffe: 'spiffe://gate.local/service/test', hosts: ['localhost'] };
    const { cert, key } = await issueLeaf(authority, { ...leaf, usages: ['server'] });
    ca = authority.cert;
    registry = new Registry();
    full = createService({
      name: 'test',
      logger: pino({ level: 'warn' }, { write: (line) => void warned.push(JSON.parse(line)) }),
      registry,
      trustDomain: 'gate.local',
      tls: { cert, key, clientCertificate: 'none' },
      mostConnections: MOST,
    });
    full.app.get('/mine', (request, reply) => {
      connectionIsOf(request, 'somebody');
      reply.hijack().raw.writeHead(200).write('first');
    });
    full.app.get('/', () => ({}));
    ({ port: at } = await full.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 }));
  });
  afterAll(async () => {
    for (const socket of opened) socket.destroy();
    await full.close();
  });

  const asked = (path: string) =>
    new Promise<{ status: number | undefined; isOpen: () => boolean; leave: () => void }>((resolve, reject) => {
      const sent = askTls(
        { host: '127.0.0.1', servername: 'localhost', port: at, path, ca, agent: false },
        (answer) => {
          let isOpen = true;
          answer.on('error', () => undefined).on('close', () => (isOpen = false));
          answer.resume();
          resolve({ status: answer.statusCode, isOpen: () => isOpen, leave: () => sent.destroy() });
        },
      );
      sent.on('error', reject).end();
    });

  it('answers whoever comes, and ends nothing of who proved who he is', async () => {
    const mine = await asked('/mine');
    for (let n = 0; n < 5 * MOST; n += 1) opened.push(connect(at, '127.0.0.1').on('error', () => undefined));
    await eventually('all have come', () => warned.length > 0);
    for (let n = 0; n < 3; n += 1) expect((await asked('/')).status).toBe(200);
    expect(mine.isOpen()).toBe(true);
    mine.leave();
  });

  it('says so: once in the log, in /readyz and in the metrics', async () => {
    expect(warned).toMatchObject([{ event: 'connections_full', most: MOST }]);
    const told = (await full.health.inject('/readyz')).json<{ status: string; details: { connections: string } }>();
    expect(told).toMatchObject({ status: 'ready', details: { connections: expect.stringMatching(/^\d of 8$/) } });
    expect(await registry.metrics()).toMatch(/gate_connections_full_total\{service="test",what="closed"\} \d+/);
  });
});
