import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  GetTaskResultSchema,
  ListTasksResultSchema,
} from '@modelcontextprotocol/core';
import type { JsonObject } from '../../contracts/json.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { liteFolder } from '../support/lite.js';
import { MCP_DOORS, type McpDoor } from '../support/mcp-doors.js';
import { eventually } from '../support/waiting.js';

/** The tools stand outside and outlive every Gate, so that what they did can be counted. */
describe.each(MCP_DOORS)('an MCP task of %s, for an unmodified client', (_, open, startLimitMs) => {
  let folder: string;
  let tools: DemoUpstream;
  let gate: McpDoor;
  const clients: Client[] = [];
  beforeAll(async () => {
    folder = await liteFolder();
    tools = await startDemoUpstream({ port: 0, dataDir: join(folder, 'tools') });
    gate = await open({ upstreamUrl: tools.url, folder });
  }, startLimitMs);
  afterAll(async () => {
    for (const client of clients) await client.close().catch(() => undefined);
    await gate?.stop();
    await tools?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const agent = async (name = 'payments-agent') => {
    const client = new Client({ name: 'an agent', version: '1' });
    clients.push(client);
    await client.connect(new StreamableHTTPClientTransport(new URL(gate.url), { fetch: await gate.fetchAs(name) }));
    const params = (taskId: string) => ({ params: { taskId } });
    return {
      begin: async (name: string, args: JsonObject) =>
        (
          await client.request(
            { method: 'tools/call', params: { name, arguments: args, task: {} } },
            CreateTaskResultSchema,
          )
        ).task.taskId,
      get: (taskId: string) => client.request({ method: 'tasks/get', ...params(taskId) }, GetTaskResultSchema),
      list: async () => (await client.request({ method: 'tasks/list' }, ListTasksResultSchema)).tasks,
      result: (taskId: string) => client.request({ method: 'tasks/result', ...params(taskId) }, CallToolResultSchema),
      cancel: (taskId: string) => client.request({ method: 'tasks/cancel', ...params(taskId) }, GetTaskResultSchema),
    };
  };
  const transfer = (amount: number) => ({ from: 'operating', to: 'vendor', amount });
  const parked = (taskId: string) => eventually('its review', () => gate.rowOf(taskId).catch(() => null));
  const ran = () => tools.state().counts['wire_transfer'] ?? 0;
  type Told = { isError?: boolean; _meta?: Record<string, unknown> };
  const verdictOf = (result: unknown) => (result as Told)._meta?.['gate/verdict'];

  it('is allowed, denied, approved and cancelled', async () => {
    const mcp = await agent();
    expect(JSON.stringify(await mcp.result(await mcp.begin('list_files', {})))).toContain('README');
    const denied = await mcp.result(await mcp.begin('delete_file', { path: 'notes/todo.txt' }));
    expect(verdictOf(denied)).toMatchObject({ error: 'policy_denied', advice: { person_can_help: false } });
    const [before, approved] = [ran(), await mcp.begin('wire_transfer', transfer(11))];
    const waits = mcp.result(approved);
    await parked(approved);
    expect(await gate.decide(approved, 'approve')).toBe(200);
    expect(JSON.stringify(await waits)).toContain('11.00 from operating to vendor');
    expect(ran()).toBe(before + 1);
    const unwanted = await mcp.begin('wire_transfer', transfer(12));
    await parked(unwanted);
    expect(await mcp.cancel(unwanted)).toMatchObject({ status: 'cancelled' });
    expect(await gate.rowOf(unwanted)).toMatchObject({
      status: 'withdrawn',
      decided_by: 'system:withdrawn-by-agent',
    });
    expect(verdictOf(await mcp.result(unwanted))).toMatchObject({ error: 'call_withdrawn' });
    expect(await gate.decide(unwanted, 'approve')).toBe(409);
    expect(ran()).toBe(before + 1);
  }, 120_000);

  it(
    'is found by a client that heard nothing of it before kill -9: in the list, and by the same request again',
    async () => {
      const before = ran();
      const asked = await gate.fetchAs('payments-agent');
      const post = (body: JsonObject, headers: Record<string, string> = {}) => {
        const accept = 'application/json, text/event-stream';
        const sent = { accept, 'content-type': 'application/json', ...headers };
        return asked(gate.url, { method: 'POST', headers: sent, body: JSON.stringify({ jsonrpc: '2.0', ...body }) });
      };
      const clientInfo = { name: 'bare', version: '1' };
      const begun = await post({
        id: 0,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
      });
      const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') as string };
      const params = { name: 'wire_transfer', arguments: transfer(16), task: {} };
      const call = { id: 7, method: 'tools/call', params };
      const lost = post(call, session).catch(() => null);
      const parkedTask = async (mcp: Awaited<ReturnType<typeof agent>>) =>
        (await mcp.list()).find(({ statusMessage = '' }) => statusMessage.startsWith('waits for a person'));
      const { taskId } = await eventually('the call is parked', async () => parkedTask(await agent()));
      gate = await gate.killed();
      await lost;
      expect(await parkedTask(await agent())).toMatchObject({ taskId });
      const again = await gate.fetchAs('payments-agent');
      const answer = await again(gate.url, {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json', ...session },
        body: JSON.stringify({ jsonrpc: '2.0', ...call }),
      });
      expect(await answer.json()).toMatchObject({ id: 7, result: { task: { taskId, status: 'working' } } });
      expect(await gate.decide(taskId, 'deny')).toBe(200);
      expect(ran()).toBe(before);
    },
    startLimitMs,
  );

  it(
    'waits on through kill -9 while a person decides, and runs once',
    async () => {
      const before = ran();
      const taskId = await (await agent()).begin('wire_transfer', transfer(13));
      await parked(taskId);
      gate = await gate.killed();
      const mcp = await agent();
      expect(await mcp.get(taskId)).toMatchObject({ taskId, status: 'working' });
      const waits = mcp.result(taskId);
      expect(await gate.decide(taskId, 'approve')).toBe(200);
      expect(JSON.stringify(await waits)).toContain('13.00 from operating to vendor');
      expect(ran()).toBe(before + 1);
    },
    startLimitMs,
  );

  it(
    'has its answer after kill -9 between the approval and the first question for it',
    async () => {
      const before = ran();
      const taskId = await (await agent()).begin('wire_transfer', transfer(14));
      await parked(taskId);
      expect(await gate.decide(taskId, 'approve')).toBe(200);
      await eventually('the tool ran', () => ran() === before + 1);
      gate = await gate.killed();
      const mcp = await agent();
      const result = (await mcp.result(taskId)) as Told;
      // Killed before the record had the answer, nobody knows: that is told, and nothing runs again.
      if (result.isError) expect(verdictOf(result)).toMatchObject({ error: 'server_execution_uncertain' });
      else expect(JSON.stringify(result)).toContain('14.00 from operating to vendor');
      expect(await mcp.result(taskId)).toEqual(result);
      expect(ran()).toBe(before + 1);
    },
    startLimitMs,
  );

  it(
    'stays cancelled through kill -9, and may be cancelled again where nobody heard the answer',
    async () => {
      const before = ran();
      const first = await agent();
      const taskId = await first.begin('wire_transfer', transfer(15));
      await parked(taskId);
      const lost = first.cancel(taskId).catch(() => null);
      gate = await gate.killed();
      await lost;
      const mcp = await agent();
      await mcp.cancel(taskId).catch(() => undefined);
      expect(await mcp.get(taskId)).toMatchObject({ status: 'cancelled' });
      expect(await gate.decide(taskId, 'approve')).toBe(409);
      expect(ran()).toBe(before);
    },
    startLimitMs,
  );
});
