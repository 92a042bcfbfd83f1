import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Upstream } from '../domain/upstream/upstream.js';
import { createJsonUpstream } from './json-upstream.js';

const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'read_file', arguments: {} } };
const asked = { tenant: 'acme', agent: 'bot' };

let server: Server;
let upstream: Upstream;
/** What is answered: a status, and the bytes for the id of the request. */
let status: number;
let said: (id: string) => string;
beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (part: Buffer) => (text += part.toString('utf8')));
    request.on('end', () => {
      const { id } = JSON.parse(text) as { id: string };
      response.writeHead(status, { 'content-type': 'application/json' }).end(said(JSON.stringify(id)));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  upstream = createJsonUpstream({ url: `http://127.0.0.1:${(server.address() as { port: number }).port}/` });
});
afterAll(async () => {
  await upstream.close();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

const call = async (bytes: (id: string) => string, answeredWith = 200) => {
  status = answeredWith;
  said = bytes;
  return upstream.callTool(asked, CALL, { timeoutMs: 5_000 });
};

describe('raw JSON tools: an answer', () => {
  it.each<[string, (id: string) => string]>([
    ['the id of the request', (id) => `{"jsonrpc":"2.0","id":${id},"result":{"ok":1}}`],
    ['no id', () => '{"jsonrpc":"2.0","result":{"ok":1}}'],
    ['the id null', () => '{"jsonrpc":"2.0","id":null,"result":{"ok":1}}'],
  ])('with %s is the answer, under the caller’s id', async (_what, bytes) => {
    const outcome = await call(bytes);
    expect(outcome).toMatchObject({ kind: 'reply', statusCode: 200, failed: false });
    expect(JSON.parse((outcome as { text: string }).text)).toMatchObject({ result: { ok: 1 } });
  });

  it.each(['{"content":[],"x":1,"x":2,"isError":true}', '{"isError":true,"isError":false}'])(
    'with a member twice in its result is none that can be read: %s',
    async (result) => {
      expect(await call((id) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`)).toMatchObject({
        kind: 'unknown',
        reason: 'the upstream answered with a result that cannot be read',
      });
    },
  );

  it.each<[string, (id: string) => string]>([
    ['another text', () => '{"jsonrpc":"2.0","id":"of-another","result":{"ok":1}}'],
    ['the caller’s own, which the tools never saw', () => '{"jsonrpc":"2.0","id":7,"result":{"ok":1}}'],
    ['an object around it', (id) => `{"jsonrpc":"2.0","id":{"of":${id}},"result":{"ok":1}}`],
    ['the id with something behind it', (id) => `{"jsonrpc":"2.0","id":"${id.slice(1, -1)} ","result":{"ok":1}}`],
    ['an error of another request', () => '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}'],
  ])('with %s as its id is none: nobody knows whether the tool ran', async (_what, bytes) => {
    expect(await call(bytes)).toEqual({
      kind: 'unknown',
      cause: 'invalid_answer',
      reason: 'the upstream answered with the id of another request',
    });
  });

  it('of another request beside an HTTP error is not handed on; the status is', async () => {
    const outcome = await call(() => '{"jsonrpc":"2.0","id":"of-another","result":{"secret":"of another"}}', 500);
    expect(outcome).toMatchObject({ kind: 'reply', statusCode: 500, failed: true });
    expect((outcome as { text: string }).text).not.toContain('secret');
  });

  it.each([502, 503, 504, 520])(
    'HTTP %i without an answer to this request may be the word of a gateway: nobody knows',
    async (status) => {
      const unknown = {
        kind: 'unknown',
        reason: `HTTP ${status} without an answer to the call: a gateway may have said it, and the upstream may have acted`,
      };
      expect(await call(() => '<h1>no</h1>', status)).toMatchObject(unknown);
      expect(await call(() => '{"error":{"code":1,"message":"Bad Gateway"}}', status)).toMatchObject(unknown);
      const own = await call((id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"shut"}}`, status);
      expect(own).toMatchObject({ kind: 'reply', statusCode: status, failed: true });
    },
  );
});
