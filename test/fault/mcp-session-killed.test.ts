import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '../../contracts/json.js';
import { commandLine } from '../support/command.js';
import { liteFolder } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };

/** An MCP server whose one tool does what a test says, and counts. */
async function tools() {
  const said = { ran: 0, onCall: (answer: () => void): void => answer() };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => answer(text, response));
  });
  function answer(text: string, response: ServerResponse): void {
    const { id, method } = JSON.parse(text || '{}') as { id?: Json; method?: string };
    if (id === undefined) return void response.writeHead(202).end();
    const reply = (result: JsonObject) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (method === 'initialize')
      return void reply({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'tools', version: '1' },
      });
    if (method === 'tools/list')
      return void reply({ tools: [{ name: 'list_files', inputSchema: { type: 'object' } }] });
    said.ran += 1;
    const ran = said.ran;
    said.onCall(() => reply({ content: [{ type: 'text', text: `ran ${ran}` }] }));
  }
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    said,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

describe('an MCP session whose Gate is killed with kill -9', () => {
  let folder: string;
  let upstream: Awaited<ReturnType<typeof tools>>;
  const commands = commandLine(() => folder);
  beforeEach(async () => {
    folder = await liteFolder();
    upstream = await tools();
  });
  afterEach(async () => {
    await commands.stop();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  const start = () => commands.lite(['--upstream', upstream.url, '--upstream-adapter', 'mcp-jsonrpc-v1']);
  type Gate = Awaited<ReturnType<typeof start>>;
  const kill = async (gate: Gate) => {
    gate.process.kill('SIGKILL');
    await gate.ended;
  };
  async function openSession(gate: Gate): Promise<string> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bare', version: '1' } };
    const answer = await fetch(`${gate.url}/mcp`, {
      method: 'POST',
      headers: ACCEPT,
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    });
    return answer.headers.get('mcp-session-id') as string;
  }
  const ask = (gate: Gate, session: string, signal?: AbortSignal) =>
    fetch(`${gate.url}/mcp`, {
      method: 'POST',
      headers: { ...ACCEPT, 'mcp-session-id': session },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: { name: 'list_files', arguments: {} },
      }),
      ...(signal && { signal }),
    });
  // An answer that takes a while comes as the last event of a stream.
  const askedAgain = async (gate: Gate, session: string): Promise<JsonObject> => {
    const text = await (await ask(gate, session)).text();
    const events = text.split('\n').filter((line) => line.startsWith('data: {'));
    return JSON.parse(events.at(-1)?.slice('data: '.length) ?? text) as JsonObject;
  };
  const UNCERTAIN = { result: { isError: true, _meta: { 'gate/verdict': { error: 'server_execution_uncertain' } } } };

  it('while the tool runs: who asks again is told that it may have run, and it does not run again', async () => {
    let gate = await start();
    const session = await openSession(gate);
    upstream.said.onCall = () => undefined;
    const lost = ask(gate, session).catch(() => null);
    await eventually('the tool runs', () => upstream.said.ran === 1);
    await kill(gate);
    await lost;
    upstream.said.onCall = (answer) => answer();
    gate = await start();
    for (let time = 0; time < 2; time += 1)
      expect(await askedAgain(gate, session)).toMatchObject({ id: 7, ...UNCERTAIN });
    expect(upstream.said.ran).toBe(1);
  }, 120_000);

  it('between the answer of the tool and its record: the tool ran once, whatever is known of it', async () => {
    let gate = await start();
    const session = await openSession(gate);
    upstream.said.onCall = (answer) => {
      answer();
      gate.process.kill('SIGKILL');
    };
    const lost = ask(gate, session).catch(() => null);
    await gate.ended;
    await lost;
    upstream.said.onCall = (answer) => answer();
    gate = await start();
    const [first, second] = [await askedAgain(gate, session), await askedAgain(gate, session)];
    expect(second).toEqual(first);
    const { isError } = first['result'] as JsonObject;
    if (isError) expect(first).toMatchObject(UNCERTAIN);
    else expect(first).toMatchObject({ id: 7, result: { content: [{ text: 'ran 1' }] } });
    expect(upstream.said.ran).toBe(1);
  }, 120_000);

  it('between the record of the answer and the client: who asks again gets that answer', async () => {
    let gate = await start();
    const session = await openSession(gate);
    const hangUp = new AbortController();
    let finish: () => void = () => undefined;
    upstream.said.onCall = (answer) => (finish = answer);
    const lost = ask(gate, session, hangUp.signal).catch(() => null);
    await eventually('the tool runs', () => upstream.said.ran === 1);
    hangUp.abort();
    await lost;
    finish();
    await eventually('the outcome is in the ledger', async () => {
      const { out } = await commands.done(['audit', '--json']);
      return out.includes('upstream.outcome');
    });
    await kill(gate);
    gate = await start();
    expect(await askedAgain(gate, session)).toMatchObject({ id: 7, result: { content: [{ text: 'ran 1' }] } });
    expect(upstream.said.ran).toBe(1);
  }, 120_000);

  it('leaves the session as it is: ended stays ended, open stays open', async () => {
    let gate = await start();
    const [open, ended] = [await openSession(gate), await openSession(gate)];
    const end = await fetch(`${gate.url}/mcp`, { method: 'DELETE', headers: { 'mcp-session-id': ended } });
    expect(end.status).toBe(204);
    await kill(gate);
    gate = await start();
    expect((await ask(gate, ended)).status).toBe(404);
    expect(await askedAgain(gate, open)).toMatchObject({ result: { content: [{ text: 'ran 1' }] } });
  }, 120_000);
});
