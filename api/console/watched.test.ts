import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { eventually } from '../../test/support/waiting.js';
import { watchedFile } from './watched.js';

const PART = 'x'.repeat(65_536);

let app: FastifyInstance;
let isStanding: boolean;
/** Parts that were made, and whether the making was ended. */
let made: number;
let isOver: boolean;
let end: (() => void) | null;
beforeEach(async () => {
  [isStanding, made, isOver, end] = [true, 0, false, null];
  app = fastify({ forceCloseConnections: true });
  app.get('/file', (_request, reply) =>
    reply.send(watchedFile(reply, parts(), { stands: async () => isStanding, drainMs: 1_000 })),
  );
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

  it('is whole for who reads to its end', async () => {
    const answer = await asked();
    const isWhole = whole(answer);
    end = () => undefined;
    answer.resume();
    expect(await isWhole).toBe(true);
  }, 30_000);
});
