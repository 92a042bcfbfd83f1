import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { liteFolder } from '../support/lite.js';
import { MCP_DOORS, type McpDoor } from '../support/mcp-doors.js';
import { eventually } from '../support/waiting.js';

/** The tools stand outside and outlive every Gate, so that what they did can be counted. */
describe.each(MCP_DOORS)('the stream of a call of %s', (_, open, startLimitMs) => {
  let folder: string;
  let tools: DemoUpstream;
  let gate: McpDoor;
  beforeAll(async () => {
    folder = await liteFolder();
    tools = await startDemoUpstream({ port: 0, dataDir: join(folder, 'tools') });
    gate = await open({ upstreamUrl: tools.url, folder });
  }, startLimitMs);
  afterAll(async () => {
    await gate?.stop();
    await tools?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const request = async (method: 'GET' | 'POST', headers: Record<string, string>, body?: JsonObject) => {
    const asked = await gate.fetchAs('payments-agent');
    const sent = { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers };
    return asked(gate.url, {
      method,
      headers: sent,
      ...(body && { body: JSON.stringify({ jsonrpc: '2.0', ...body }) }),
    });
  };
  /** Reads a stream until it has that, or ends. */
  async function heard(answer: Response, wanted: RegExp): Promise<string> {
    let text = '';
    try {
      for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
        text += new TextDecoder().decode(chunk);
        if (wanted.test(text)) break;
      }
    } catch {
      // It ended with Gate.
    }
    return text;
  }

  it(
    'goes on after kill -9 at the place that its client knows: in the session of before, with the one answer',
    async () => {
      const begun = await request(
        'POST',
        {},
        {
          id: 0,
          method: 'initialize',
          params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bare', version: '1' } },
        },
      );
      const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') as string };
      const transfer = { from: 'operating', to: 'vendor', amount: 41 };
      const call = { id: 7, method: 'tools/call', params: { name: 'wire_transfer', arguments: transfer } };
      const place = /^id: (\S+)$/m;
      const [, last = ''] = place.exec(await heard(await request('POST', session, call), place)) ?? [];
      const parked = await eventually('the transfer waits', async () => (await gate.waiting())[0]);
      gate = await gate.killed();
      const resumed = await eventually('the stream goes on', async () => {
        const answer = await request('GET', { ...session, 'last-event-id': last }).catch(() => null);
        return answer?.status === 200 && answer;
      });
      const rest = heard(resumed, /"result"/);
      await eventually('its review', () => gate.rowOf(parked.correlation_id).catch(() => null));
      expect(await gate.decide(parked.correlation_id, 'approve')).toBe(200);
      expect(await rest).toMatch(/"id":7,.*41\.00 from operating to vendor/);
      // The same request under the same id, in the same session, is the same call.
      const again = await (await request('POST', { ...session, accept: 'application/json' }, call)).text();
      expect(again).toContain('41.00 from operating to vendor');
      expect(tools.state().counts['wire_transfer']).toBe(1);
    },
    2 * startLimitMs + 120_000,
  );
});
