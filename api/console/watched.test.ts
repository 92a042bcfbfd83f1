import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { eventually } from '../../test/support/waiting.js';
import { untilRead, watchedFile } from './watched.js';

const PART = 'x'.repeat(65_536);

let app: FastifyInstance;
let isStanding: boolean;
/** Parts that were made, and whether the making was ended. */
let made: number;
let isOver: boolean;
let end: (() => void) | null;
/** Whether a request came, and what it held was given back; and how often its session was looked at. */
let hasCome: boolean;
let isFreed: boolean;
let looked: number;
beforeEach(async () => {
  [isStanding, made, isOver, end] = [true, 0, false, null];
  [hasCome, isFreed, looked] = [false, false, 0];
  app = fastify({ forceCloseConnections: true });
  app.get('/file', (_request, reply) =>
    reply.send(watchedFile(reply, parts(), { stands: async () => isStanding, drainMs: 1_000 })),
  );
  app.get('/left', async (request, reply) => {
    hasCome = true;
    await once(request.raw.socket, 'close');
    const file = watchedFile(
      reply,
      untilRead(parts(), () => (isFreed = true)),
      { stands: () => Promise.resolve((looked += 1) > 0), drainMs: 1_000 },
    );
    return reply.send(file);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(() => app.close());

async function* parts() {
  try {
    for (;;) {
      made += 1;
      yield PART;
      if (end !== null) return end();
    }
  } finally {
    isOver = true;
  }
}
const asked = () =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const { port } = app.server.address() as AddressInfo;
    get({ host: '127.0.0.1', port, path: '/file', agent: false }, resolve).on('error', reject);
  });
const whole = (answer: IncomingMessage) =>
  new Promise<boolean>((resolve) => {
    answer.on('error', () => undefined);
    answer.on('close', () => resolve(answer.complete));
  });

describe('a file that is sent as it is made', () => {
  it('is cut once the session does not stand any more, and made no further', async () => {
    const answer = await asked();
    const isWhole = whole(answer);
    answer.resume();
    await eventually('some of it came', () => made > 10);
    isStanding = false;
    expect(await isWhole).toBe(false);
    await eventually('nothing more of it is made', () => isOver);
  }, 30_000);

  it('is cut where its reader takes nothing', async () => {
    const answer = await asked();
    const isWhole = whole(answer);
    await eventually('nothing more of it is made', () => isOver);
    answer.resume();
    expect(await isWhole).toBe(false);
  }, 30_000);

  it('is given up at once where its reader left before it was sent: nothing is made, and nothing looked at', async () => {
    const { port } = app.server.address() as AddressInfo;
    const request = get({ host: '127.0.0.1', port, path: '/left', agent: false }).on('error', () => undefined);
    await eventually('it came', () => hasCome);
    request.destroy();
    await eventually('what it held is given back', () => isFreed);
    expect([made, looked]).toEqual([0, 0]);
  }, 30_000);

  it('is whole for who reads to its end', async () => {
    const answer = await asked();
    const isWhole = whole(answer);
    end = () => undefined;
    answer.resume();
    expect(await isWhole).toBe(true);
  }, 30_000);
});
