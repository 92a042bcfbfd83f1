import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Upstream, UpstreamCaller } from '../domain/upstream/upstream.js';
import { eventually } from '../test/support/waiting.js';
import { createStdioUpstream } from './stdio-upstream.js';

const AGENT: UpstreamCaller = { tenant: 'acme', agent: 'one' };
/** Writes down what it runs. The tool `hang` stops its process from reading, as one in an endless loop does. */
const CHILD = `
const { appendFileSync } = require('node:fs');
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    say(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'child', version: '1' } });
  if (method !== 'tools/call') return;
  appendFileSync(process.argv[1], params.name + ' ');
  if (params.name === 'hang') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, params.arguments.ms);
  say(id, { content: [] });
});`;

describe('a child process that does not read', () => {
  let folder: string;
  let upstream: Upstream;
  let restarts: number;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'stdio-'));
    restarts = 0;
    upstream = createStdioUpstream({
      command: process.execPath,
      args: ['-e', CHILD, join(folder, 'ran')],
      env: {},
      onRestart: () => (restarts += 1),
    });
  });
  afterEach(async () => {
    await upstream.close?.();
    rmSync(folder, { recursive: true });
  });
  const ran = () => readFileSync(join(folder, 'ran'), 'utf8');
  const call = (name: string, args: Record<string, unknown>, timeoutMs: number) =>
    upstream.callTool(
      AGENT,
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } } as never,
      { timeoutMs },
    );
  const large = (timeoutMs: number) => call('large', { text: 'x'.repeat(1_000_000) }, timeoutMs);

  it('is given no more than it has room for, and what is refused runs never', async () => {
    expect(await call('first', {}, 30_000)).toMatchObject({ kind: 'reply' });
    const hanging = call('hang', { ms: 4_000 }, 60_000);
    await eventually('it hangs', () => ran().includes('hang'));
    const answers = await Promise.all(Array.from({ length: 20 }, () => large(60_000)));
    expect(await hanging).toMatchObject({ kind: 'reply' });
    const refused = answers.filter(({ kind }) => kind === 'not_sent');
    expect(refused.length).toBeGreaterThanOrEqual(10);
    expect(refused[0]).toMatchObject({ refused: true, reason: expect.stringContaining('does not read') });
    expect(answers.length - refused.length).toBe(
      ran()
        .split(' ')
        .filter((name) => name === 'large').length,
    );
    expect(restarts).toBe(0);
  });

  it('is killed with a call in its pipe whose time is over, which does not run later', async () => {
    expect(await call('first', {}, 30_000)).toMatchObject({ kind: 'reply' });
    const hanging = call('hang', { ms: 6_000 }, 60_000);
    await eventually('it hangs', () => ran().includes('hang'));
    expect(await large(500)).toMatchObject({ kind: 'unknown' });
    // It has not ended yet, and is sent nothing.
    expect(await call('at once', {}, 30_000)).toMatchObject({ kind: 'not_sent' });
    expect(await hanging).toMatchObject({ kind: 'unknown' });
    await eventually('its end is told', () => restarts === 1);
    expect(await call('next', {}, 30_000)).toMatchObject({ kind: 'reply' });
    expect(ran()).toBe('first hang next ');
  });
});
