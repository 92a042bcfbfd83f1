import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Fastify from 'fastify';
import { eventually } from '../../test/support/waiting.js';
import type { ServiceApp } from './app.js';
import type { Over } from './declaration.js';
import { overInProcess } from './over-in-process.js';

let app: ServiceApp;
let over: Over;
let closed: string[];
beforeEach(() => {
  closed = [];
  app = Fastify() as unknown as ServiceApp;
  app.post('/said', (request, reply) =>
    reply.code(409).header('set-cookie', ['a=1', 'b=2']).send({
      body: request.body,
      query: request.query,
      token: request.headers.authorization,
    }),
  );
  app.get('/never', () => new Promise(() => undefined));
  app.get('/stream', (request, reply) => {
    reply.raw.on('close', () => closed.push(request.url));
    async function* ticks() {
      for (let at = 0; ; at += 1) {
        yield `data: ${at}\n\n`;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    return reply.type('text/event-stream').send(Readable.from(ticks(), { objectMode: false }));
  });
  app.get('/refused', (_request, reply) => reply.code(403).send('no'));
  over = overInProcess(app);
});
afterEach(() => app.close());

const at = (path: string) => new URL(path, over.url).href;

describe('a service of this process, asked over HTTP', () => {
  it('gets method, path, query, headers and body; its status, cookies and text come back', async () => {
    const answer = await over.fetch(at('/said?a=b%2Fc'), {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: '{"one":1}',
    });
    expect([answer.status, answer.setCookies]).toEqual([409, ['a=1', 'b=2']]);
    expect(JSON.parse(await answer.text())).toEqual({ body: { one: 1 }, query: { a: 'b/c' }, token: 'Bearer x' });
  });

  it('is not waited for beyond the signal, which may have come before', async () => {
    const late = over.fetch(at('/never'), { method: 'GET', signal: AbortSignal.timeout(10) });
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(over.fetch(at('/said'), { method: 'POST', signal: AbortSignal.abort() })).rejects.toThrow();
  });

  it('a stream comes as it is written, and sees that its reader left: by the signal, or by reading no further', async () => {
    for (const way of ['signal', 'reader']) {
      const left = new AbortController();
      const { status, body } = await over.fetch.stream(at(`/stream?${way}`), { headers: {}, signal: left.signal });
      expect(status).toBe(200);
      let read = '';
      try {
        for await (const part of body) {
          read += Buffer.from(part).toString();
          if (!read.includes('data: 3\n')) continue;
          if (way === 'reader') break;
          left.abort();
        }
      } catch {
        // A stream that was left ends with an error, as a connection does.
      }
      await eventually(`the end of ${way}`, () => Promise.resolve(closed.includes(`/stream?${way}`)));
    }
  });

  it('a stream that is refused says why', async () => {
    const { status, text } = await over.fetch.stream(at('/refused'), {
      headers: {},
      signal: new AbortController().signal,
    });
    expect([status, await text()]).toEqual([403, 'no']);
  });
});
