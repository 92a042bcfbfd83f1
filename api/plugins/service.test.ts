import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createService, type Service } from './service.js';

let service: Service;
let port: number;
beforeAll(async () => {
  service = createService({
    name: 'test',
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    requestLimitMs: 500,
    headers: { 'X-Gate-Mode': 'enforce' },
  });
  service.app.post('/echo', (request) => request.body);
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
  ])('%s', async (_what, text, status, error) => {
    const { head, body } = await sent(text);
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/X-Gate-Correlation-Id: [0-9a-f-]{36}/);
    expect(head).toMatch(/X-Gate-Mode: enforce/);
    expect(body).toMatchObject({ error });
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
