import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { type LiteFixture, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';

describe('the MCP client of docs/how-to', () => {
  let dataDir: string;
  let tools: DemoUpstream;
  let gate: LiteFixture;
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gate-client-'));
    tools = await startDemoUpstream({ port: 0, dataDir });
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_ADAPTER: 'auto' });
  }, 60_000);
  afterAll(async () => {
    await gate.close();
    await tools.close();
    rmSync(dataDir, { recursive: true, force: true });
  }, 60_000);

  const run = (...args: string[]) => started(`${gate.lite.url}/mcp`, ...args);
  const started = (...args: string[]) => {
    const child = spawn(process.execPath, [join(PROJECT_ROOT, 'docs/how-to/mcp-client.mjs'), ...args]);
    let out = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (out += chunk.toString()));
    return new Promise<{ code: number | null; out: string }>((ended) =>
      child.on('exit', (code) => ended({ code, out })),
    );
  };

  it('lists the tools and calls one that reads', async () => {
    expect((await run()).out).toContain('"name":"wire_transfer"');
    expect(await run('list_files')).toEqual({ code: 0, out: expect.stringContaining('README.txt') });
  }, 60_000);

  it('says in a line what was typed wrong, or that nothing answers', async () => {
    expect(await run('list_files', '{path')).toEqual({
      code: 2,
      out: expect.stringMatching(/JSON[^\n]*\nusage: node mcp/),
    });
    expect(await started()).toEqual({ code: 2, out: expect.stringMatching(/^Invalid URL\nusage: node mcp/) });
    expect(await started('http://127.0.0.1:9/mcp')).toEqual({ code: 1, out: expect.stringMatching(/^[^\n]+\n$/) });
  }, 60_000);

  it('waits while a person decides, and the tool runs once', async () => {
    const ended = run('wire_transfer', '{"from":"operating","to":"vendor","amount":25}');
    let waiting: readonly PendingRequest[] = [];
    await eventually('the parked call', async () => {
      waiting = (await gate.send('GET', '/pending')).body as unknown as PendingRequest[];
      return waiting.length === 1;
    });
    expect(tools.state().counts['wire_transfer']).toBeUndefined();
    await gate.send('POST', `/decide/${waiting[0]?.id}`, { body: { decision: 'approve' } });
    expect(await ended).toEqual({
      code: 0,
      out: expect.stringMatching(/^call \S+ waits for a person\n(?:.|\n)*"content"/),
    });
    expect(tools.state().counts['wire_transfer']).toBe(1);
  }, 60_000);

  it('hears of a deny as an error with its reason', async () => {
    const { code, out } = await run('delete_file', '{"path":"notes/todo.txt"}');
    expect(code).not.toBe(0);
    expect(out).toContain('destructive tools are not allowed');
  }, 60_000);
});
