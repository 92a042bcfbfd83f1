import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { type ConformanceUpstream, startStatelessUpstream } from '../support/conformance-upstream.js';
import { liteFolder } from '../support/lite.js';
import { MCP_DOORS, type McpDoor } from '../support/mcp-doors.js';
import { eventually } from '../support/waiting.js';

const VERSION = '2026-07-28';
let ids = 0;

/** One request of a client that declared this, and brings this of an earlier round. */
async function ask(
  gate: McpDoor,
  params: { readonly name: string; readonly arguments: JsonObject },
  { can = {}, brings = {} }: { readonly can?: JsonObject; readonly brings?: Readonly<Record<string, unknown>> } = {},
): Promise<JsonObject> {
  const asked = await gate.fetchAs('payments-agent');
  const answer = await asked(gate.url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': params.name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: (ids += 1),
      method: 'tools/call',
      params: {
        ...params,
        ...brings,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': VERSION,
          'io.modelcontextprotocol/clientCapabilities': can,
        },
      },
    }),
  });
  return ((await answer.json()) as { result: JsonObject }).result;
}
const verdictOf = (result: JsonObject): JsonObject => (result['_meta'] as JsonObject)['gate/verdict'] as JsonObject;
const idOf = (result: JsonObject): string => verdictOf(result)['correlation_id'] as string;

/** The tools stand outside and outlive every Gate, so that what they did can be counted. */
describe.each(MCP_DOORS)('a call of MCP 2026-07-28 in several rounds, through %s', (_, open, startLimitMs) => {
  let folder: string;
  let tools: DemoUpstream;
  let asking: ConformanceUpstream;
  let gate: McpDoor;
  let calls = 0;
  beforeEach(async () => {
    folder = await liteFolder();
    tools = await startDemoUpstream({ port: 0, dataDir: join(folder, 'tools') });
    asking = await startStatelessUpstream(({ headers }) => (calls += headers['mcp-method'] === 'tools/call' ? 1 : 0));
  });
  afterEach(async () => {
    await gate?.stop();
    await tools?.close();
    await asking?.close();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it(
    'goes on after kill -9 where it waited: with the state of before it is approved and runs once',
    async () => {
      gate = await open({ upstreamUrl: tools.url, folder });
      const ran = () => tools.state().counts['wire_transfer'] ?? 0;
      const transfer = { name: 'wire_transfer', arguments: { from: 'operating', to: 'vendor', amount: 21 } };
      const first = await ask(gate, transfer);
      expect(first['resultType']).toBe('input_required');
      const brings = { requestState: first['requestState'] };
      gate = await gate.killed();
      await eventually('its review', () => gate.rowOf(idOf(first)).catch(() => null));
      expect(await gate.decide(idOf(first), 'approve')).toBe(200);
      const done = await eventually('the answer', async () => {
        const said = await ask(gate, transfer, { brings });
        return said['resultType'] === 'complete' && said;
      });
      expect(JSON.stringify(done['content'])).toContain('21.00 from operating to vendor');
      expect((await ask(gate, transfer, { brings }))['content']).toEqual(done['content']);
      expect(ran()).toBe(1);
    },
    2 * startLimitMs + 120_000,
  );

  it(
    'is uncertain after kill -9 while its tool waited for an answer, and is not sent again with the answer',
    async () => {
      gate = await open({ upstreamUrl: asking.url, folder });
      calls = 0;
      const can = { elicitation: {} };
      const tool = { name: 'test_input_required_result_elicitation', arguments: {} };
      const first = await ask(gate, tool, { can });
      expect(await gate.decide(idOf(first), 'approve')).toBe(200);
      let { requestState } = first;
      const asked = await eventually('it asks', async () => {
        const said = await ask(gate, tool, { can, brings: { requestState } });
        requestState = said['requestState'] as string;
        return said['inputRequests'] !== undefined && said;
      });
      expect(Object.keys(asked['inputRequests'] as JsonObject)).toEqual(['user_name']);
      expect(calls).toBe(1);
      gate = await gate.killed();
      const inputResponses = { user_name: { action: 'accept', content: { name: 'Alice' } } };
      const told = await eventually('what became of it', async () => {
        const said = await ask(gate, tool, { can, brings: { requestState, inputResponses } }).catch(() => null);
        return said?.['resultType'] === 'complete' && said;
      });
      expect(told).toMatchObject({ isError: true });
      expect(verdictOf(told)).toMatchObject({ error: 'server_execution_uncertain', correlation_id: idOf(first) });
      expect(calls).toBe(1);
    },
    2 * startLimitMs + 180_000,
  );
});
