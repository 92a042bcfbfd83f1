import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '../config/env.js';
import { readUpstreams } from '../config/upstreams.js';
import type { JsonObject } from '../contracts/json.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import { startTokenIssuer } from '../test/support/token-issuer.js';
import { SMALL_TOOLS, upstreamsFile } from '../test/support/upstreams-file.js';
import { sessionsInMemory } from '../activities/upstream-sessions.js';
import { openUpstreams } from './upstreams.js';

const BOT = { tenant: 'acme', agent: 'bot' };
const SECRET = 'secret-of-the-bank';
let folder: string;
/** What each request to the echoing server came with. */
let seen: Record<string, string | string[] | undefined>[];
let refuses: boolean;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-upstreams-'));
  seen = [];
  refuses = false;
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** An MCP server whose tool answers with the headers of the request. */
async function echo(): Promise<string> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      seen.push(request.headers);
      if (refuses)
        return void response.writeHead(401, { 'content-type': 'text/plain' }).end(JSON.stringify(request.headers));
      const { id, method } = JSON.parse(text) as JsonObject;
      const result =
        method === 'initialize'
          ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'echo', version: '1' } }
          : { content: [{ type: 'text', text: JSON.stringify(request.headers) }] };
      response.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json' });
      response.end(id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
async function opened(entries: readonly JsonObject[], env: Record<string, string> = {}): Promise<Upstream> {
  const upstream = await openUpstreams(readUpstreams(upstreamsFile(folder, ...entries)), { env });
  closing.push(() => upstream.close());
  return upstream;
}
const call = (upstream: Upstream, name: string, args: JsonObject = {}) =>
  upstream.callTool(
    BOT,
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
    { timeoutMs: 20_000 },
  );

describe('each upstream is told who Gate is in its own way', () => {
  it('by a header with a secret from the environment, or from a file that may change', async () => {
    const file = join(folder, 'key');
    writeFileSync(file, 'key-one-of-notes\n');
    const upstream = await opened(
      [
        { name: 'bank', url: await echo(), credentials: { kind: 'header', value: { env: 'BANK' } } },
        { name: 'notes', url: await echo(), credentials: { kind: 'header', header: 'X-Api-Key', value: { file } } },
      ],
      { BANK: SECRET },
    );
    await call(upstream, 'bank__x');
    expect(seen.every(({ authorization }) => authorization === `Bearer ${SECRET}`)).toBe(true);
    seen = [];
    await call(upstream, 'notes__x');
    expect(seen.every(({ authorization }) => authorization === undefined)).toBe(true);
    expect(seen.at(-1)?.['x-api-key']).toBe('key-one-of-notes');
    writeFileSync(file, 'key-two-of-notes\n');
    await call(upstream, 'notes__x');
    expect(seen.at(-1)?.['x-api-key']).toBe('key-two-of-notes');
  });

  it('by a token, and with a new one after it was refused; nothing is sent where none is given', async () => {
    const issuer = await startTokenIssuer({ id: 'gate', secret: SECRET });
    closing.push(issuer.close);
    const credentials = {
      kind: 'client_credentials',
      issuer: issuer.issuer,
      client_id: 'gate',
      client_secret: { env: 'BANK' },
      audience: 'bank',
    };
    const upstream = await opened([{ name: 'bank', url: await echo(), credentials }], { BANK: SECRET });
    expect(await call(upstream, 'bank__x')).toMatchObject({ kind: 'reply' });
    expect(seen.at(-1)?.authorization).toBe('Bearer token-1-for-bank');
    refuses = true;
    expect(await call(upstream, 'bank__x')).toMatchObject({ kind: 'reply', statusCode: 401 });
    refuses = false;
    expect(await call(upstream, 'bank__x')).toMatchObject({ kind: 'reply', statusCode: 200 });
    expect(seen.at(-1)?.authorization).toBe('Bearer token-2-for-bank');
    issuer.fault = 'answers 503';
    const away = await opened([{ name: 'bank', url: await echo(), credentials }], { BANK: SECRET });
    const before = seen.length;
    expect(await call(away, 'bank__x')).toEqual({
      kind: 'not_sent',
      noCredentials: true,
      reason: 'no credentials for the upstream: the issuer answered HTTP 503',
    });
    expect(seen.length).toBe(before);
    // It is the issuer that fails: that is said, and the upstream is closed to nobody.
    for (let tried = 0; tried < 4; tried += 1) await call(away, 'bank__x');
    expect(away.standings?.()).toMatchObject([{ name: 'bank', state: 'failing', fault: 'no_credentials' }]);
  });

  it('and an upstream that repeats a secret in its answer does not tell it to an agent', async () => {
    const upstream = await opened(
      [
        { name: 'bank', url: await echo(), credentials: { kind: 'header', value: { env: 'BANK' } } },
        { name: 'small', command: SMALL_TOOLS, env: { TOOL_SETTING: { env: 'BANK' } } },
      ],
      { BANK: SECRET },
    );
    for (const name of ['bank__x', 'small__x']) {
      const answer = JSON.stringify(await call(upstream, name));
      expect(answer).not.toContain(SECRET);
      expect(answer).toContain('[credential of Gate]');
    }
    refuses = true;
    const refused = JSON.stringify(await call(upstream, 'bank__x'));
    expect(refused).toContain('[credential of Gate]');
    expect(refused).not.toContain(SECRET);
  });
});

describe('a command', () => {
  it('gets the variables that its entry names, and no other of Gate’s', async () => {
    const upstream = await opened(
      [{ name: 'small', command: SMALL_TOOLS, env: { TOOL_SETTING: { value: 'chosen' } } }],
      { GATE_LITE_TOKEN: 'token-of-gate', TOOL_SETTING: 'not this one' },
    );
    expect(JSON.stringify(await call(upstream, 'small__read_file', { path: 'a' }))).toContain(
      'read_file no token chosen',
    );
  });

  it('that cannot start is named, and the others are served', async () => {
    const upstream = await opened([
      { name: 'none', command: ['/no/such/program'] },
      { name: 'bank', url: await echo() },
    ]);
    expect(await call(upstream, 'none__x')).toMatchObject({
      kind: 'not_sent',
      reason: expect.stringContaining('does not start'),
    });
    expect(await call(upstream, 'bank__x')).toMatchObject({ kind: 'reply' });
    expect(upstream.standings?.()).toMatchObject([
      { name: 'none', fault: 'unreachable' },
      { name: 'bank', fault: null },
    ]);
  });
});

it('sessions that several processes share are of one upstream each, also where two have one address', async () => {
  const url = await echo();
  const shared: string[] = [];
  const entries = [
    { name: 'one', url },
    { name: 'two', url },
  ];
  const upstream = await openUpstreams(readUpstreams(upstreamsFile(folder, ...entries)), {
    env: {},
    sessionsWith(of) {
      shared.push(of);
      return sessionsInMemory();
    },
  });
  closing.push(() => upstream.close());
  expect(shared).toEqual([`one ${url}`, `two ${url}`]);
});

it('a start without a secret that the file names is refused with the path of each', async () => {
  const empty = join(folder, 'empty');
  writeFileSync(empty, '\n');
  const entries = [
    { name: 'bank', url: 'https://bank.example.net', credentials: { kind: 'header', value: { env: 'BANK' } } },
    { name: 'notes', url: 'https://notes.example.net', credentials: { kind: 'header', value: { file: empty } } },
    { name: 'small', command: SMALL_TOOLS, env: { KEY: { file: join(folder, 'none') } } },
  ];
  const refused = await opened(entries, { BANK: 'two\nlines' }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ConfigError);
  expect((refused as ConfigError).faults).toEqual([
    expect.stringMatching(/^GATE_UPSTREAMS: upstreams\[0\]\.credentials\.value: .*BANK is no single line/),
    expect.stringMatching(/^GATE_UPSTREAMS: upstreams\[1\]\.credentials\.value: .*is not set, or empty/),
    expect.stringMatching(/^GATE_UPSTREAMS: upstreams\[2\]\.env\.KEY: .*cannot be read \(ENOENT\)/),
  ]);
  expect((refused as Error).message).not.toContain('two');
});
