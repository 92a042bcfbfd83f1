import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../test/support/waiting.js';
import { paceConnections } from './paced-connections.js';

let server: Server;
let turns: number;
let counting: boolean;
const begun: { readonly turn: number; readonly socket: Socket }[] = [];
const clients: Socket[] = [];

beforeEach(async () => {
  begun.length = 0;
  [turns, counting] = [0, true];
  server = createServer();
  server.on('connection', (socket) => {
    begun.push({ turn: turns, socket });
    socket.on('error', () => undefined).on('data', (chunk: Buffer) => socket.write(chunk));
  });
  paceConnections(server);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const count = () => {
    turns += 1;
    if (counting) setImmediate(count);
  };
  count();
});
afterEach(async () => {
  counting = false;
  for (const client of clients.splice(0)) client.destroy();
  for (const { socket } of begun) socket.destroy();
  await new Promise((closed) => server.close(closed));
});

function open(): Socket {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  clients.push(client);
  return client;
}

describe('connections that come at once', () => {
  it('begin one per turn of the event loop, all of them', async () => {
    for (let n = 0; n < 40; n += 1) open();
    await eventually('all have begun', () => begun.length === 40);
    expect(new Set(begun.map(({ turn }) => turn)).size).toBe(40);
  });

  it('lose nothing of what was sent before they begin', async () => {
    const answers = await Promise.all(
      Array.from(
        { length: 10 },
        (_, n) =>
          new Promise<string>((resolve) => {
            const client = open();
            client.write(`hello ${n}`);
            client.once('data', (chunk: Buffer) => resolve(chunk.toString()));
          }),
      ),
    );
    expect(answers).toEqual(Array.from({ length: 10 }, (_, n) => `hello ${n}`));
  });

  it('that leave before their turn hold up nobody', async () => {
    for (let n = 0; n < 20; n += 1)
      open().once('connect', function (this: Socket) {
        this.resetAndDestroy();
      });
    const last = open();
    last.write('still here');
    const told = await new Promise<string>((resolve) =>
      last.once('data', (chunk: Buffer) => resolve(chunk.toString())),
    );
    expect(told).toBe('still here');
  });
});
