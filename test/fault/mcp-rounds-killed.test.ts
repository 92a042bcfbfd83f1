import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { liteFolder } from '../support/lite.js';
import { MCP_DOORS, type McpDoor } from '../support/mcp-doors.js';
import { eventually } from '../support/waiting.js';

const VERSION = '2026-07-28';
let ids = 0;

/** The tools stand outside and outlive every Gate, so that what they did can be counted. */
describe.each(MCP_DOORS)('a call of MCP 2026-07-28 in several rounds, through %s', (_, open, startLimitMs) => {
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

  const ran = () => tools.state().counts['wire_transfer'] ?? 0;
  async function wants(amount: number, brings: JsonObject = {}): Promise<JsonObject> {
    const asked = await gate.fetchAs('payments-agent');
    const answer = await asked(gate.url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'mcp-protocol-version': VERSION,
        'mcp-method': 'tools/call',
        'mcp-name': 'wire_transfer',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: (ids += 1),
        method: 'tools/call',
        params: {
          name: 'wire_transfer',
          arguments: { from: 'operating', to: 'vendor', amount },
          ...brings,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': VERSION,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
    return ((await answer.json()) as { result: JsonObject }).result;
  }
  const idOf = (result: JsonObject): string =>
    ((result['_meta'] as JsonObject)['gate/verdict'] as JsonObject)['correlation_id'] as string;

  it(
    'goes on after kill -9 where it waited: with the state of before it is approved and runs once',
    async () => {
      const before = ran();
      const first = await wants(21);
      expect(first['resultType']).toBe('input_required');
      const { requestState } = first;
      gate = await gate.killed();
      await eventually('its review', () => gate.rowOf(idOf(first)).catch(() => null));
      expect(await gate.decide(idOf(first), 'approve')).toBe(200);
      const done = await eventually('the answer', async () => {
        const said = await wants(21, { requestState: requestState as string });
        return said['resultType'] === 'complete' && said;
      });
      expect(JSON.stringify(done['content'])).toContain('21.00 from operating to vendor');
      expect((await wants(21, { requestState: requestState as string }))['content']).toEqual(done['content']);
      expect(ran()).toBe(before + 1);
    },
    startLimitMs + 120_000,
  );
});
