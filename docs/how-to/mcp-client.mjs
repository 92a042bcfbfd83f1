import { randomUUID } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** Each tool call under an id of its own. One that waits for a person is asked about again under that id, and never runs twice. */
async function throughGate(url, init = {}) {
  const { method } = typeof init.body === 'string' ? JSON.parse(init.body) : {};
  if (method !== 'tools/call') return fetch(url, init);
  const headers = new Headers(init.headers);
  headers.set('X-Gate-Server-Execution-Contract', 'gate.server-execution/v1');
  headers.set('X-Gate-Idempotency-Id', randomUUID());
  for (let asked = 0; ; asked += 1) {
    const answer = await fetch(url, { ...init, headers });
    if (answer.status !== 202) return answer;
    const { correlation_id, poll_after_ms } = await answer.json();
    if (asked === 0) console.error(`call ${correlation_id} waits for a person`);
    await after(poll_after_ms, undefined, { signal: init.signal ?? undefined });
  }
}

const [url = '', tool = '', args = '{}'] = process.argv.slice(2);
const client = new Client({ name: 'my-agent', version: '1' });
try {
  const [address, given] = [new URL(url), JSON.parse(args)];
  await client.connect(new StreamableHTTPClientTransport(address, { fetch: throughGate }));
  const answer = tool
    ? // Longer than people may take (half an hour at most, by default): Gate answers first. The client's own default is a minute.
      await client.callTool({ name: tool, arguments: given }, { timeout: 2_000_000 })
    : await client.listTools();
  console.log(JSON.stringify(answer));
} catch (error) {
  const wrong = error.code === 'ERR_INVALID_URL' || error instanceof SyntaxError;
  console.error(`${error.message}${error.cause ? `: ${error.cause.message}` : ''}`);
  if (wrong) console.error('usage: node mcp-client.mjs <address of Gate>/mcp [tool] [its arguments as JSON]');
  process.exitCode = wrong ? 2 : 1;
}
await client.close();
