import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commandLine } from '../test/support/command.js';

describe('a command that asks a lite process', () => {
  let folder: string;
  let server: Server;
  let url: string;
  /** What was asked of the other program, with the token that came along. */
  let asked: string[];
  let answer: { status: number; text: string };
  const { done, stop } = commandLine(() => folder);
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-target-'));
    asked = [];
    server = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.authorization ?? 'no token'}`);
      response.writeHead(answer.status).end(answer.text);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    await stop();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['an MCP server', { status: 405, text: '' }],
    ['a page', { status: 200, text: '<html>hello</html>' }],
    ['JSON of another kind', { status: 404, text: '{"message":"Not Found"}' }],
  ])('%s at the address is not Gate, which is 5', async (_name, given) => {
    answer = given;
    for (const args of [['pending'], ['tools'], ['decide', '00000000-0000-4000-8000-000000000000', 'deny']])
      expect(await done([...args, '--endpoint', url])).toEqual({
        code: 5,
        out: expect.stringContaining(`gate: ${url} is not Gate: it answers HTTP ${answer.status}`),
      });
  });

  it('sends the token of this folder to nothing that does not answer like Gate', async () => {
    writeFileSync(join(folder, 'gate-lite.db.decide-token'), `${'t'.repeat(43)}\n`, { mode: 0o600 });
    for (const text of ['<html>', '{"status":"ok"}', '7']) {
      answer = { status: 200, text };
      expect((await done(['pending', '--endpoint', url])).code).toBe(5);
    }
    expect(new Set(asked)).toEqual(new Set(['/health no token']));
    // Gate's own refusals keep their codes.
    answer = { status: 404, text: '{"error":"not_found","reason":"none"}' };
    expect(await done(['pending', '--endpoint', url, '--decide-token', 'x'.repeat(32)])).toEqual({
      code: 4,
      out: 'gate: not_found: none\n',
    });
  });

  it('finds the lite of the settings that `gate lite init` wrote here, with its port and its token', async () => {
    const token = 'd'.repeat(43);
    const port = new URL(url).port;
    writeFileSync(join(folder, 'gate-lite.env'), `GATE_LITE_PORT=${port}\nGATE_LITE_DECIDE_TOKEN=${token}\n`);
    answer = { status: 200, text: '{"ledger":"ok"}' };
    await done(['decide', '00000000-0000-4000-8000-000000000000', 'deny']);
    expect(asked[0]).toBe('/health no token');
    expect(asked[1]).toBe(`/pending?id=00000000-0000-4000-8000-000000000000 Bearer ${token}`);
    answer = { status: 401, text: '{"error":"unauthenticated"}' };
    asked = [];
    expect(await done(['pending', '--decide-token', 'x'.repeat(32)])).toEqual({
      code: 3,
      out: expect.stringContaining('unauthenticated'),
    });
  }, 60_000);

  it.each(['localhost:8177', '127.0.0.1:8177', 'ftp://127.0.0.1', 'nothing'])(
    '%s is no address, which is wrong usage',
    async (endpoint) => {
      expect(await done(['pending', '--endpoint', endpoint])).toEqual({
        code: 2,
        out: expect.stringContaining(`--endpoint: ${endpoint} is no address; it begins with http://`),
      });
    },
  );

  it.each([
    ['{"hil":', 'its JSON'],
    ['[]', 'its JSON'],
    ['{}', 'console'],
    ['{"console":{"url":"http://127.0.0.1:1"},"operator_token":"t","proxy":{"url":7}}', 'proxy.url'],
  ])('a stack whose file says %s is told as malformed, which is 5', async (text, where) => {
    mkdirSync(join(folder, '.gate'));
    writeFileSync(join(folder, '.gate', 'dev.json'), text);
    const { code, out } = await done(['approvals']);
    expect([code, out]).toEqual([5, expect.stringMatching(/^gate: stack_file_malformed: [^\n]+\n$/)]);
    expect(out).toContain(where);
  });

  it('no Gate at all is 5', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    expect((await done(['audit', id])).code).toBe(5);
    expect((await done(['verify'])).code).toBe(5);
  });
});
