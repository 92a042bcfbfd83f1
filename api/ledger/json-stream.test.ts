import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Fastify, { type FastifyInstance } from 'fastify';
import { sendList } from './json-stream.js';
import { eventually, timePasses } from '../../test/support/waiting.js';

const BIG = 'x'.repeat(100_000);

describe('a JSON list of any length', () => {
  let app: FastifyInstance;
  let given: number;
  let ended: boolean;
  let pages: number;
  let failAt: number;

  async function* made(): AsyncGenerator<string[]> {
    try {
      while (given < pages) {
        if (given === failAt) throw new Error('the store is gone');
        given += 1;
        // One turn of the event loop, like a read from a store.
        await new Promise((resolve) => setImmediate(resolve));
        yield given % 3 === 0 ? [] : [BIG, 'é"\u2028'];
      }
    } finally {
      ended = true;
    }
  }
  const url = () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`;

  beforeEach(async () => {
    [given, ended, pages, failAt] = [0, false, 0, -1];
    app = Fastify();
    app.get('/', async (_request, reply) => sendList(reply, made()));
    await app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(() => app.close());

  it.each([0, 1, 7])('of %d pages is the list of what is on them', async (count) => {
    pages = count;
    const response = await fetch(url());
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const full = count - Math.floor(count / 3);
    expect(await response.json()).toEqual(Array.from({ length: full }, () => [BIG, 'é"\u2028']).flat());
    expect(ended).toBe(true);
  });

  it('that fails at once is an error, not a list', async () => {
    [pages, failAt] = [5, 0];
    expect((await fetch(url())).status).toBe(500);
  });

  it('that fails on the way breaks off, so that nobody takes it for whole', async () => {
    [pages, failAt] = [9, 4];
    const response = await fetch(url());
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  it('is made no faster than it is read, and no longer than somebody reads', async () => {
    pages = 10_000;
    const [response] = (await once(get(url()), 'response')) as [IncomingMessage];
    response.pause();
    response.on('error', () => {
      // The test closes the connection.
    });
    let [before, steady] = [-1, 0];
    while (steady < 10) {
      steady = given === before ? steady + 1 : 0;
      before = given;
      await timePasses(50, 'more would be made if it were made faster than it is read');
    }
    expect(given).toBeLessThan(500);
    response.destroy();
    await eventually('its end', () => ended);
    expect(given).toBeLessThan(510);
  }, 60_000);
});
