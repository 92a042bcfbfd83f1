import { on, once } from 'node:events';
import { existsSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request as askTls } from 'node:https';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { createAuthority, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { bareService } from '../../test/support/bare-service.js';
import { needs } from '../../test/support/needs.js';
import { eventually, timePasses } from '../../test/support/waiting.js';
import type { Service, ServiceOptions } from './service.js';

/** More than both sides' kernels hold. */
const LARGE = 48 * 1_024 * 1_024;
const LIMIT_MS = 400;
const able = existsSync('/proc/self/net/tcp');
const withCount = able ? describe : describe.skip;
const told = (what: string): string => `${what}${needs('proc-net', able)}`;

let service: Service | null = null;
let registry: Registry;
const opened: Socket[] = [];
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await service?.close();
  service = null;
});

async function serving(more: Partial<ServiceOptions> = {}): Promise<number> {
  registry = new Registry();
  service = bareService({
    name: 'test',
    registry,
    stalledLimitMs: LIMIT_MS,
    ...more,
  });
  service.app.get('/large', () => Buffer.alloc(LARGE));
  service.app.get('/stream', async (_request, reply) => {
    const stream = new PassThrough();
    stream.write('event: begins\n\n');
    return reply.type('text/event-stream').send(stream);
  });
  return (await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 })).port;
}
async function asking(port: number, path: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  opened.push(socket);
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}
const open = async (): Promise<number> => {
  const { payload } = await (service as Service).health.inject('/readyz');
  return Number(/(\d+) of/.exec(payload)?.[1]);
};
const closed = async (): Promise<number> =>
  Number(/gate_connections_stalled_total\{service="test"\} (\d+)/.exec(await registry.metrics())?.[1] ?? 0);

withCount(told('a connection whose other side takes nothing of its answer'), () => {
  it('is closed, and counted', async () => {
    const socket = await asking(await serving(), '/large');
    socket.pause();
    await eventually('it is closed', async () => (await closed()) === 1);
    expect(await open()).toBe(0);
  });

  it('is closed over TLS as well', async () => {
    const valid = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) };
    const authority = await createAuthority('gate.local', valid);
    const leaf = { ...valid, commonName: 'test', spiffe: 'spiffe://gate.local/service/test', hosts: ['localhost'] };
    const { cert, key } = await issueLeaf(authority, { ...leaf, usages: ['server'] });
    const port = await serving({ tls: { cert, key, clientCertificate: 'none' } });
    const agent = new Agent({ rejectUnauthorized: false });
    const asked = askTls({ port, host: '127.0.0.1', path: '/large', agent });
    asked.on('error', () => undefined);
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.on('error', () => undefined);
    opened.push(answer.socket);
    answer.pause();
    await eventually('it is closed', async () => (await closed()) === 1);
    agent.destroy();
  });

  it('is closed although it took a part before', async () => {
    const socket = await asking(await serving(), '/large');
    await once(socket, 'data');
    socket.pause();
    await eventually('it is closed', async () => (await closed()) === 1);
  });
});

withCount(told('a connection stays open'), () => {
  it('whose other side takes a little now and then, for many times the limit', async () => {
    const socket = await asking(await serving(), '/large');
    for (let time = 0; time < 10; time += 1) {
      let taken = 0;
      // As much as makes his side tell of room.
      for await (const chunk of on(socket, 'data') as AsyncIterable<[Buffer]>)
        if ((taken += chunk[0].length) > 512 * 1_024) break;
      socket.pause();
      await timePasses(LIMIT_MS / 2, 'somebody who reads slowly');
      socket.resume();
    }
    expect([await closed(), socket.destroyed]).toEqual([0, false]);
  });

  it('on which nothing waits: a stream of events that are rare', async () => {
    const socket = await asking(await serving(), '/stream');
    await once(socket, 'data');
    socket.pause();
    await timePasses(3 * LIMIT_MS, 'nothing happens');
    expect([await closed(), await open()]).toEqual([0, 1]);
  });
});
