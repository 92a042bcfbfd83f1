import { spawn, spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { type LiteFixture, liteFolder, openLite } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { eventually } from '../support/waiting.js';

const CLIENT = fileURLToPath(new URL('../support/mcp-client.py', import.meta.url));
const PYTHON = process.env.GATE_TEST_PYTHON ?? 'python3';
const CAN_RUN = spawnSync(PYTHON, ['-c', 'from mcp.client.streamable_http import streamable_http_client']).status === 0;

describe(`the MCP SDK for Python, unmodified${needs('mcp-python', CAN_RUN)}`, () => {
  let folder: string;
  let tools: DemoUpstream;
  let gate: LiteFixture;
  beforeAll(async () => {
    folder = await liteFolder();
    tools = await startDemoUpstream({ port: 0, dataDir: folder });
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_ADAPTER: 'auto' });
  });
  afterAll(async () => {
    await gate.close();
    await tools.close();
    await rm(folder, { recursive: true, force: true });
  });

  (CAN_RUN ? it : it.skip)(
    'is allowed, denied, and waits for a person, with nothing but the address',
    async () => {
      const child = spawn(PYTHON, [CLIENT, `${gate.lite.url}/mcp`]);
      let out = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (out += chunk.toString()));
      const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
      const parked = await eventually('the transfer waits', async () => {
        if (child.exitCode !== null) throw new Error(out);
        const rows = (await gate.send('GET', '/pending')).body as unknown as PendingRequest[];
        return rows[0];
      });
      expect(tools.state().counts['wire_transfer']).toBeUndefined();
      await gate.send('POST', `/decide/${parked.id}`, { body: { decision: 'approve' } });
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
      expect(tools.state().counts['wire_transfer']).toBe(1);
    },
    120_000,
  );
});
