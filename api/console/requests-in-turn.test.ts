import { once } from 'node:events';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../test/support/waiting.js';
import type { ServiceApp } from '../plugins/service.js';
import { requestsInTurn, type RequestLimits } from './requests-in-turn.js';

let app: FastifyInstance;
let begun: string[];
let ends: Map<string, () => void>;
const closing: FastifyInstance[] = [];
const serve = (limits: RequestLimits) => {
  app = Fastify();
  closing.push(app);
  requestsInTurn(app as unknown as ServiceApp, ({ headers: { who } }) => (who as string | undefined) ?? null, limits);
  app.get('/:name', async ({ params }) => {
    const { name } = params as { name: string };
    begun.push(name);
    if (name !== 'quick') await new Promise<void>((resolve) => ends.set(name, resolve));
    if (name === 'broken') throw new Error('broken');
    return name;
  });
};
const ask = (name: string, who?: string) =>
  app.inject({ url: `/${name}`, headers: who === undefined ? {} : { who } }).then(({ statusCode }) => statusCode);
const end = async (name: string) => {
  (await eventually(`${name} is under way`, () => ends.get(name)))();
};
beforeEach(() => {
  begun = [];
  ends = new Map();
});
afterEach(async () => {
  for (const over of ends.values()) over();
  for (const one of closing.splice(0)) await one.close();
});

describe('the requests of one session', () => {
  it('are answered a few at a time, the others as they came, and nobody else waits for them', async () => {
    serve({ atOnce: 2, places: 3, waitMs: 60_000 });
    const sent = ['a', 'b', 'c', 'd', 'e'].map((name) => ask(name, 'ana'));
    await eventually('two have begun', () => begun.length === 2);
    expect(await ask('quick', 'ben')).toBe(200);
    expect(await ask('quick')).toBe(200);
    expect(begun).toEqual(['a', 'b', 'quick', 'quick']);
    await end('b');
    await eventually('the third has', () => begun.includes('c'));
    for (const name of ['a', 'c', 'd', 'e']) await end(name);
    expect(await Promise.all(sent)).toEqual([200, 200, 200, 200, 200]);
    expect(begun.filter((name) => name !== 'quick')).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('are sent away beyond those that may wait, and come in again when there is room, also after one that fails', async () => {
    serve({ atOnce: 1, places: 1, waitMs: 60_000 });
    const first = ask('broken', 'ana');
    await eventually('it has begun', () => begun.length === 1);
    const second = ask('quick', 'ana');
    expect(await ask('quick', 'ana')).not.toBe(200);
    await end('broken');
    expect([await first, await second]).toEqual([500, 200]);
    expect(await ask('quick', 'ana')).toBe(200);
  });

  it('do not wait for ever: who gets no turn in time is sent away, and the place of who leaves is free', async () => {
    serve({ atOnce: 1, places: 1, waitMs: 50 });
    const first = ask('slow', 'ana');
    await eventually('it has begun', () => begun.length === 1);
    expect(await ask('quick', 'ana')).not.toBe(200);
    expect(await ask('quick', 'ana')).not.toBe(200);
    expect(begun).toEqual(['slow']);
    await end('slow');
    expect(await first).toBe(200);
    expect(await ask('quick', 'ana')).toBe(200);
  });

  it('whose browser leaves are not begun, and leave their place under way', async () => {
    serve({ atOnce: 1, places: 5, waitMs: 60_000 });
    const address = await app.listen({ host: '127.0.0.1', port: 0 });
    const leaving = { first: new AbortController(), second: new AbortController() };
    const get = (name: keyof typeof leaving) =>
      fetch(`${address}/${name}`, { headers: { who: 'ana' }, signal: leaving[name].signal }).catch(() => null);
    const first = get('first');
    await eventually('it has begun', () => begun.length === 1);
    const arrived = once(app.server, 'request');
    const second = get('second');
    await arrived;
    leaving.second.abort();
    await second;
    await eventually('it has left', async () => (await connections()) === 1);
    leaving.first.abort();
    await first;
    expect((await fetch(`${address}/quick`, { headers: { who: 'ana' } })).status).toBe(200);
    expect(begun).toEqual(['first', 'quick']);
  });
});

const connections = () =>
  new Promise<number>((resolve, reject) =>
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
