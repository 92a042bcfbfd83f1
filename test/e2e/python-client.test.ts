import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { MCP_DOORS, type McpDoor } from '../support/mcp-doors.js';
import { needs } from '../support/needs.js';
import { eventually } from '../support/waiting.js';

const CLIENT = fileURLToPath(new URL('../support/mcp-client.py', import.meta.url));
const PYTHON = process.env.GATE_TEST_PYTHON ?? 'python3';
const CAN_RUN = spawnSync(PYTHON, ['-c', 'from mcp.client.streamable_http import streamable_http_client']).status === 0;
const run = CAN_RUN ? describe : describe.skip;

run.each(MCP_DOORS)(
  `the MCP SDK for Python, unmodified, against %s${needs('mcp-python', CAN_RUN)}`,
  (_, open, limitMs) => {
    let folder: string;
    let tools: DemoUpstream;
    let gate: McpDoor;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gate-python-'));
      tools = await startDemoUpstream({ port: 0, dataDir: folder });
      gate = await open({ folder, upstreamUrl: tools.url });
    }, limitMs);
    afterAll(async () => {
      await gate?.stop();
      await tools?.close();
      await rm(folder, { recursive: true, force: true });
    }, 60_000);

    it.each([
      ['and waits for a person', false],
      ['and gets the one answer, although its connections are cut while a person decides', true],
    ])(
      'is allowed, denied, %s, with nothing but the address',
      async (_what, isCut) => {
        const before = tools.state().counts['wire_transfer'] ?? 0;
        const address = await gate.plain('support-bot');
        const child = spawn(PYTHON, [CLIENT, `${address.url}/mcp`]);
        let out = '';
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (chunk: Buffer) => (out += chunk.toString()));
        const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
        const parked = await eventually('the transfer waits', async () => {
          if (child.exitCode !== null) throw new Error(out);
          return (await gate.waiting())[0];
        });
        expect(tools.state().counts['wire_transfer'] ?? 0).toBe(before);
        if (isCut) {
          // Before it knows a place, a client has nothing to come back to.
          await eventually('the client hears of its call', () => address.streams() > 0);
          address.cut();
        }
        expect(await gate.decide(parked.correlation_id, 'approve')).toBe(200);
        expect([await ended, JSON.parse(out)]).toMatchObject([
          0,
          {
            version: '2025-11-25',
            tools: expect.arrayContaining(['list_files', 'wire_transfer']),
            allowed: [false, expect.stringContaining('README.txt')],
            denied: [true, expect.stringContaining('policy_denied')],
            approved: [false, expect.stringContaining('25.00 from operating to vendor')],
          },
        ]);
        expect(tools.state().counts['wire_transfer']).toBe(before + 1);
      },
      120_000,
    );
  },
);
