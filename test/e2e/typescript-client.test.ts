import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { MCP_DOORS, type McpDoor } from '../support/mcp-doors.js';
import { eventually } from '../support/waiting.js';

describe.each(MCP_DOORS)('the MCP SDK for TypeScript, unmodified, against %s', (_, open, limitMs) => {
  let folder: string;
  let tools: DemoUpstream;
  let gate: McpDoor;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-typescript-'));
    tools = await startDemoUpstream({ port: 0, dataDir: folder });
    gate = await open({ folder, upstreamUrl: tools.url });
  }, limitMs);
  afterAll(async () => {
    await gate?.stop();
    await tools?.close();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it.each([
    ['and waits for a person', undefined, false],
    ['and gets the one answer, although its connections are cut while a person decides', undefined, true],
    ['and waits for a person in the revision without sessions', '2026-07-28', false],
  ])(
    'is allowed, denied, %s, with nothing but the address',
    async (_what, pin, isCut) => {
      const ran = () => tools.state().counts['wire_transfer'] ?? 0;
      const before = ran();
      const address = await gate.plain('support-bot');
      const client = new Client(
        { name: 'an agent', version: '1' },
        pin === undefined ? {} : { versionNegotiation: { mode: { pin } } },
      );
      await client.connect(new StreamableHTTPClientTransport(new URL(`${address.url}/mcp`)));
      expect(JSON.stringify(await client.callTool({ name: 'list_files', arguments: {} }))).toContain('README');
      const denied = await client.callTool({ name: 'delete_file', arguments: { path: 'notes/todo.txt' } });
      expect([denied.isError, JSON.stringify(denied.content)]).toEqual([
        true,
        expect.stringContaining('policy_denied'),
      ]);
      const transfer = { from: 'operating', to: 'vendor', amount: 31 };
      const streams = address.streams();
      const answer = client.callTool({ name: 'wire_transfer', arguments: transfer });
      const parked = await eventually('the transfer waits', async () => (await gate.waiting())[0]);
      expect(ran()).toBe(before);
      if (isCut) {
        // Before it knows a place, a client has nothing to come back to.
        await eventually('the client hears of its call', async () => address.streams() > streams);
        address.cut();
      }
      expect(await gate.decide(parked.correlation_id, 'approve')).toBe(200);
      expect(JSON.stringify((await answer).content)).toContain('31.00 from operating to vendor');
      expect(ran()).toBe(before + 1);
      await client.close();
    },
    120_000,
  );
});
